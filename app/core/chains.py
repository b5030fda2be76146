"""The dynamic programme behind the alignment of pages, in plain Python that numba compiles as it stands.

Local alignment after Smith and Waterman (1981) on a matrix of page similarities: a step from one pair of
pages to the next in the left book, the right book or both. A path ends where it has lost `drop` since its
best pair, so that a strong stretch never swallows a weaker one behind a gap; what follows starts anew.
"""

import numpy as np
from numpy.typing import NDArray

STOP, BOTH, LEFT, RIGHT = range(4)
"""How a path came to a pair: it starts there, or by a step in both books, the left one or the right one."""


def find_chains(
    similarities: NDArray[np.uint8],
    weights: NDArray[np.float32],
    step_cost: float,
    drop: float,
    least: float,
    steps: NDArray[np.uint8],
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The best pair of each path that reaches `least`: weights (paths,), and its row and column (paths, 2).

    A pair weighs `weights[similarity]`, and a step in one book alone costs `step_cost` on top. Writes into
    `steps`, of the shape of `similarities`, how the best path to each pair came there.
    """
    rows, columns = similarities.shape
    none = np.float32(0)
    # Of the row above and the one at hand, one place ahead of the column: score, best score so far, path.
    scores, above = np.zeros(columns + 1, dtype=np.float32), np.zeros(columns + 1, dtype=np.float32)
    peaks, peaks_above = np.zeros(columns + 1, dtype=np.float32), np.zeros(columns + 1, dtype=np.float32)
    slots, slots_above = np.zeros(columns + 1, dtype=np.int32), np.zeros(columns + 1, dtype=np.int32)
    best = np.zeros(rows + columns, dtype=np.float32)
    places = np.zeros((rows + columns, 2), dtype=np.int64)
    found = 0
    for i in range(rows):
        scores, above = above, scores
        peaks, peaks_above = peaks_above, peaks
        slots, slots_above = slots_above, slots
        score = none
        for j in range(columns):
            left_score, corner = score, above[j]
            upper = above[j + 1]
            weight = weights[similarities[i, j]]
            score = none
            steps[i, j] = STOP
            if weight > none or left_score > none or corner > none or upper > none:
                score, peak, slot, step = corner, peaks_above[j], slots_above[j], BOTH
                if upper - step_cost > score:
                    score, peak, slot, step = upper - step_cost, peaks_above[j + 1], slots_above[j + 1], LEFT
                if left_score - step_cost > score:
                    score, peak, slot, step = left_score - step_cost, peaks[j], slots[j], RIGHT
                if score <= none:
                    score, peak, slot, step = none, none, np.int32(-1), STOP
                score += weight
                if score <= none or score < peak - drop:
                    score = none
                else:
                    if score > peak:
                        peak = score
                        if slot < 0 and score >= least:
                            if found == best.size:
                                best = np.concatenate((best, np.zeros_like(best)))
                                places = np.concatenate((places, np.zeros_like(places)))
                            slot = np.int32(found)
                            found += 1
                        if slot >= 0 and score > best[slot]:
                            best[slot] = score
                            places[slot, 0] = i
                            places[slot, 1] = j
                    steps[i, j] = step
                    peaks[j + 1] = peak
                    slots[j + 1] = slot
            scores[j + 1] = score
    return best[:found], places[:found]
