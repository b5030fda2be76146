"""Records of the band index: the packing of entries into buckets, and the answers of buckets to a query.

The bucket of a band contains folded fingerprints: the exclusive or of the two halves. Folding never enlarges
a distance, so only entries with near folded fingerprints are compared in the flat index. A posting bucket
contains entries by one hash of their FracMinHash or MinHash bands. A lookup counts the hashes that each entry
shares with a query (Spasojević and Poncin 2011, algorithm 1). `bookprint_core.index.tables` defines the
bucket of a record.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import words
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.tables import BAND_BUCKETS, POSTINGS, BucketKeys, Records, posting_records
from bookprint_core.model import Entry, require_same_recipe
from bookprint_core.recipe import DEFAULT_MINHASH, DEFAULT_SAMPLE

FLAT_RECORD = np.dtype(
    [("entry_id", "<u8"), ("bits", "u1", 16), ("shingle_count", "<u4"), ("level", "u1"), ("signed", "u1")]
)
"""Entry of the flat index, 30 bytes. Without a fingerprint `signed` and the bits are 0."""

SIGNED, IDENTIFIED = 1, 2
"""Values of `signed` for an entry with a fingerprint; IDENTIFIED: the entry is only an identifier."""

NO_SAMPLE = 255
"""Level in the flat index of an entry without a sample."""

POSTING_CAP = 8192
"""Maximum number of postings of a hash. A hash of more books distinguishes none, and is marked as full."""

FULL = 0
"""Entry id in the mark of a full hash; no book has it."""

_ROOM = 1 << 13
"""Number of entries that can be counted at first; it is quadrupled if there are more."""

_FEW_IDS = 500  # Python compares up to so many ids faster than numpy

ENTRIES_PER_SEGMENT = 1024
"""Number of entry ids per segment of the flat index."""


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
        kept = ~_are_among(self.entry_ids, entry_ids)
        return Hits(self.entry_ids[kept], self.distances[kept])

    def only(self, entry_ids: NDArray[np.uint64]) -> "Hits":
        kept = _are_among(self.entry_ids, entry_ids)
        return Hits(self.entry_ids[kept], self.distances[kept])

    def part(self, start: int, end: int | None) -> "Hits":
        return Hits(self.entry_ids[start:end], self.distances[start:end])

    def place(self, distance: int, entry_id: int) -> int:
        """Return the number of sorted hits up to an entry at a distance."""
        near, far = np.searchsorted(self.distances, [distance, distance + 1])
        return int(near + np.searchsorted(self.entry_ids[near:far], entry_id, side="right"))

    def joined(self, others: "Hits") -> "Hits":
        """Return these hits and others, nearest first; an entry in both gets the distance of the others."""
        rest = self.without(others.entry_ids)
        return Hits(
            np.concatenate([rest.entry_ids, others.entry_ids]),
            np.concatenate([rest.distances, others.distances]),
        ).sorted()


def _are_among(these: NDArray[np.uint64], those: NDArray[np.uint64]) -> NDArray[np.bool_]:
    if these.size + those.size > _FEW_IDS:
        return np.isin(these, those)
    known = set(those.tolist())
    return np.array([each in known for each in these.tolist()], dtype=np.bool_)


def posted_hashes(entry: Entry, bands: MinHashBands) -> NDArray[np.uint64]:
    """Return the hashes for an entry's postings: of its sample, then of its MinHash bands."""
    posted = np.zeros(0, dtype=np.uint64)
    if entry.sample is not None:
        require_same_recipe(entry.sample.recipe, DEFAULT_SAMPLE)
        posted = entry.sample.hashes
    if entry.minhash is not None:
        require_same_recipe(entry.minhash.recipe, DEFAULT_MINHASH)
        posted = np.concatenate([posted, bands.hashes(entry.minhash.values[None]).ravel()])
    return posted


def band_records(bits: NDArray[np.uint8], entry_ids: NDArray[np.uint64], bands: Sequence[int]) -> Records:
    """Make the records of fingerprints (n, 16) in these bands, one band after the other."""
    columns = np.ascontiguousarray(bits).view(">u2")[:, bands]
    partitions = np.repeat(np.array(bands, dtype=np.uint32), len(bits))
    keys = BucketKeys(BAND_BUCKETS, partitions, columns.T.astype(np.uint32).ravel())
    folded = np.bitwise_xor(*words(bits))
    return Records(keys, np.tile(entry_ids, len(bands)), np.tile(folded, len(bands)))


