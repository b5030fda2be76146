"""Compiled kernel that joins sets of books."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import compiled


@compiled
def join_sets(left: NDArray[np.int64], right: NDArray[np.int64], oldest: NDArray[np.int64]) -> None:
    """Joins the sets of each pair of books; `oldest` (books,) leads from each book to one before it.

    Books are numbers from 0, and at first each is its own oldest. Afterwards `oldest` has the least book of
    each one's set. Paths are halved on the way (Tarjan and van Leeuwen 1984).
    """
    for pair in range(left.size):
        first, second = left[pair], right[pair]
        while oldest[first] != first:
            oldest[first] = oldest[oldest[first]]
            first = oldest[first]
        while oldest[second] != second:
            oldest[second] = oldest[oldest[second]]
            second = oldest[second]
        if first < second:
            oldest[second] = first
        else:
            oldest[first] = second
    for book in range(oldest.size):
        oldest[book] = oldest[oldest[book]]
