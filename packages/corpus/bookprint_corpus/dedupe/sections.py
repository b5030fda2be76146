"""Choice of the books to keep: one of each cluster of copies, and on request no parts of kept books.

Books are places 0 to n - 1 in the order of the input, so that arrays describe millions of books. The result
is one array. It maps each book to the book that is kept in its place, and a kept book to itself.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bookprint_core.clusters.clustering import KINDS
from bookprint_core.relations.classification import Kind

Same = Literal["same-pagination", "same-text", "contained"]
"""Condition for keeping only one of two books: the same printing, the same text, or containment."""

Keep = Literal["best", "first", "longest"]
"""Rule that selects the copy to keep."""

COPIES: Mapping[Same, frozenset[Kind]] = {
    "same-pagination": frozenset({"SAME_PAGINATION"}),
    "same-text": KINDS["same_text"],
    "contained": KINDS["same_text"],
}
"""Relations that join copies, by condition."""

BookPlaces = NDArray[np.int64]


def longest_copies(founders: BookPlaces, word_counts: NDArray[np.int64]) -> BookPlaces:
    """Return the longest copy in each book's cluster, (n,): the oldest copy with the most words.

    `founders` contains the oldest book of each book's cluster, (n,).
    """
    order = np.lexsort((np.arange(founders.size), -word_counts, founders))
    clusters, starts = np.unique(founders[order], return_index=True)
    return order[starts][np.searchsorted(clusters, founders)]


def with_parts(
    kept: BookPlaces, word_counts: NDArray[np.int64], parts: BookPlaces, wholes: BookPlaces
) -> BookPlaces:
    """Also leave out kept books that are part of longer kept books. Return the new result, (n,).

    `parts` and `wholes` are the two books of each relation, (relations,). They represent all their copies. A
    part of several books is replaced by the longest.
    """
    parts, wholes = kept[parts], kept[wholes]
    # A whole must be longer or, if equally long, older. This excludes cycles.
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
    """Return, for each book, the oldest book that has the same book in `kept`, (n,)."""
    oldest = np.full(kept.size, kept.size, dtype=np.int64)
    np.minimum.at(oldest, kept, np.arange(kept.size))
    return oldest[kept]
