"""Signatures of a block of books as arrays: what whole collections are joined by, block by block.

The tuples among them are those that compiled kernels take.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.core.index.hamming import words
from app.core.index.packing import EntryColumns

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


class FoundPairs(NamedTuple):
    """Pairs of a query and another book by their rows, as arrays of one length."""

    queries: NDArray[np.uint32]
    others: NDArray[np.uint32]
    distances: NDArray[np.uint8]  # 255 where either book has no fingerprint
    equal_values: NDArray[np.uint16]
    shared: NDArray[np.uint16]  # hashes in both samples

    @classmethod
    def room(cls, size: int) -> "FoundPairs":
        """Room for so many pairs."""
        return cls(
            queries=np.empty(size, dtype=np.uint32),
            others=np.empty(size, dtype=np.uint32),
            distances=np.empty(size, dtype=np.uint8),
            equal_values=np.empty(size, dtype=np.uint16),
            shared=np.empty(size, dtype=np.uint16),
        )

    def first(self, count: int) -> "FoundPairs":
        """The first of them."""
        return FoundPairs(
            self.queries[:count],
            self.others[:count],
            self.distances[:count],
            self.equal_values[:count],
            self.shared[:count],
        )
