"""Which books of a collection to keep: one of each cluster of copies, and no parts of what is kept.

Books are places 0 to n - 1 in the order of the input, so millions are decided on at once. The outcome is one
array: for each book the one that is kept in its place, itself where it is kept.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bookprint_core.clusters.clustering import KINDS
from bookprint_core.relations.classification import Kind

Same = Literal["same-pagination", "same-text", "contained"]
"""Condition for keeping one of two books: the same printing, the same text, or a text within the other."""

Keep = Literal["best", "first", "longest"]
"""Which copy of several is kept."""

COPIES: Mapping[Same, frozenset[Kind]] = {
    "same-pagination": frozenset({"SAME_PAGINATION"}),
    "same-text": KINDS["same_text"],
    "contained": KINDS["same_text"],
}
"""The relations that join copies."""

BookPlaces = NDArray[np.int64]


def longest_copies(founders: BookPlaces, word_counts: NDArray[np.int64]) -> BookPlaces:
    """For each book the copy with the most words in its cluster, the oldest of several; (n,).

    `founders` has the oldest book of each one's cluster, (n,).
    """
    order = np.lexsort((np.arange(founders.size), -word_counts, founders))
    clusters, starts = np.unique(founders[order], return_index=True)
    return order[starts][np.searchsorted(clusters, founders)]


def with_parts(
    kept: BookPlaces, word_counts: NDArray[np.int64], parts: BookPlaces, wholes: BookPlaces
) -> BookPlaces:
    """Return the outcome where kept books that are part of longer kept ones are left out too; (n,).

    `parts` and `wholes` are the books of each relation between a part and its whole, (relations,). They stand
    for all their copies. A part of several books goes with the longest.
    """
    parts, wholes = kept[parts], kept[wholes]
    # Strictly longer, and the older of equal ones: so no books contain each other in a circle.
    order = np.lexsort((-np.arange(kept.size), word_counts))
    rank = np.empty_like(order)
    rank[order] = np.arange(kept.size)
    longer = rank[wholes] > rank[parts]
    parts, wholes = parts[longer], wholes[longer]
    by_whole = np.argsort(rank[wholes], kind="stable")
    goes_with = np.arange(kept.size)
    goes_with[parts[by_whole]] = wholes[by_whole]
    while not np.array_equal(above := goes_with[goes_with], goes_with):
        goes_with = above
    return goes_with[kept]


def oldest_together(kept: BookPlaces) -> BookPlaces:
    """For each book the oldest of those in whose place the same book is kept; (n,)."""
    oldest = np.full(kept.size, kept.size, dtype=np.int64)
    np.minimum.at(oldest, kept, np.arange(kept.size))
    return oldest[kept]
