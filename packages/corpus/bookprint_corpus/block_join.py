"""The candidate join: the candidates of every book of one block in another block, or in the same.

A lookup finds a book's candidates in the band index; here all books of a block are asked at once, by the same
rule and in the same order. Pairs with a single hash in common are counted and dropped where they are met,
because each book meets a thousand others in a million by chance. Spasojević and Poncin (2011,
algorithm 1) group the books by shingle for this, and count the pairs of each group.

The index of a block answers as the band index does: of the books that share a hash it lists 8,192 at most.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.records import POSTING_CAP, EntryColumns
from bookprint_core.matching.search import ranks
from bookprint_core.matching.verification import VERIFICATION, Candidates, compared, verified
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
    """A hash that more books of a block share than its posting list takes."""

    value: int  # its low 32 bits
    books: int  # that have it


@dataclass(frozen=True, slots=True, eq=False)
class BlockIndex:
    """The index of a block."""

    columns: EntryColumns
    sample: PostingLists
    capped: tuple[CappedHash, ...]

    @classmethod
    def of(cls, block: SignatureBlock, cap: int = POSTING_CAP) -> "BlockIndex":
        """Return the index of a block; of the books that share a hash the first `cap` are listed."""
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
    """Return the list with at most `cap` books for a hash, and the hashes that had more."""
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
    """Pairs of a book and one of its candidates, as arrays of one length."""

    books: NDArray[np.uint64]  # all pairs of a book follow each other
    others: NDArray[np.uint64]
    distances: NDArray[np.uint8]  # 255 where either book has no fingerprint
    shared: NDArray[np.uint16]  # hashes in both samples
    ranks: NDArray[np.int64]  # by which a book's candidates are ordered, then by their numbers
    left_out: NDArray[np.int64]  # further candidates of the book, in one of its pairs; 0 in the others


def candidates_of_each(queries: SignatureBlock, others: BlockIndex, most: int) -> Iterator[JoinedCandidates]:
    """Yield the `most` nearest candidates in one block for each book of another, in batches of pairs.

    The blocks may be one and the same; no book is a candidate of itself.
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
    wanted = near | compared(candidates)
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
