"""Stretches in which the pages of two books follow each other, cut into the parts that become runs."""

import numpy as np
from numpy.typing import NDArray

from app.core.relations.background import Background

_STEP_COST = 0.15
"""Of a step in one book alone, in units of a typical pair of equal pages."""

_DROP = 3.0
"""A stretch ends where it has lost so much, in the same unit."""

LONGEST_GAP = 8
"""Runs end where more pages than this follow without a match."""

_LEAST = 0.5
"""Lighter stretches are none, in the same unit."""


def find_runs(alike: NDArray[np.uint8], chance: Background) -> list[NDArray[np.int64]]:
    """The pairs (n, 2) of each run, ascending in both books, in the order of the left one."""
    found = _untangled(_stretches(alike, chance), alike.shape)
    rest = _without(found, alike)
    if found and rest.max() > chance.threshold * 255:
        found += _untangled(_stretches(rest, chance), alike.shape)
    parts = [part for stretch in found for part in split(stretch)]
    parts = [part for part in parts if chance.excludes(alike[part[:, 0], part[:, 1]] / 255)]
    return _joined(sorted(parts, key=lambda part: (*part[0], *part[-1])))


def _without(found: list[NDArray[np.int64]], alike: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What is left to find: a path that goes on for less than a gap has cost it ends before that gap."""
    left = alike.copy()
    for pairs in found:
        left[pairs[:, 0]] = 0
        left[:, pairs[:, 1]] = 0
    return left


def _joined(parts: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Parts that follow each other in both books with a gap that `split` would leave as one."""
    joined: list[NDArray[np.int64]] = []
    for part in parts:
        steps = part[0] - joined[-1][-1] if joined else np.zeros(2)
        if steps.min() > 0 and steps.max() <= LONGEST_GAP:
            joined[-1] = np.concatenate([joined[-1], part])
        else:
            joined.append(part)
    return joined


def split(pairs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The parts of a stretch: it is cut where too many pages follow without a match."""
    return np.split(pairs, np.flatnonzero(np.diff(pairs, axis=0).max(axis=1) > LONGEST_GAP) + 1)


def _stretches(alike: NDArray[np.uint8], chance: Background) -> list[NDArray[np.int64]]:
    """Paths through pages that are alike, heaviest first, each as (pairs, 2); no two share a pair."""
    from app.core.relations.local_alignment import smith_waterman, trace_chain

    steps = np.empty_like(alike)
    limits = np.array([_STEP_COST, _DROP, _LEAST], dtype=np.float32)
    weights = chance.weights()
    room = sum(alike.shape)
    while True:
        best, ends = np.empty(room, dtype=np.float32), np.empty((room, 2), dtype=np.int64)
        count = smith_waterman(alike, weights, limits, steps, best, ends)
        if count >= 0:
            break
        room *= 4
    path = np.empty((sum(alike.shape), 2), dtype=np.int64)
    found = []
    for place in np.argsort(-best[:count], kind="stable"):
        size = trace_chain(steps, ends[place, 0], ends[place, 1], path)
        pairs = path[:size][::-1]
        pairs = pairs[alike[pairs[:, 0], pairs[:, 1]] > chance.threshold * 255]
        if pairs.size:
            found.append(pairs)
    return found


def _untangled(stretches: list[NDArray[np.int64]], shape: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Without what lies mostly beside a heavier stretch on the same pages."""
    used = np.zeros(shape[0], dtype=np.bool_), np.zeros(shape[1], dtype=np.bool_)
    kept = []
    for pairs in stretches:
        taken = used[0][pairs[:, 0]] | used[1][pairs[:, 1]]
        pairs = pairs[~taken]
        if pairs.size and 2 * taken.sum() < taken.size:
            kept.append(pairs)
            for side in (0, 1):
                used[side][pairs[:, side]] = True
    return kept
