"""Signatures of a block of books as arrays. The named tuples are arguments of compiled kernels."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import words
from bookprint_core.index.records import EntryColumns


class HashLists(NamedTuple):
    """Hashes of the samples of a block, one book after the other."""

    values: NDArray[np.uint64]
    ends: NDArray[np.int64]  # (n,): the hashes of book i end before ends[i]


class Fingerprints(NamedTuple):
    """Fingerprints of a block, in halves of eight bytes."""

    high: NDArray[np.uint64]  # (n,), the first eight bytes
    low: NDArray[np.uint64]  # (n,), the last eight bytes
    signed: NDArray[np.bool_]  # (n,), whether the book has a fingerprint

    @classmethod
    def of(cls, columns: EntryColumns) -> "Fingerprints":
        """Return the fingerprints in the columns of a flat index."""
        return cls(*words(columns.bits), columns.signed)


@dataclass(frozen=True, slots=True, eq=False)
class SignatureBlock:
    """Signatures of a block of books, by which candidates are found."""

    columns: EntryColumns  # an entry id is the number of a book
    sample: HashLists  # hashes of 64 bits, distinct in each book


class PostingLists(NamedTuple):
    """Books of a block by hash, in buckets.

    A bucket's number is the top bits of the mixed hash. A record is the low half of a hash, shifted left by
    32 bits, plus the row of a book. Rows ascend in a bucket.
    """

    starts: NDArray[np.uint32]  # (buckets + 1,): bucket b contains records starts[b] to starts[b + 1]
    records: NDArray[np.uint64]
    shift: int  # 64 minus the bits of a bucket's number


class AskedBlock(NamedTuple):
    """Block whose books are queries."""

    book_ids: NDArray[np.uint64]  # (n,)
    fingerprints: Fingerprints
    sample: HashLists


class IndexedBlock(NamedTuple):
    """Block in which queries find books."""

    book_ids: NDArray[np.uint64]  # (n,)
    fingerprints: Fingerprints
    sample: PostingLists


class FoundPairs(NamedTuple):
    """Pairs of a query and another book, by row, as arrays of equal length."""

    queries: NDArray[np.uint32]
    others: NDArray[np.uint32]
    distances: NDArray[np.uint8]  # 255 if either book has no fingerprint
    shared: NDArray[np.uint16]  # hashes in both samples

    @classmethod
    def room(cls, size: int) -> "FoundPairs":
        return cls(
            queries=np.empty(size, dtype=np.uint32),
            others=np.empty(size, dtype=np.uint32),
            distances=np.empty(size, dtype=np.uint8),
            shared=np.empty(size, dtype=np.uint16),
        )

    def at(self, places: slice | NDArray[np.bool_]) -> "FoundPairs":
        """Return the pairs at these places."""
        return FoundPairs(
            self.queries[places], self.others[places], self.distances[places], self.shared[places]
        )
