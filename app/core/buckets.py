"""Records of the band index: how entries are packed into buckets, and how buckets answer a query.

Two fingerprints within Hamming distance d differ in at most d // 8 bits of at least one of their eight
bands (pigeonhole), so reading every bucket within that many bit flips of each band finds all of them. A
bucket holds whole fingerprints: the distance is computed where it is read, without a second look-up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.simhash import distances

FINGERPRINT_RECORD = np.dtype([("bits", "u1", 16), ("entry_id", "<u8")])
"""One entry of a fingerprint bucket: 24 bytes."""

POSTING_RECORD = np.dtype([("value", "<u4"), ("entry_id", "<u8")])
"""One entry of a MinHash posting bucket: 12 bytes."""

ID_RECORD = np.dtype([("entry_id", "<u8")])
"""One entry of the ledger: 8 bytes."""

POSTING_BUCKETS = 4096
"""Buckets of one posting list, told apart by the low bits of a value: those of a minimum are uniform."""

ENTRIES_PER_CHUNK = 1024
"""Entry ids per chunk of the ledger and of the roll of all fingerprints."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Entries and their Hamming distances from a query, nearest first, then by entry id."""

    entry_ids: NDArray[np.uint64]  # (n,)
    distances: NDArray[np.uint8]  # (n,), 0 to 128

    def first(self, n: int) -> "Hits":
        """The n nearest, or all where there are fewer."""
        return Hits(self.entry_ids[:n], self.distances[:n])


def pack_fingerprint(bits: bytes, entry_id: int) -> bytes:
    """The 24-byte record of one fingerprint."""
    return bits + entry_id.to_bytes(8, "little")


def pack_posting(value: int, entry_id: int) -> bytes:
    """The 12-byte record of one MinHash value."""
    return value.to_bytes(4, "little") + entry_id.to_bytes(8, "little")


def pack_id(entry_id: int) -> bytes:
    """The 8-byte record of one entry in the ledger."""
    return entry_id.to_bytes(8, "little")


def unpack_ids(bucket: bytes | None) -> NDArray[np.uint64]:
    """The entry ids of a ledger chunk, ascending and distinct."""
    return np.unique(np.frombuffer(bucket or b"", dtype=ID_RECORD)["entry_id"])


def split(bucket: bytes | None, width: int) -> set[bytes]:
    """The records of a bucket, each `width` bytes wide."""
    return {bucket[at : at + width] for at in range(0, len(bucket), width)} if bucket else set()


def record_ids(records: NDArray[np.void]) -> NDArray[np.uint64]:
    """The entry ids of records of any kind: their last eight bytes."""
    data = np.ascontiguousarray(records).view(np.uint8).reshape(len(records), -1)
    return np.ascontiguousarray(data[:, -8:]).view("<u8")[:, 0]


def hits_within(buckets: Iterable[bytes | None], bits: bytes, d: int) -> Hits:
    """The entries of these buckets at Hamming distance <= d from `bits`, each once."""
    packed = np.frombuffer(b"".join(bucket for bucket in buckets if bucket), dtype=FINGERPRINT_RECORD)
    distance = distances(bits, np.ascontiguousarray(packed["bits"]))
    near = distance <= d
    entry_ids, first = np.unique(packed["entry_id"][near], return_index=True)
    distance = distance[near][first]
    order = np.argsort(distance, kind="stable")
    return Hits(entry_ids[order], distance[order])


def sharing_values(
    buckets: Sequence[bytes | None], values: NDArray[np.uint32], at_least: int
) -> dict[int, int]:
    """Entries that share at least `at_least` of the MinHash values, with the number they share.

    `buckets[i]` is the posting bucket that value i falls into; it holds each record once.
    """
    held = [(i, bucket) for i, bucket in enumerate(buckets) if bucket]
    if not held:
        return {}
    packed = np.frombuffer(b"".join(bucket for _, bucket in held), dtype=POSTING_RECORD)
    lengths = [len(bucket) // POSTING_RECORD.itemsize for _, bucket in held]
    positions = np.repeat(np.array([i for i, _ in held], dtype=np.intp), lengths)
    equal = packed["value"] == values[positions]
    entry_ids, counts = np.unique(packed["entry_id"][equal], return_counts=True)
    return {
        int(entry_id): int(count)
        for entry_id, count in zip(entry_ids, counts, strict=True)
        if count >= at_least
    }
