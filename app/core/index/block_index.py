"""Signatures of a block of books as arrays, and the index of them: collections are joined block by block.

The index answers as the band index does. A value that very many books share lists the first of them only, as
a full posting bucket does; here that counts for each value of its own. The tuples are those that compiled
kernels take.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.core.index.fingerprints import words
from app.core.index.packing import EntryColumns
from app.core.index.records import POSTING_CAP

Array = NDArray[np.uint32] | NDArray[np.uint64]


class ValueLists(NamedTuple):
    """The values of each book of a block, book after book."""

    values: Array
    ends: NDArray[np.int64]  # (n,): those of book i come before ends[i]


class Fingerprints(NamedTuple):
    """The fingerprints of a block."""

    high: NDArray[np.uint64]  # (n,), the first eight bytes
    low: NDArray[np.uint64]  # (n,), the last eight
    signed: NDArray[np.bool_]  # (n,), whether there is one

    @classmethod
    def of(cls, columns: EntryColumns) -> "Fingerprints":
        """Those in the columns of a flat index."""
        return cls(*words(columns.bits), columns.signed)


@dataclass(frozen=True, slots=True, eq=False)
class SignatureBlock:
    """The signatures of a block of books that candidates are found by."""

    columns: EntryColumns  # an entry id is the number of a book
    minhash: ValueLists  # 128 values of 32 bits for each book, or none
    sample: ValueLists  # hashes of 64 bits, distinct in each book


class PostingLists(NamedTuple):
    """The books of a block by their values, in buckets.

    The value at place p of a book belongs to list p & `last_list`. A bucket is that list and the top bits of
    the value's mix. A record is the low half of a value above the row of a book; rows ascend in a bucket.
    """

    starts: NDArray[np.uint32]  # (buckets + 1,): bucket b holds the records from starts[b] to starts[b + 1]
    records: NDArray[np.uint64]
    last_list: int  # one less than the number of lists, a power of two
    shift: int  # 64 less the bits of a bucket's number in its list


class AskedBlock(NamedTuple):
    """A block of which each book is a query."""

    book_ids: NDArray[np.uint64]  # (n,)
    fingerprints: Fingerprints
    minhash: ValueLists
    sample: ValueLists


class IndexedBlock(NamedTuple):
    """A block in which queries find books."""

    book_ids: NDArray[np.uint64]  # (n,)
    fingerprints: Fingerprints
    minhash: PostingLists
    sample: PostingLists


class FoundPairs(NamedTuple):
    """Pairs of a query and another book by their rows, as arrays of one length."""

    queries: NDArray[np.uint32]
    others: NDArray[np.uint32]
    distances: NDArray[np.uint8]  # 255 where either book has no fingerprint
    equal_values: NDArray[np.uint16]
    shared: NDArray[np.uint16]  # hashes in both samples

    @classmethod
    def room(cls, size: int) -> "FoundPairs":
        return cls(
            queries=np.empty(size, dtype=np.uint32),
            others=np.empty(size, dtype=np.uint32),
            distances=np.empty(size, dtype=np.uint8),
            equal_values=np.empty(size, dtype=np.uint16),
            shared=np.empty(size, dtype=np.uint16),
        )

    def first(self, count: int) -> "FoundPairs":
        return FoundPairs(
            self.queries[:count],
            self.others[:count],
            self.distances[:count],
            self.equal_values[:count],
            self.shared[:count],
        )


_MINHASH_LISTS = 128


@dataclass(frozen=True, slots=True)
class CappedValue:
    """A value that more books of a block share than its posting list takes."""

    place: int | None  # of the MinHash value, from 0; None: it is a hash of samples
    value: int  # its low 32 bits
    books: int  # that have it


@dataclass(frozen=True, slots=True, eq=False)
class BlockIndex:
    """The index of a block."""

    columns: EntryColumns
    minhash: PostingLists
    sample: PostingLists
    capped: tuple[CappedValue, ...]

    @classmethod
    def of(cls, block: SignatureBlock, cap: int = POSTING_CAP) -> "BlockIndex":
        """The index of a block; of the books that share a value the first `cap` are listed."""
        minhash, of_minhash = _capped(_posted(block.minhash, _MINHASH_LISTS), cap)
        sample, of_sample = _capped(_posted(block.sample, 1), cap)
        return cls(block.columns, minhash, sample, (*of_minhash, *of_sample))


def _posted(entered: ValueLists, lists: int) -> PostingLists:
    from app.core.index import kernels

    bits = max(1, (entered.values.size // lists).bit_length())
    starts = np.zeros((lists << bits) + 2, dtype=np.uint32)
    records = np.empty(entered.values.size, dtype=np.uint64)
    posted = PostingLists(starts, records, lists - 1, 64 - bits)
    kernels.post(entered, posted)
    return posted._replace(starts=starts[:-1])


def _capped(lists: PostingLists, cap: int) -> tuple[PostingLists, list[CappedValue]]:
    """The lists with at most `cap` books for a value, and the values that had more."""
    starts, records, last_list, shift = lists
    dropped, capped = [], []
    for bucket in np.flatnonzero(np.diff(starts) > cap).tolist():
        start, end = starts[bucket : bucket + 2].tolist()
        halves = records[start:end] >> np.uint64(32)
        values, counts = np.unique(halves, return_counts=True)
        for value, books in zip(values[counts > cap].tolist(), counts[counts > cap].tolist(), strict=True):
            capped.append(CappedValue(bucket >> (64 - shift) if last_list else None, value, books))
            dropped.append(start + np.flatnonzero(halves == value)[cap:])
    if not capped:
        return lists, capped
    places = np.sort(np.concatenate(dropped))
    kept = (starts - np.searchsorted(places, starts)).astype(np.uint32)
    return lists._replace(starts=kept, records=np.delete(records, places)), capped
