"""Tables of buckets that grow with the library, by linear hashing (Litwin 1980).

A table has partitions, each with its own number of buckets. The low bits of a key are the number of its
bucket. A partition grows by one bucket at a time: the lowest undivided bucket is divided by the next bit of
the keys. With 2^level buckets each number has `level` bits. During a division of all buckets, the numbers of
divided buckets have one bit more.

A record ends with a word of 32 bits: the entry id, and above it the bits of the key that the bucket's number
does not fix. When a bucket is divided, one of these bits moves from the key to the entry id. A record
with 0 in that bit stays unchanged. Any other record moves to the new bucket with the bit cleared. There is
room for new entry ids, because the number of buckets grows with the number of entries.
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
    """A kind of buckets, with limits of their number and the type of their records."""

    name: str  # one letter
    partitions: int
    key_bits: int  # bits of a key within its partition
    least: int  # minimum number of buckets of a partition
    most: int  # maximum number of buckets of a partition
    per_entry: float  # buckets of a partition per entry
    record: "np.dtype[Any]"

    @property
    def width(self) -> int:
        """Size of a record in bytes."""
        return self.record.itemsize

    def id_bits(self, levels: BucketNumbers) -> BucketNumbers:
        """Return the number of low bits in a word for the entry id; `levels` are bits of bucket numbers."""
        return np.asarray(levels + np.uint32(_WORD - self.key_bits), dtype=np.uint32)

    def entry_ids(self, words: BucketNumbers, levels: BucketNumbers) -> NDArray[np.uint64]:
        """Return the entry ids in words of records."""
        masks = (np.uint64(1) << self.id_bits(levels).astype(np.uint64)) - np.uint64(1)
        return np.asarray(words & masks)

    def size_for(self, entries: int, largest_id: int) -> int:
        """Return the number of buckets per partition; raise OverflowError if an id has no room."""
        room = 1 << max(0, largest_id.bit_length() - (_WORD - self.key_bits))
        if room > self.most:
            most = _WORD - self.key_bits + self.most.bit_length() - 1
            raise OverflowError(f"The index holds entry ids below 2^{most}; this id is {largest_id}.")
        return max(self.least, room, min(self.most, ceil(entries * self.per_entry)))

    def place(self, keys: BucketNumbers, sizes: NDArray[np.integer]) -> tuple[BucketNumbers, BucketNumbers]:
        """Return the number of each key's bucket and its bits; `sizes` are bucket counts of partitions."""
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
    per_entry=1 / 16,  # reading a bucket costs as much as 30 records (`fingerprints`)
    record=np.dtype([("folded", "<u8"), ("word", "<u4")]),
)
"""Table of fingerprints by the key of a band: one partition per band, 12 bytes per record."""

POSTINGS = BucketTable(
    "p",
    partitions=16,
    key_bits=27,  # with the bits of the partition 31: two hashes agree by chance once in 2^31 times
    least=1 << 8,
    most=1 << 24,
    per_entry=2 / 16,  # about 140 records per bucket with 281 records per entry
    record=np.dtype([("word", "<u4")]),
)
"""Table of postings by hash: its low 4 bits are the partition, the next 27 bits the key."""

TABLES = (BAND_BUCKETS, POSTINGS)


@dataclass(frozen=True, slots=True, eq=False)
class BucketKeys:
    """Keys of a table; each determines a bucket."""

    table: BucketTable
    partitions: BucketNumbers  # (n,)
    values: BucketNumbers  # (n,)

    def place(self, sizes: NDArray[np.integer]) -> tuple[BucketNumbers, BucketNumbers]:
        """Return the addresses of the keys' buckets and the bits of their numbers, as `BucketTable.place`."""
        numbers, levels = self.table.place(self.values, sizes[self.partitions])
        return addresses(self.partitions, numbers), levels


_NUMBER_BITS = 24


def addresses(partitions: BucketNumbers, numbers: BucketNumbers) -> BucketNumbers:
    """Number buckets across partitions, in the order of the partitions."""
    return partitions << np.uint32(_NUMBER_BITS) | numbers


def parts(addresses: BucketNumbers) -> tuple[BucketNumbers, BucketNumbers]:
    """Return the partition of each address, and the number of the bucket in it."""
    return addresses >> np.uint32(_NUMBER_BITS), addresses & np.uint32((1 << _NUMBER_BITS) - 1)


def hash_keys(hashes: NDArray[np.uint64]) -> BucketKeys:
    """Return the keys of posted hashes."""
    low = hashes.astype(np.uint32)
    bits = np.uint32((1 << POSTINGS.key_bits) - 1)
    return BucketKeys(POSTINGS, low & np.uint32(POSTINGS.partitions - 1), low >> np.uint32(4) & bits)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records of a table, independent of their buckets."""

    keys: BucketKeys
    entry_ids: NDArray[np.uint64]  # (n,)
    folded: NDArray[np.uint64] | None = None  # (n,), in bands: exclusive or of the fingerprint's halves

    def chosen(self, rows: "NDArray[np.intp] | NDArray[np.bool_] | slice") -> "Records":
        keys = BucketKeys(self.keys.table, self.keys.partitions[rows], self.keys.values[rows])
        return Records(keys, self.entry_ids[rows], None if self.folded is None else self.folded[rows])

    def joined(self, others: "Records") -> "Records":
        """Return these postings followed by others."""
        ours, theirs = self.keys, others.keys
        partitions = np.concatenate([ours.partitions, theirs.partitions])
        keys = BucketKeys(ours.table, partitions, np.concatenate([ours.values, theirs.values]))
        return Records(keys, np.concatenate([self.entry_ids, others.entry_ids]))

    def packed(self, levels: BucketNumbers) -> NDArray[np.void]:
        """Pack the records for buckets whose numbers have `levels` bits."""
        table = self.keys.table
        records = np.empty(self.entry_ids.size, dtype=table.record)
        # If the number fixes the whole key, nothing is left to shift; numpy shifts by less than 32.
        rest = self.keys.values >> levels << table.id_bits(levels) % np.uint32(_WORD)
        records["word"] = rest | self.entry_ids.astype(np.uint32)
        if self.folded is not None:
            records["folded"] = self.folded
        return records


def posting_records(hashes: NDArray[np.uint64], entry_ids: NDArray[np.uint64]) -> Records:
    """Make one posting for each hash and the entry in the same place."""
    return Records(hash_keys(hashes), entry_ids)


def records_in(table: BucketTable, address: int, size: int, data: bytes) -> Records:
    """Unpack the records of a bucket; `size` is the number of buckets in its partition."""
    found = np.frombuffer(data, dtype=table.record)
    partitions, numbers = parts(np.full(found.size, address, dtype=np.uint32))
    _, levels = table.place(numbers, np.full(found.size, size))
    rest = found["word"].astype(np.uint64) >> table.id_bits(levels).astype(np.uint64)
    keys = BucketKeys(table, partitions, rest.astype(np.uint32) << levels | numbers)
    folded = found["folded"] if table is BAND_BUCKETS else None
    return Records(keys, table.entry_ids(found["word"], levels), folded)
