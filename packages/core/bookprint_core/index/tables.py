"""Tables of buckets that grow with the library, by linear hashing (Litwin 1980).

A table has partitions, each with a number of buckets of its own. The low bits of a key are the number of its
bucket. A partition grows by one bucket at a time: it divides the lowest bucket that is not divided yet, by
the next bit of the keys. With 2^level buckets each number has `level` bits; while buckets are being divided,
those that are have one more.

A record ends with a word of 32 bits: the entry id, and above it the bits of the key that the bucket's number
does not fix. Where a bucket is divided, it loses one of them and the entry id gains a bit. A record of which
that bit is 0 stays as it is. Any other one goes to the new bucket with the bit cleared. Entry ids have room
before they come, since a table has about as many buckets as there are entries, or a fixed part of that.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

BucketNumbers = NDArray[np.uint32]

_WORD = 32


@dataclass(frozen=True, slots=True, eq=False)
class BucketTable:
    """One kind of buckets: how many there may be, and what a record of them is."""

    name: str  # one letter
    partitions: int
    key_bits: int  # of a key within its partition
    least: int  # buckets of a partition
    most: int
    per_entry: float  # buckets of a partition for each entry
    record: "np.dtype[Any]"

    @property
    def width(self) -> int:
        """Bytes of a record."""
        return self.record.itemsize

    def id_bits(self, levels: BucketNumbers) -> BucketNumbers:
        """The low bits of a word that are the entry id, by the bits that the bucket's number has."""
        return np.asarray(levels + np.uint32(_WORD - self.key_bits), dtype=np.uint32)

    def entry_ids(self, words: BucketNumbers, levels: BucketNumbers) -> NDArray[np.uint64]:
        """The entry ids in words of records."""
        masks = (np.uint64(1) << self.id_bits(levels).astype(np.uint64)) - np.uint64(1)
        return np.asarray(words & masks)

    def size_for(self, entries: int, largest_id: int) -> int:
        """The buckets that each partition should have; raises OverflowError where an id has no room."""
        room = 1 << max(0, largest_id.bit_length() - (_WORD - self.key_bits))
        if room > self.most:
            most = _WORD - self.key_bits + self.most.bit_length() - 1
            raise OverflowError(f"The index holds entry ids below 2^{most}; this one is {largest_id}.")
        return max(self.least, room, min(self.most, ceil(entries * self.per_entry)))

    def place(self, keys: BucketNumbers, sizes: NDArray[np.integer]) -> tuple[BucketNumbers, BucketNumbers]:
        """The number of each key's bucket, and the bits of it; `sizes` are the buckets of its partition."""
        levels = (np.frexp(sizes)[1] - 1).astype(np.uint32)
        whole = np.uint32(1) << levels
        levels += (keys & (whole - np.uint32(1))) < sizes - whole
        return keys & ((np.uint32(1) << levels) - np.uint32(1)), levels


BAND_BUCKETS = BucketTable(
    "b",
    partitions=8,
    key_bits=16,
    least=1 << 6,
    most=1 << 16,
    per_entry=1 / 16,  # a bucket costs a lookup as much as 30 records (`fingerprints`)
    record=np.dtype([("folded", "<u8"), ("word", "<u4")]),
)
"""Fingerprints by a band of theirs, which is the key: a partition for each band, 12 bytes a record."""

_HASH_BITS = 31
"""Bits of a hash that are compared: two books agree in one by chance once in 2^31 times."""

POSTINGS = BucketTable(
    "p",
    partitions=16,
    key_bits=_HASH_BITS - 4,
    least=1 << 8,
    most=1 << 24,
    per_entry=2 / 16,  # some 140 records in a bucket, where each entry has 281
    record=np.dtype([("word", "<u4")]),
)
"""Entries by the hashes that they are posted by: the low 4 bits are the partition, the next 27 the key."""

TABLES = (BAND_BUCKETS, POSTINGS)


