"""Whole buckets at once: what the index must hold of many entries, for building and for proving it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.index.records import ENTRIES_PER_SEGMENT, FINGERPRINT_RECORD, FLAT_RECORD, NO_SAMPLE


@dataclass(frozen=True, slots=True, eq=False)
class EntryColumns:
    """What the roll tells of all entries, by ascending entry id."""

    entry_ids: NDArray[np.uint64]  # (n,)
    bits: NDArray[np.uint8]  # (n, 16), zero where there is no fingerprint
    signed: NDArray[np.bool_]  # (n,), whether there is a fingerprint
    shingle_counts: NDArray[np.uint32]  # (n,), 0 where there is no MinHash
    levels: NDArray[np.uint8]  # (n,), 255 where there is no shingle sample

    @classmethod
    def empty(cls, entry_ids: NDArray[np.uint64]) -> "EntryColumns":
        """Entries of which nothing is known yet."""
        n = entry_ids.size
        return cls(
            entry_ids,
            np.zeros((n, 16), dtype=np.uint8),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n, dtype=np.uint32),
            np.full(n, NO_SAMPLE, dtype=np.uint8),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PackedBuckets:
    """The buckets of one list that hold anything, ascending, and their records by ascending entry."""

    buckets: NDArray[np.int64]  # (n,)
    bounds: NDArray[np.int64]  # (n + 1,): bucket i holds the bytes from bounds[i] to bounds[i + 1]
    records: NDArray[np.uint8]

    def data(self, start: int = 0, end: int | None = None) -> list[bytes]:
        """The records of buckets start, start + 1, … before end."""
        bounds = self.bounds[start:] if end is None else self.bounds[start : end + 1]
        return [self.records[first:last].tobytes() for first, last in pairwise(bounds.tolist())]

    def strings(self, prefix: str, start: int, end: int, most: int) -> bytes:
        """Keys and at most so many bytes each of buckets start to end, as strings of the Redis protocol."""
        from app.core.index import bucket_kernels as kernels

        lead = np.frombuffer(prefix.encode(), dtype=np.uint8)
        buckets, bounds = self.buckets[start:end], self.bounds[start : end + 1]
        room = np.empty(buckets.size * (lead.size + 64) + int(bounds[-1] - bounds[0]), dtype=np.uint8)
        return room[: kernels.write_strings(lead, buckets, bounds, most, self.records, room)].tobytes()


def band_buckets(columns: EntryColumns, band: int) -> PackedBuckets:
    """The buckets of one band."""
    bits, entry_ids = columns.bits[columns.signed], columns.entry_ids[columns.signed]
    records = np.empty(entry_ids.size, dtype=FINGERPRINT_RECORD)
    records["bits"], records["entry_id"] = bits, entry_ids
    keys = np.ascontiguousarray(bits).view(">u2")[:, band].astype(np.uint16)
    return _filled(keys, records.view(np.uint8).reshape(-1, FINGERPRINT_RECORD.itemsize))


def posting_buckets(buckets: NDArray[np.uint32], records: NDArray[np.uint8]) -> PackedBuckets:
    """The buckets of one posting list, from the bucket of each of its records (n, 6)."""
    return _filled(buckets, records)


def flat_segments(columns: EntryColumns) -> PackedBuckets:
    """The chunks of the roll."""
    records = np.zeros(columns.entry_ids.size, dtype=FLAT_RECORD)
    records["entry_id"] = columns.entry_ids
    records["bits"], records["signed"] = columns.bits, columns.signed
    records["shingle_count"], records["level"] = columns.shingle_counts, columns.levels
    chunks = columns.entry_ids // np.uint64(ENTRIES_PER_SEGMENT)
    return _filled(chunks, records.view(np.uint8).reshape(-1, FLAT_RECORD.itemsize))


def _filled(keys: NDArray[np.unsignedinteger], records: NDArray[np.uint8]) -> PackedBuckets:
    """Records grouped by key; each group in the order given."""
    counts = np.bincount(keys.astype(np.intp))
    ends = records.shape[1] * np.cumsum(counts)
    # numpy sorts keys of 16 bits five times as fast as longer ones
    narrow = keys.astype(np.uint16) if counts.size <= 1 << 16 else keys
    order = np.argsort(narrow, kind="stable")
    buckets = np.flatnonzero(counts)
    return PackedBuckets(buckets, np.append(0, ends[buckets]), records[order].ravel())


def differences(expected: bytes, held: bytes, width: int) -> tuple[list[bytes], list[bytes]]:
    """The records that are missing from a bucket, and those that it holds too many of.

    >>> differences(b"aabbcc", b"bbddbb", 2)
    ([b'aa', b'cc'], [b'bb', b'dd'])
    """
    wanted, there = list(_split(expected, width)), list(_split(held, width))
    missing = sorted(set(wanted) - set(there))
    spare = set(wanted)
    superfluous = []
    for record in there:
        if record in spare:
            spare.discard(record)
        else:
            superfluous.append(record)
    return missing, sorted(superfluous)


def _split(data: bytes, width: int) -> Iterator[bytes]:
    return (data[at : at + width] for at in range(0, len(data), width))
