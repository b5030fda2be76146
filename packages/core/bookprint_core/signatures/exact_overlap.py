"""Exact overlap of two texts, counted in their shingles instead of estimated from signatures.

This is the last step of Carpenter (2011): to compare the documents themselves if their signatures are
similar.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import Content
from bookprint_core.recipe import DEFAULT_MINHASH, DEFAULT_PAGES, minhash_recipe, page_recipe
from bookprint_core.signatures.shingles import shingles
from bookprint_core.text.normal_form import normalise


@dataclass(frozen=True, slots=True)
class ExactOverlap:
    """The numbers of distinct shingles of two books, and of their common shingles."""

    this: int
    other: int
    shared: int

    @property
    def jaccard(self) -> float:
        """Shared shingles divided by all shingles, 0 to 1; 0 if there are none."""
        return self.shared / max(1, self.this + self.other - self.shared)

    @property
    def this_in_other(self) -> float:
        """Share of this book's shingles that the other book has, 0 to 1; 0 without shingles."""
        return self.shared / max(1, self.this)

    @property
    def other_in_this(self) -> float:
        """Share of the other book's shingles that this book has, 0 to 1; 0 without shingles."""
        return self.shared / max(1, self.other)


def exact_overlap(this: Content, other: Content, recipe: str = DEFAULT_MINHASH) -> ExactOverlap:
    """Compute the overlap of two texts in shingles of the named MinHash recipe; raise UnknownRecipe.

    Two books of 600 KB take about twenty milliseconds. Different shingles have equal hashes once in 2^64
    pairs.
    """
    return overlap_of(distinct_shingles(this, recipe), distinct_shingles(other, recipe))


def overlap_of(these: NDArray[np.uint64], others: NDArray[np.uint64]) -> ExactOverlap:
    """Compute the overlap of two sets of distinct shingle hashes.

    >>> overlap_of(np.array([1, 2, 3], np.uint64), np.array([2, 3, 4], np.uint64)).jaccard
    0.5
    """
    shared = np.intersect1d(these, others, assume_unique=True)
    return ExactOverlap(these.size, others.size, shared.size)


def distinct_shingles(content: Content, recipe: str = DEFAULT_MINHASH) -> NDArray[np.uint64]:
    """Compute the distinct shingle hashes of a text, (n,), ascending; raise UnknownRecipe."""
    return np.unique(shingles(normalise(content), minhash_recipe(recipe), page_recipe(DEFAULT_PAGES)).hashes)
