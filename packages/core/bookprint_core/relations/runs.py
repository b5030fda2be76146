"""Runs: pages of two books that match and follow each other in both."""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.relations.background import Background

_STEP_COST = 0.15
"""Of a step in one book alone, in units of a typical pair of equal pages."""

_DROP = 3.0
"""A path ends where it has lost so much, in the same unit."""

LONGEST_GAP = 8
"""Runs end where more pages than this follow without a match."""

_LEAST = 0.5
"""The least weight of a path, in the same unit."""


def find_runs(similarities: NDArray[np.uint8], background: Background) -> list[NDArray[np.int64]]:
    """The pairs (n, 2) of each run, ascending in both books, in the order of the left one.

    `similarities` (left, right) are 0 to 255.
    """
    paths = _untangled(_paths(similarities, background), similarities.shape)
    rest = _without(paths, similarities)
    if paths and rest.max() > background.threshold * 255:
        paths += _untangled(_paths(rest, background), similarities.shape)
    parts = [part for path in paths for part in split(path)]
    parts = [part for part in parts if background.excludes(similarities[part[:, 0], part[:, 1]] / 255)]
    return _joined(sorted(parts, key=lambda part: (*part[0], *part[-1])))


def split(pairs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The parts of ascending pairs (n, 2), cut where more pages than `LONGEST_GAP` follow without a match."""
    return np.split(pairs, np.flatnonzero(np.diff(pairs, axis=0).max(axis=1) > LONGEST_GAP) + 1)


def _without(paths: list[NDArray[np.int64]], similarities: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The similarities of pages on no path: a path that cost it its end may have hidden another one."""
    rest = similarities.copy()
    for pairs in paths:
        rest[pairs[:, 0]] = 0
        rest[:, pairs[:, 1]] = 0
    return rest


def _joined(parts: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Parts that follow each other in both books with a gap that `split` would leave, as one."""
    joined: list[NDArray[np.int64]] = []
    for part in parts:
        steps = part[0] - joined[-1][-1] if joined else np.zeros(2)
        if steps.min() > 0 and steps.max() <= LONGEST_GAP:
            joined[-1] = np.concatenate([joined[-1], part])
        else:
            joined.append(part)
    return joined


def _paths(similarities: NDArray[np.uint8], background: Background) -> list[NDArray[np.int64]]:
    """Paths through pages that are alike, heaviest first, each (pairs, 2); no two share a pair."""
    from bookprint_core.relations.kernels import smith_waterman, trace_path

    steps = np.empty_like(similarities)
    limits = np.array([_STEP_COST, _DROP, _LEAST], dtype=np.float32)
    weights = background.weights()
    room = sum(similarities.shape)
    while True:
        best, ends = np.empty(room, dtype=np.float32), np.empty((room, 2), dtype=np.int64)
        count = smith_waterman(similarities, weights, limits, steps, best, ends)
        if count >= 0:
            break
        room *= 4
    path = np.empty((sum(similarities.shape), 2), dtype=np.int64)
    paths = []
    for number in np.argsort(-best[:count], kind="stable"):
        size = trace_path(steps, ends[number, 0], ends[number, 1], path)
        pairs = path[:size][::-1]
        pairs = pairs[similarities[pairs[:, 0], pairs[:, 1]] > background.threshold * 255]
        if pairs.size:
            paths.append(pairs)
    return paths


def _untangled(paths: list[NDArray[np.int64]], shape: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """The paths without those that lie mostly beside a heavier one on the same pages."""
    used = np.zeros(shape[0], dtype=np.bool_), np.zeros(shape[1], dtype=np.bool_)
    kept = []
    for pairs in paths:
        taken = used[0][pairs[:, 0]] | used[1][pairs[:, 1]]
        pairs = pairs[~taken]
        if pairs.size and 2 * taken.sum() < taken.size:
            kept.append(pairs)
            for side in (0, 1):
                used[side][pairs[:, side]] = True
    return kept
