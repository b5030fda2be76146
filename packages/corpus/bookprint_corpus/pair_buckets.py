"""Buckets of pairs of books: the pairs that one task compares.

A bucket contains all books of its pairs. Related books share a bucket. Only books with very many relatives
are in several buckets.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_corpus.components import connected_components

Numbers = NDArray[np.int64]

_COMPARISONS = 1_000
"""Pairs of texts that fill a bucket: about ten seconds of work, and about 40 MB of page signatures."""

_PAIRS = 50_000
"""Pairs of books that fill a bucket if all of them repeat the texts of one pair."""

_MOST_BUCKETS = 64
"""Number of buckets that only large corpora exceed: Sail needs up to 10 MB per bucket while it fills them."""

_LARGEST = 8
"""Maximum factor by which buckets grow instead of exceeding _MOST_BUCKETS."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of books to compare."""

    left: Numbers  # (pairs,)
    right: Numbers  # (pairs,)
    left_text: Numbers  # (pairs,) the oldest book with the text of the left book
    right_text: Numbers  # (pairs,)

    def take(self, places: Numbers) -> "Pairs":
        return Pairs(self.left[places], self.right[places], self.left_text[places], self.right_text[places])

    def starts(self) -> NDArray[np.bool_]:
        """Return whether each pair's texts differ from those of the preceding pair, (pairs,)."""
        differ = (np.diff(self.left_text) != 0) | (np.diff(self.right_text) != 0)
        return np.concatenate([np.ones(min(1, self.left.size), dtype=np.bool_), differ])


@dataclass(frozen=True, slots=True, eq=False)
class PairBuckets:
    """Pairs in the order of their buckets. Within a bucket, pairs with the same texts are adjacent."""

    pairs: Pairs
    ends: Numbers  # (buckets,) the place after the last pair of each bucket


def pair_buckets(pairs: Pairs, most: int = _MOST_BUCKETS) -> PairBuckets:
    """Return the pairs in buckets. Components smaller than a bucket stay together."""
    founders = connected_components(pairs.left_text, pairs.right_text).founders_of(pairs.left_text)
    order = np.lexsort((pairs.right, pairs.left, pairs.right_text, pairs.left_text, founders))
    pairs, founders = pairs.take(order), founders[order]
    work = pairs.starts() / _COMPARISONS + 1 / _PAIRS
    before = np.cumsum(work) - work
    total = float(work.sum())
    filled = max(1.0, min(total / most, _LARGEST))
    starts = np.flatnonzero(np.diff(founders, prepend=-1))
    sizes = np.diff(np.append(starts, founders.size))
    is_small = np.add.reduceat(work, starts) <= filled if starts.size else np.zeros(0)
    at = np.where(np.repeat(is_small, sizes), np.repeat(before[starts], sizes), before)
    last = np.flatnonzero(np.diff(np.floor(at / filled), append=-1))
    return PairBuckets(pairs, last + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Assignment of books to buckets."""

    buckets: Numbers  # (rows,)
    books: Numbers  # (rows,) each book at most once in a bucket
    texts: Numbers  # (rows,) the oldest book with each book's text, in the same bucket


def placement(bucketed: PairBuckets) -> Placement:
    """Return the books of the pairs in each bucket, and the oldest books with their texts."""
    pairs, ends = bucketed.pairs, bucketed.ends
    numbers = np.repeat(np.arange(ends.size), np.diff(ends, prepend=0))
    books = np.concatenate([pairs.left, pairs.right, pairs.left_text, pairs.right_text])
    texts = np.concatenate([pairs.left_text, pairs.right_text] * 2)
    known, places = np.unique(books, return_inverse=True)
    _, rows = np.unique(np.tile(numbers, 4) * known.size + places, return_index=True)
    return Placement(np.tile(numbers, 4)[rows], books[rows], texts[rows])
