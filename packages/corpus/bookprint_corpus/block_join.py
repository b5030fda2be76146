"""The candidate join: candidates for every book of one block, from another block or from the same block.

A lookup finds the candidates of one book in the band index. The join finds the candidates of all books of a
block at once, by the same rule and in the same order. Pairs with only one common hash are counted and dropped
immediately: each book has a thousand such pairs by chance in a million books. Spasojević and Poncin (2011,
algorithm 1) instead group the books by shingle, and count the pairs of each group.

Like the band index, the index of a block lists at most 8,192 books per hash.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.records import POSTING_CAP, EntryColumns
from bookprint_core.matching.search import ranks
from bookprint_core.matching.verification import VERIFICATION, Candidates, meets, verified
from bookprint_corpus.blocks import (
    AskedBlock,
    Fingerprints,
    FoundPairs,
    HashLists,
    IndexedBlock,
    PostingLists,
    SignatureBlock,
)

_PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class CappedHash:
    """Hash that is shared by more books of a block than a posting list may contain."""

    value: int  # low 32 bits of the hash
    books: int  # books of the block with this hash


@dataclass(frozen=True, slots=True, eq=False)
class BlockIndex:
    """Index of the books of a block, by hash."""

    columns: EntryColumns
    sample: PostingLists
    capped: tuple[CappedHash, ...]

    @classmethod
    def of(cls, block: SignatureBlock, cap: int = POSTING_CAP) -> "BlockIndex":
        """Return the index of a block, with at most the first `cap` books per hash."""
        sample, capped = _capped(_posted(block.sample), cap)
        return cls(block.columns, sample, tuple(capped))


def _posted(entered: HashLists) -> PostingLists:
    from bookprint_corpus import block_kernels

    bits = max(1, entered.values.size.bit_length())
    starts = np.zeros((1 << bits) + 2, dtype=np.uint32)
    records = np.empty(entered.values.size, dtype=np.uint64)
    posted = PostingLists(starts, records, 64 - bits)
    block_kernels.post(entered, posted)
    return posted._replace(starts=starts[:-1])


def _capped(lists: PostingLists, cap: int) -> tuple[PostingLists, list[CappedHash]]:
    """Return the lists with at most `cap` books per hash, and the hashes with more books."""
    starts, records, _ = lists
    dropped, capped = [], []
    for bucket in np.flatnonzero(np.diff(starts) > cap).tolist():
        start, end = starts[bucket : bucket + 2].tolist()
        halves = records[start:end] >> np.uint64(32)
        values, counts = np.unique(halves, return_counts=True)
        for value, books in zip(values[counts > cap].tolist(), counts[counts > cap].tolist(), strict=True):
            capped.append(CappedHash(value, books))
            dropped.append(start + np.flatnonzero(halves == value)[cap:])
    if not capped:
        return lists, capped
    places = np.sort(np.concatenate(dropped))
    kept = (starts - np.searchsorted(places, starts)).astype(np.uint32)
    return lists._replace(starts=kept, records=np.delete(records, places)), capped


@dataclass(frozen=True, slots=True, eq=False)
class JoinedCandidates:
    """Pairs of a book and one of its candidates, as arrays of equal length."""

    books: NDArray[np.uint64]  # all pairs of a book are adjacent
    others: NDArray[np.uint64]
    distances: NDArray[np.uint8]  # 255 if either book has no fingerprint
    shared: NDArray[np.uint16]  # hashes in both samples
    ranks: NDArray[np.int64]  # order of a book's candidates; equal ranks are ordered by number
    left_out: NDArray[np.int64]  # further candidates of the book, in its nearest pair; 0 in other pairs


def candidates_of_each(queries: SignatureBlock, others: BlockIndex, most: int) -> Iterator[JoinedCandidates]:
    """Yield batches of pairs of each book of `queries` and its `most` nearest candidates in `others`.

    `queries` and `others` may be the same block. No book is a candidate of itself.
    """
    from bookprint_corpus import block_kernels

    asked = AskedBlock(queries.columns.entry_ids, Fingerprints.of(queries.columns), queries.sample)
    indexed = IndexedBlock(others.columns.entry_ids, Fingerprints.of(others.columns), others.sample)
    room = FoundPairs.room(_PAIRS_AT_ONCE + others.columns.entry_ids.size)
    query = 0
    while query < queries.columns.entry_ids.size:
        query, count = block_kernels.find_pairs(
            asked, indexed, query, VERIFICATION.distance_unsampled, VERIFICATION.min_shared, room
        )
        yield _nearest(queries.columns, others.columns, room.at(slice(count)), most)


def _nearest(books: EntryColumns, others: EntryColumns, pairs: FoundPairs, most: int) -> JoinedCandidates:
    candidates = Candidates.between(
        books.levels[pairs.queries], others.levels[pairs.others], pairs.distances, pairs.shared
    )
    near = verified(candidates)
    wanted = near | meets(candidates, VERIFICATION.compared)
    pairs, near = pairs.at(wanted), near[wanted]
    order = ranks(near, pairs.distances, pairs.shared)
    starts = np.flatnonzero(np.diff(pairs.queries, prepend=np.uint32(0xFFFFFFFF)))
    counts = np.diff(starts, append=pairs.queries.size)
    left_out = np.zeros(pairs.queries.size, dtype=np.int64)
    kept = np.ones(pairs.queries.size, dtype=np.bool_)
    for start, count in zip(starts[counts > most].tolist(), counts[counts > most].tolist(), strict=True):
        part = slice(start, start + count)
        nearest = np.lexsort((pairs.others[part], order[part]))[:most]
        kept[part] = False
        kept[start + nearest] = True
        left_out[start + nearest[0]] = count - most
    return JoinedCandidates(
        books=books.entry_ids[pairs.queries[kept]],
        others=others.entry_ids[pairs.others[kept]],
        distances=pairs.distances[kept],
        shared=pairs.shared[kept],
        ranks=order[kept],
        left_out=left_out[kept],
    )