def pack_flat(entry: Entry) -> bytes:
    """Pack the 30-byte record of an entry in the flat index."""
    record = np.zeros(1, dtype=FLAT_RECORD)
    record["entry_id"] = entry.entry_id
    if entry.fingerprint is not None:
        record["bits"] = np.frombuffer(entry.fingerprint.bits, dtype=np.uint8)
        record["signed"] = SIGNED if entry.identified is None else IDENTIFIED
    if entry.identified is not None:
        record["shingle_count"] = entry.identified.length
    elif entry.minhash is not None:
        record["shingle_count"] = entry.minhash.shingle_count
    record["level"] = NO_SAMPLE if entry.sample is None else entry.sample.level
    return record.tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """The buckets that were read for some keys; two keys may share a bucket."""

    values: Sequence[bytes | None]  # (n,); None: empty
    addresses: NDArray[np.uint32]  # (n,)
    levels: NDArray[np.uint32]  # (n,), number of bits of each bucket's number


def entries_near(buckets: Buckets, bits: bytes, d: int) -> NDArray[np.uint64]:
    """Return the entries of these buckets with folded fingerprints within d of folded `bits`, ascending."""
    _, first = np.unique(buckets.addresses, return_index=True)
    data, ends = _joined([buckets.values[place] for place in first.tolist()], BAND_BUCKETS.width)
    records = np.frombuffer(data, dtype=BAND_BUCKETS.record)
    high, low = np.frombuffer(bits, dtype=np.uint64)
    rows = np.flatnonzero(np.bitwise_count(records["folded"] ^ high ^ low) <= d)
    levels = buckets.levels[first[np.searchsorted(ends, rows, side="right")]]
    return np.unique(BAND_BUCKETS.entry_ids(records["word"][rows], levels))


def _joined(buckets: Sequence[bytes | None], width: int) -> tuple[bytes, NDArray[np.int64]]:
    """Join the records of all buckets; return also the number of records up to the end of each bucket."""
    data = [bucket or b"" for bucket in buckets]
    return b"".join(data), np.array(list(accumulate(map(len, data))), dtype=np.int64) // width


