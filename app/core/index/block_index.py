"""The index of a block of books, all in memory.

It answers as the band index does. A value that very many books share lists the first of them only, as a full
posting bucket does; here that counts for each value of its own.
"""

from dataclasses import dataclass

import numpy as np

from app.core.index.packing import EntryColumns
from app.core.index.records import POSTING_CAP
from app.core.index.signature_block import PostingLists, SignatureBlock, ValueLists

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
    from app.core.index import block_kernels

    bits = max(1, (entered.values.size // lists).bit_length())
    starts = np.zeros((lists << bits) + 2, dtype=np.uint32)
    records = np.empty(entered.values.size, dtype=np.uint64)
    posted = PostingLists(starts, records, lists - 1, 64 - bits)
    block_kernels.post(entered, posted)
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
