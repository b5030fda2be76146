"""Signatures of a block of books as arrays. The tuples are those that compiled kernels take."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import words
from bookprint_core.index.records import EntryColumns


class HashLists(NamedTuple):
    """The hashes of each book's sample, book after book."""

    values: NDArray[np.uint64]
    ends: NDArray[np.int64]  # (n,): those of book i come before ends[i]


class Fingerprints(NamedTuple):
    """The fingerprints of a block."""

    high: NDArray[np.uint64]  # (n,), the first eight bytes
    low: NDArray[np.uint64]  # (n,), the last eight
    signed: NDArray[np.bool_]  # (n,), whether there is one

    @classmethod
    def of(cls, columns: EntryColumns) -> "Fingerprints":
        """Order of the hashes in the columns of a flat index."""
        return cls(*words(columns.bits), columns.signed)


@dataclass(frozen=True, slots=True, eq=False)
class SignatureBlock:
    """The signatures of a block of books that candidates are found by."""

    columns: EntryColumns  # an entry id is the number of a book
    sample: HashLists  # hashes of 64 bits, distinct in each book


class PostingLists(NamedTuple):
    """The books of a block by their hashes, in buckets.

    A bucket is the top bits of the hash's mix. A record is the low half of a hash above the row of a book;
    rows ascend in a bucket.
    """

    starts: NDArray[np.uint32]  # (buckets + 1,): bucket b holds the records from starts[b] to starts[b + 1]
    records: NDArray[np.uint64]
    shift: int  # 64 less the bits of a bucket's number


class AskedBlock(NamedTuple):
    """A block of which each book is a query."""

    book_ids: NDArray[np.uint64]  # (n,)
    fingerprints: Fingerprints
    sample: HashLists


class IndexedBlock(NamedTuple):
    """A block in which queries find books."""

    book_ids: NDArray[np.uint64]  # (n,)
    fingerprints: Fingerprints
    sample: PostingLists


class FoundPairs(NamedTuple):
    """Pairs of a query and another book by their rows, as arrays of one length."""

    queries: NDArray[np.uint32]
    others: NDArray[np.uint32]
    distances: NDArray[np.uint8]  # 255 where either book has no fingerprint
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
        """Return the pairs in some places."""
        return FoundPairs(
            self.queries[places], self.others[places], self.distances[places], self.shared[places]
        )