@dataclass(frozen=True, slots=True, eq=False)
class SharedHashes:
    """Entries that share posted hashes with a query."""

    entry_ids: NDArray[np.uint64]  # (n,), ascending
    counts: NDArray[np.int64]  # (n,), number of shared hashes of each entry

    def at_least(self, count: int) -> NDArray[np.uint64]:
        """Return the entries that share at least `count` hashes with the query, ascending."""
        return self.entry_ids[self.counts >= count]

    def counts_of(self, entry_ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of hashes that each of these entries shares with the query, (n,)."""
        if not self.entry_ids.size:
            return np.zeros(entry_ids.size, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self.entry_ids, entry_ids), self.entry_ids.size - 1)
        return np.where(self.entry_ids[rows] == entry_ids, self.counts[rows], 0)


def entries_sharing(buckets: Buckets, keys: BucketKeys) -> SharedHashes:
    """Return the entries with a hash of one of these keys; `buckets` are the buckets of the keys.

    Unrelated books may agree in one hash by chance, so a single shared hash means nothing.
    """
    from bookprint_core.index import kernels

    data, ends = _joined(buckets.values, POSTINGS.width)
    words, id_bits = np.frombuffer(data, dtype="<u4"), POSTINGS.id_bits(buckets.levels)
    tags = keys.values >> buckets.levels
    room = _ROOM
    while True:
        entry_ids, counts = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.int64)
        count = kernels.count_sharing(words, ends, tags, id_bits, entry_ids, counts)
        if count >= 0:
            order = np.argsort(entry_ids[:count])
            return SharedHashes(entry_ids[order], counts[order])
        room *= 4


@dataclass(frozen=True, slots=True, eq=False)
class EntryColumns:
    """The columns of the flat index, by ascending entry id."""

    entry_ids: NDArray[np.uint64]  # (n,)
    bits: NDArray[np.uint8]  # (n, 16), zero without fingerprint
    signed: NDArray[np.bool_]  # (n,), whether there is a fingerprint
    shingle_counts: NDArray[np.uint32]  # (n,), 0 without MinHash
    levels: NDArray[np.uint8]  # (n,), 255 without FracMinHash
    identified: NDArray[np.bool_]  # (n,), whether the entry is only an identifier

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

    addresses: NDArray[np.uint32]  # (n,); in the flat index, the numbers of its segments
    bounds: NDArray[np.int64]  # (n + 1,): bucket i contains the bytes from bounds[i] to bounds[i + 1]
    records: NDArray[np.uint8]
    width: int  # bytes of a record

    def data(self, start: int = 0, end: int | None = None) -> list[bytes]:
        """Return the records of the buckets from `start` to before `end`."""
        bounds = self.bounds[start:] if end is None else self.bounds[start : end + 1]
        return [self.records[first:last].tobytes() for first, last in pairwise(bounds.tolist())]

    def at(self, addresses: NDArray[np.uint32]) -> list[bytes]:
        """Return the records of the buckets at these ascending addresses, empty for an empty bucket."""
        first, last = (np.searchsorted(self.addresses, addresses, side) for side in ("left", "right"))
        bounds = zip(self.bounds[first].tolist(), self.bounds[last].tolist(), strict=True)
        return [self.records[start:end].tobytes() for start, end in bounds]


def flat_segments(columns: EntryColumns) -> PackedBuckets:
    """Pack the segments of the flat index."""
    records = np.zeros(columns.entry_ids.size, dtype=FLAT_RECORD)
    records["entry_id"] = columns.entry_ids
    records["bits"], records["signed"] = columns.bits, columns.signed
    records["signed"][columns.identified] = IDENTIFIED
    records["shingle_count"], records["level"] = columns.shingle_counts, columns.levels
    return packed_buckets((columns.entry_ids // np.uint64(ENTRIES_PER_SEGMENT)).astype(np.uint32), records)


def filled_buckets(records: Records, sizes: NDArray[np.integer]) -> PackedBuckets:
    """Pack records into buckets; `sizes` are the numbers of buckets in the partitions of their table."""
    addresses, levels = records.keys.place(sizes)
    return packed_buckets(addresses, records.packed(levels))


def packed_buckets(addresses: NDArray[np.uint32], records: NDArray[np.void]) -> PackedBuckets:
    """Group records by address, each group in the given order."""
    # Each half of the address is sorted in turn: numpy sorts 16 bits by radix, several times as fast.
    order = np.argsort(addresses.astype(np.uint16), kind="stable")
    order = order[np.argsort((addresses >> np.uint32(16)).astype(np.uint16)[order], kind="stable")]
    filled, first = np.unique(addresses[order], return_index=True)
    rows = np.ascontiguousarray(records[order]).view(np.uint8)
    width = records.dtype.itemsize
    bounds = width * np.append(first, addresses.size).astype(np.int64)
    return PackedBuckets(filled, bounds, rows.ravel(), width)


def differences(expected: bytes, actual: bytes, width: int) -> tuple[list[bytes], list[bytes]]:
    """Return the records that a bucket lacks, and its superfluous records; a record has `width` bytes.

    >>> differences(b"aabbcc", b"bbddbb", 2)
    ([b'aa', b'cc'], [b'bb', b'dd'])
    """
    wanted, present = (
        Counter(data[at : at + width] for at in range(0, len(data), width)) for data in (expected, actual)
    )
    return sorted(set(wanted) - set(present)), sorted((present - Counter(set(wanted))).elements())


def capped(postings: Records) -> Records:
    """Return at most 8,192 postings of each hash, and after them a mark for each hash with more."""
    hashes = postings.keys.values << np.uint32(4) | postings.keys.partitions
    few_bits = hashes.astype(np.uint16)
    crowded = np.flatnonzero((np.bincount(few_bits, minlength=1 << 16) > POSTING_CAP)[few_bits])
    crowded = crowded[np.argsort(hashes[crowded], kind="stable")]
    found, first, counts = np.unique(hashes[crowded], return_index=True, return_counts=True)
    kept = np.ones(hashes.size, dtype=np.bool_)
    kept[crowded] = np.arange(crowded.size) - np.repeat(first, counts) < POSTING_CAP
    full = found[counts > POSTING_CAP].astype(np.uint64)
    return postings.chosen(kept).joined(posting_records(full, np.full(full.size, FULL, dtype=np.uint64)))
