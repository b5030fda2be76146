"""Compiled kernels that compare the pages of two books, and align the books over the similarities.

The alignment is local (Smith and Waterman 1981). A step leads from one pair of pages to the next in the left
book, the right book or both. A path ends when its score has dropped by X since its maximum (the X-drop of
Altschul et al. 1997). A new path then starts, so a strong run never includes a weaker run after a gap.
"""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.jit import U32, compiled


@compiled
def page_similarities(
    left: NDArray[np.uint8], right: NDArray[np.uint8], least: int, out: NDArray[np.uint8]
) -> None:
    """Write the similarity of each pair of pages, 0 to 255, to `out`: 255 · equal bins / bins filled in both.

    Pages are rows of at most 255 bins; 0 is an empty bin. Pages with fewer than `least` bins filled in both
    have similarity 0. Each loop compares a row with all rows, which compiles to vector instructions.
    """
    bins = left.shape[1]
    equal = np.empty(right.shape[0], dtype=np.uint8)
    filled = np.empty(right.shape[0], dtype=np.uint8)
    common = np.empty(right.shape[0], dtype=np.uint8)
    all_filled = np.empty(bins, dtype=np.uint8)
    all_filled[:] = 1
    _count_common(all_filled, right, filled)
    for i in range(left.shape[0]):
        page = left[i]
        _count_equal(page, right, equal)
        shared = filled
        empty = 0
        for k in range(bins):
            empty += page[k] == 0
        if empty:
            _count_common(page, right, common)
            shared = common
        row = out[i]
        for j in range(row.size):
            # The count of equal bins includes bins that are empty on both sides.
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
    """Write the numbers of equal bins and bins filled in both, for each page and the page `row + 1` before.

    `equal` and `common` are (rows, pages); the first pages, without a page before them, stay unchanged.
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


STOP, BOTH, LEFT, RIGHT, USED = range(5)
"""Last step of a path to a pair: none at its start, else in both books, in the left or in the right book.
`trace_path` marks the pairs of traced paths as USED."""


@compiled
def smith_waterman(
    similarities: NDArray[np.uint8],
    weights: NDArray[np.float32],
    limits: NDArray[np.float32],
    steps: NDArray[np.uint8],
    best: NDArray[np.float32],
    ends: NDArray[np.int64],
) -> int:
    """Find the paths with a least weight, and return their number, or -1 if `best` has too few places.

    The weight of a pair is `weights[similarity]`, (256,), ascending. `limits` contains the cost of a step in
    one book alone, the loss that ends a path, and the least weight of a path. The weight of the best pair of
    each path is written into `best`, its row and column into `ends` (paths, 2). The last step of the best
    path to each pair is written into `steps`, of the shape of `similarities`.
    """
    rows, columns = similarities.shape
    none = np.float32(0)
    step_cost, drop, least = limits[0], limits[1], limits[2]
    telling = 0
    while telling < weights.size and weights[telling] <= none:
        telling += 1
    # Both rows, this and the one above, are shifted by one column. `peaks` contains the best score so far and
    # `slots` the path. Both are valid where the score is above 0.
    scores = np.zeros((2, columns + 1), dtype=np.float32)
    peaks = np.empty((2, columns + 1), dtype=np.float32)
    slots = np.empty((2, columns + 1), dtype=np.int32)
    count = 0
    for i in range(rows):
        here, above = i % 2, (i + 1) % 2
        score = none
        for j in range(columns):
            left_score, corner = score, scores[above, j]
            upper = scores[above, j + 1]
            similarity = similarities[i, j]
            score = none
            steps[i, j] = STOP
            if similarity >= telling or left_score > none or corner > none or upper > none:
                score, peak, slot, step = corner, peaks[above, j], slots[above, j], BOTH
                if upper - step_cost > score:
                    score, step = upper - step_cost, LEFT
                    peak, slot = peaks[above, j + 1], slots[above, j + 1]
                if left_score - step_cost > score:
                    score, step = left_score - step_cost, RIGHT
                    peak, slot = peaks[here, j], slots[here, j]
                if score <= none:
                    score, peak, slot, step = none, none, np.int32(-1), STOP
                score += weights[similarity]
                if score <= none or score < peak - drop:
                    score = none
                else:
                    if score > peak:
                        peak = score
                        if slot < 0 and score >= least:
                            if count == best.size:
                                return -1
                            slot = np.int32(count)
                            best[slot] = none
                            count += 1
                        if slot >= 0 and score > best[slot]:
                            best[slot] = score
                            ends[slot, 0] = i
                            ends[slot, 1] = j
                    steps[i, j] = step
                    peaks[here, j + 1] = peak
                    slots[here, j + 1] = slot
            scores[here, j + 1] = score
    return count


@compiled
def trace_path(steps: NDArray[np.uint8], row: int, column: int, path: NDArray[np.int64]) -> int:
    """Write the path to a pair into `path` (rows + columns, 2), last pair first; return the number of pairs.

    The path is marked in `steps`, and ends at a pair that was marked before.
    """
    size = 0
    i, j = row, column
    while True:
        step = steps[i, j]
        if step == USED:
            return size
        steps[i, j] = USED
        path[size, 0] = i
        path[size, 1] = j
        size += 1
        if step == STOP:
            return size
        if step != RIGHT:
            i -= 1
        if step != LEFT:
            j -= 1
