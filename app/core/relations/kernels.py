"""Compiled kernels that compare the pages of two books."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import U32, compiled


@compiled
def page_similarities(
    left: NDArray[np.uint8], right: NDArray[np.uint8], least: int, out: NDArray[np.uint8]
) -> None:
    """Writes the similarity of each two pages, 0 to 255, into `out`: 255 · equal bins / bins filled in both.

    Pages are rows of at most 255 bins; 0 is an empty one. Fewer than `least` bins filled in both count as
    not alike. Each loop is one row against all, which the compiler turns into vector instructions.
    """
    bins = left.shape[1]
    equal = np.empty(right.shape[0], dtype=np.uint8)
    filled = np.empty(right.shape[0], dtype=np.uint8)
    common = np.empty(right.shape[0], dtype=np.uint8)
    _count_common(np.full(bins, 1, dtype=np.uint8), right, filled)
    for i in range(left.shape[0]):
        page = left[i]
        _count_equal(page, right, equal)
        shared = filled
        empty = bins - np.count_nonzero(page)
        if empty:
            _count_common(page, right, common)
            shared = common
        row = out[i]
        for j in range(row.size):
            # Bins that are empty on both sides were counted as equal.
            alike = U32(equal[j]) + U32(filled[j]) - U32(shared[j]) - U32(empty)
            row[j] = alike * U32(255) // U32(shared[j]) if shared[j] >= least else U32(0)


@compiled
def _count_equal(page: NDArray[np.uint8], right: NDArray[np.uint8], equal: NDArray[np.uint8]) -> None:
    for j in range(right.shape[0]):
        count = 0
        for k in range(right.shape[1]):
            count += page[k] == right[j, k]
        equal[j] = count


@compiled
def _count_common(page: NDArray[np.uint8], right: NDArray[np.uint8], common: NDArray[np.uint8]) -> None:
    for j in range(right.shape[0]):
        count = 0
        for k in range(right.shape[1]):
            count += (page[k] != 0) & (right[j, k] != 0)
        common[j] = count


@compiled
def compare_neighbours(pages: NDArray[np.uint8], equal: NDArray[np.uint8], common: NDArray[np.uint8]) -> None:
    """Writes how many bins each page and the one `row + 1` before it have equal, and how many both have.

    `equal` and `common` are (rows, pages); pages that have none so far before them keep what is there.
    """
    for row in range(equal.shape[0]):
        for i in range(row + 1, pages.shape[0]):
            same = 0
            shared = 0
            for k in range(pages.shape[1]):
                filled = (pages[i, k] != 0) & (pages[i - row - 1, k] != 0)
                shared += filled
                same += filled & (pages[i, k] == pages[i - row - 1, k])
            equal[row, i] = same
            common[row, i] = shared