@dataclass(frozen=True, slots=True, eq=False)
class BucketKeys:
    """Some keys of a table, each of which leads to a bucket."""

    table: BucketTable
    partitions: BucketNumbers  # (n,)
    values: BucketNumbers  # (n,)

    def place(self, sizes: NDArray[np.integer]) -> tuple[BucketNumbers, BucketNumbers]:
        """The addresses of their buckets where the partitions have so many, and the bits of their numbers."""
        numbers, levels = self.table.place(self.values, sizes[self.partitions])
        return addresses(self.partitions, numbers), levels


_NUMBER_BITS = 24


def addresses(partitions: BucketNumbers, numbers: BucketNumbers) -> BucketNumbers:
    """Number buckets across partitions, each below those of a higher partition."""
    return partitions << np.uint32(_NUMBER_BITS) | numbers


def parts(addresses: BucketNumbers) -> tuple[BucketNumbers, BucketNumbers]:
    """The partition of each address, and the number in it."""
    return addresses >> np.uint32(_NUMBER_BITS), addresses & np.uint32((1 << _NUMBER_BITS) - 1)


def hash_keys(hashes: NDArray[np.uint64]) -> BucketKeys:
    """The keys of hashes by which entries are posted."""
    low = hashes.astype(np.uint32)
    bits = np.uint32((1 << POSTINGS.key_bits) - 1)
    return BucketKeys(POSTINGS, low & np.uint32(POSTINGS.partitions - 1), low >> np.uint32(4) & bits)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records of a table, apart from the buckets in which they stand."""

    keys: BucketKeys
    entry_ids: NDArray[np.uint64]  # (n,)
    folded: NDArray[np.uint64] | None = None  # (n,), of a band: the halves of the fingerprint as one

    def chosen(self, rows: "NDArray[np.intp] | NDArray[np.bool_] | slice") -> "Records":
        keys = BucketKeys(self.keys.table, self.keys.partitions[rows], self.keys.values[rows])
        return Records(keys, self.entry_ids[rows], None if self.folded is None else self.folded[rows])

    def joined(self, others: "Records") -> "Records":
        """These postings and then others."""
        ours, theirs = self.keys, others.keys
        partitions = np.concatenate([ours.partitions, theirs.partitions])
        keys = BucketKeys(ours.table, partitions, np.concatenate([ours.values, theirs.values]))
        return Records(keys, np.concatenate([self.entry_ids, others.entry_ids]))

    def packed(self, levels: BucketNumbers) -> NDArray[np.void]:
        """The records as they stand in buckets whose numbers have so many bits."""
        table = self.keys.table
        records = np.empty(self.entry_ids.size, dtype=table.record)
        # A number that fixes the whole key leaves nothing to shift; numpy shifts by less than 32.
        rest = self.keys.values >> levels << table.id_bits(levels) % np.uint32(_WORD)
        records["word"] = rest | self.entry_ids.astype(np.uint32)
        if self.folded is not None:
            records["folded"] = self.folded
        return records


def posting_records(hashes: NDArray[np.uint64], entry_ids: NDArray[np.uint64]) -> Records:
    """The records of entries that are posted by these hashes, hash i that of entry i."""
    return Records(hash_keys(hashes), entry_ids)


def records_in(table: BucketTable, address: int, size: int, data: bytes) -> Records:
    """The records of a bucket; its partition has so many."""
    found = np.frombuffer(data, dtype=table.record)
    partitions, numbers = parts(np.full(found.size, address, dtype=np.uint32))
    _, levels = table.place(numbers, np.full(found.size, size))
    rest = found["word"].astype(np.uint64) >> table.id_bits(levels).astype(np.uint64)
    keys = BucketKeys(table, partitions, rest.astype(np.uint32) << levels | numbers)
    folded = found["folded"] if table is BAND_BUCKETS else None
    return Records(keys, table.entry_ids(found["word"], levels), folded)
