"""Whole buckets of many entries at once, for building and for checking the index."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.index.fingerprints import BAND_BITS
from app.core.index.records import (
    ENTRIES_PER_SEGMENT,
    FLAT_RECORD,
    IDENTIFIED,
    NO_SAMPLE,
    pack_bands,
)


@dataclass(frozen=True, slots=True, eq=False)
class EntryColumns:
    """The columns of the flat index, by ascending entry id."""

    entry_ids: NDArray[np.uint64]  # (n,)
    bits: NDArray[np.uint8]  # (n, 16), zero where there is no fingerprint
    signed: NDArray[np.bool_]  # (n,), whether there is a fingerprint
    shingle_counts: NDArray[np.uint32]  # (n,), 0 where there is no MinHash
    levels: NDArray[np.uint8]  # (n,), 255 where there is no FracMinHash
    identified: NDArray[np.bool_]  # (n,), whether it is an identifier alone

    @classmethod
    def empty(cls, entry_ids: NDArray[np.uint64]) -> "EntryColumns":
        n = entry_ids.size
        return cls(
            entry_ids,
            np.zeros((n, 16), dtype=np.uint8),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n, dtype=np.uint32),
            np.full(n, NO_SAMPLE, dtype=np.uint8),
            np.zeros(n, dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PackedBuckets:
    """Buckets that are not empty, by ascending address, and their records by ascending entry."""

    addresses: NDArray[np.uint32]  # (n,); of the flat index: the numbers of its segments
    bounds: NDArray[np.int64]  # (n + 1,): bucket i holds the bytes from bounds[i] to bounds[i + 1]
    records: NDArray[np.uint8]

    def data(self, start: int = 0, end: int | None = None) -> list[bytes]:
        """The records of buckets start, start + 1, … before end."""
        bounds = self.bounds[start:] if end is None else self.bounds[start : end + 1]
        return [self.records[first:last].tobytes() for first, last in pairwise(bounds.tolist())]


def band_buckets(columns: EntryColumns, band: int) -> PackedBuckets:
    """The buckets of one band."""
    bits, entry_ids = columns.bits[columns.signed], columns.entry_ids[columns.signed]
    keys = np.ascontiguousarray(bits).view(">u2")[:, band].astype(np.uint32)
    return packed_buckets(np.uint32(band << BAND_BITS) | keys, pack_bands(bits, entry_ids))


def flat_segments(columns: EntryColumns) -> PackedBuckets:
    """The segments of the flat index."""
    records = np.zeros(columns.entry_ids.size, dtype=FLAT_RECORD)
    records["entry_id"] = columns.entry_ids
    records["bits"], records["signed"] = columns.bits, columns.signed
    records["signed"][columns.identified] = IDENTIFIED
    records["shingle_count"], records["level"] = columns.shingle_counts, columns.levels
    return packed_buckets((columns.entry_ids // np.uint64(ENTRIES_PER_SEGMENT)).astype(np.uint32), records)


def packed_buckets(
    addresses: NDArray[np.uint32], records: NDArray[np.void] | NDArray[np.uint32]
) -> PackedBuckets:
    """Records grouped by address, each group in the given order."""
    # Sorted by either half in turn, because numpy sorts 16 bits by radix, several times as fast.
    order = np.argsort(addresses.astype(np.uint16), kind="stable")
    order = order[np.argsort((addresses >> np.uint32(16)).astype(np.uint16)[order], kind="stable")]
    filled, first = np.unique(addresses[order], return_index=True)
    rows = np.ascontiguousarray(records[order]).view(np.uint8)
    width = rows.size // max(1, addresses.size)
    return PackedBuckets(filled, width * np.append(first, addresses.size).astype(np.int64), rows.ravel())


def differences(expected: bytes, actual: bytes, width: int) -> tuple[list[bytes], list[bytes]]:
    """The records that a bucket lacks, and those that it has too many of; records are `width` bytes.

    >>> differences(b"aabbcc", b"bbddbb", 2)
    ([b'aa', b'cc'], [b'bb', b'dd'])
    """
    wanted, present = Counter(_split(expected, width)), Counter(_split(actual, width))
    return sorted(set(wanted) - set(present)), sorted((present - Counter(set(wanted))).elements())


def _split(data: bytes, width: int) -> Iterator[bytes]:
    return (data[at : at + width] for at in range(0, len(data), width))
