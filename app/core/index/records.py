"""Records of the band index: how entries are packed into buckets, and how buckets answer a query.

A bucket of a band holds whole fingerprints, so that distances are computed without a second lookup. A bucket
of the posting list holds entries by one hash each of their FracMinHash. A lookup counts the hashes that each
shares with a query (Spasojević and Poncin 2011, algorithm 1).

The address of a bucket is a number: of a band first the bits of the band, then those of the bucket in it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from app.core.index.fingerprints import distances
from app.core.model import Entry

FINGERPRINT_RECORD = np.dtype([("bits", "u1", 16), ("entry_id", "<u8")])
"""One entry of a band's bucket: 24 bytes."""

FLAT_RECORD = np.dtype(
    [("entry_id", "<u8"), ("bits", "u1", 16), ("shingle_count", "<u4"), ("level", "u1"), ("signed", "u1")]
)
"""One entry of the flat index: 30 bytes. Without a fingerprint `signed` and the bits are 0."""

POSTING_BYTES = 6
"""One entry of a posting bucket, little-endian: 12 bits of tag above 36 bits of entry id."""

ID_BITS = 36
TAG_BITS = 12

NO_SAMPLE = 255
"""The level in the flat index of an entry without a sample."""

SAMPLE_BUCKET_BITS = 20
"""At a million books a lookup reads 62,000 postings, as many as there are of one book in 256 buckets."""

POSTING_CAP = 8192
"""Records that a posting bucket takes. Hashes that more books share distinguish no book."""

_ROOM = 1 << 13
"""Entries for which shared hashes are counted at first; four times as many if they are too few."""

ENTRIES_PER_SEGMENT = 1024
"""Entry ids per segment of the flat index."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Entries and their Hamming distances from a query, nearest first, then by entry id."""

    entry_ids: NDArray[np.uint64]  # (n,)
    distances: NDArray[np.uint8]  # (n,), 0 to 128

    @classmethod
    def none(cls) -> "Hits":
        return cls(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint8))

    @property
    def size(self) -> int:
        return self.entry_ids.size

    def sorted(self) -> "Hits":
        order = np.lexsort((self.entry_ids, self.distances))
        return Hits(self.entry_ids[order], self.distances[order])

    def but(self, entry_id: int) -> "Hits":
        kept = self.entry_ids != np.uint64(entry_id)
        return Hits(self.entry_ids[kept], self.distances[kept])

    def without(self, entry_ids: NDArray[np.uint64]) -> "Hits":
        if not entry_ids.size:
            return self
        kept = ~np.isin(self.entry_ids, entry_ids)
        return Hits(self.entry_ids[kept], self.distances[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Posting:
    """The buckets in which the hashes of one sample are posted: hash i in `addresses[i]`."""

    addresses: NDArray[np.uint32]  # (n,)
    tags: NDArray[np.uint64]  # (n,), of 12 bits: distinguish hashes in one bucket


NO_POSTING = Posting(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint64))


def sample_posting(hashes: NDArray[np.uint64]) -> Posting:
    """One list of 2^20 buckets for all hashes of a FracMinHash; the low bits choose the bucket."""
    buckets = (hashes & np.uint64((1 << SAMPLE_BUCKET_BITS) - 1)).astype(np.uint32)
    return Posting(buckets, (hashes >> np.uint64(SAMPLE_BUCKET_BITS)) & np.uint64((1 << TAG_BITS) - 1))


def pack_fingerprint(bits: bytes, entry_id: int) -> bytes:
    """The 24-byte record of one fingerprint."""
    return bits + entry_id.to_bytes(8, "little")


def pack_postings(tags: NDArray[np.uint64], entry_ids: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The records of postings, (n, 6); raises OverflowError for an entry id of more than 36 bits."""
    if entry_ids.size and int(entry_ids.max()) >> ID_BITS:
        raise OverflowError(f"Postings hold entry ids below 2^{ID_BITS}.")
    words = (tags << np.uint64(ID_BITS) | entry_ids).astype("<u8")
    return words.view(np.uint8).reshape(-1, 8)[:, :POSTING_BYTES]


def pack_flat(entry: Entry) -> bytes:
    """The 30-byte record of one entry in the flat index."""
    record = np.zeros(1, dtype=FLAT_RECORD)
    record["entry_id"] = entry.entry_id
    if entry.fingerprint is not None:
        record["bits"] = np.frombuffer(entry.fingerprint.bits, dtype=np.uint8)
        record["signed"] = 1
    record["shingle_count"] = 0 if entry.minhash is None else entry.minhash.shingle_count
    record["level"] = NO_SAMPLE if entry.sample is None else entry.sample.level
    return record.tobytes()


def record_ids(data: bytes, width: int) -> NDArray[np.uint64]:
    """The entry ids in whole records of any kind, which `width` tells; (n,)."""
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
    words = np.zeros((len(rows), 8), dtype=np.uint8)
    if width == POSTING_BYTES:
        words[:, :POSTING_BYTES] = rows
        return words.view("<u8").ravel() & np.uint64((1 << ID_BITS) - 1)
    start = width - 8 if width == FINGERPRINT_RECORD.itemsize else 0
    words[:] = rows[:, start : start + 8]
    return words.view("<u8").ravel()


def hits_within(buckets: Iterable[bytes | None], bits: bytes, d: int) -> Hits:
    """The entries of these buckets at Hamming distance at most d from `bits`, each once."""
    records = np.frombuffer(b"".join(filter(None, buckets)), dtype="<u8").reshape(-1, 3)
    near = distances(bits, (records[:, 0], records[:, 1]))
    within = near <= d
    entry_ids, rows = np.unique(records[within, 2], return_index=True)
    return Hits(entry_ids, near[within][rows]).sorted()


@dataclass(frozen=True, slots=True, eq=False)
class SharedHashes:
    """Entries that have hashes of FracMinHash in common with a query."""

    entry_ids: NDArray[np.uint64]  # (n,), ascending
    counts: NDArray[np.int64]  # (n,), shared hashes of each

    def at_least(self, count: int) -> NDArray[np.uint64]:
        """The entries that share at least `count` hashes with the query, ascending."""
        return self.entry_ids[self.counts >= count]

    def counts_of(self, entry_ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of hashes that each of these entries shares with the query, (n,)."""
        if not self.entry_ids.size:
            return np.zeros(entry_ids.size, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self.entry_ids, entry_ids), self.entry_ids.size - 1)
        return np.where(self.entry_ids[rows] == entry_ids, self.counts[rows], 0)


def entries_sharing(buckets: Sequence[bytes | None], tags: NDArray[np.uint64]) -> SharedHashes:
    """Entries with one of these hashes; `buckets[i]` is the bucket that hash i falls into.

    Unrelated books agree in one hash by chance, so a single shared hash means nothing yet.
    """
    from app.core.index import kernels

    data = [bucket or b"" for bucket in buckets]
    ends = np.array(list(accumulate(map(len, data))), dtype=np.int64) // POSTING_BYTES
    words = np.frombuffer(b"".join(data), dtype="<u2").reshape(-1, 3)
    room = _ROOM
    while True:
        entry_ids, counts = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.int64)
        count = kernels.count_sharing(words, ends, tags, entry_ids, counts)
        if count >= 0:
            order = np.argsort(entry_ids[:count])
            return SharedHashes(entry_ids[order], counts[order])
        room *= 4
