"""What similarity unrelated pages of two books have, and what equal ones.

Unrelated pages of one language share some .03 to .05 of their bins, the same page .82, .41 and .21 at 1, 5
and 10 % CER on both sides, half a page half of that; so what counts as alike is judged from the pair of books
itself. Books full of formulas have pages more alike than chance makes them, so what counts is how alike the
best of unrelated pages are.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

ENOUGH = 8
"""Pages that a book must have to show what chance makes alike."""

_CHANCE = 0.04
"""Similarity of unrelated pages, where two books are too short to show it."""

_SPREAD = 0.011
"""Median deviation from it."""

_LEAST_ALIKE = 0.07
"""Less never makes pages alike."""

_SAMPLE = 16_000
"""Pairs of pages from which chance is judged, about."""

_CERTAIN = 7.0
"""How many standard deviations a run must lie above the best of unrelated pages, all its pages together."""

_SIGMA = 1.4826
"""Standard deviations in a median deviation."""


@dataclass(frozen=True, slots=True)
class Background:
    """What similarity unrelated pages of two books have, and what equal ones."""

    median: float
    best: float  # similarity of a page to the most alike of the pages unrelated to it
    spread: float  # standard deviation of that
    threshold: float  # pages above it are alike
    typical: float  # similarity of equal pages in this pair of books

    def weights(self) -> NDArray[np.float32]:
        """What a pair of pages of each similarity, 0 to 255, adds to a stretch: 1 for a typical match."""
        scale = np.arange(256) / 255
        return np.clip((scale - self.threshold) / (self.typical - self.threshold), -0.5, 1).astype(np.float32)

    def excludes(self, similarities: NDArray[np.float64]) -> bool:
        """Whether pages so alike cannot be unrelated."""
        excess = (similarities - self.best).sum() / (self.spread * np.sqrt(similarities.size))
        return bool(excess >= _CERTAIN)


def estimate_background(
    alike: NDArray[np.uint8], left_lengths: NDArray[np.int64], right_lengths: NDArray[np.int64]
) -> Background:
    """From the similarities of all pages, 0 to 255, and the pages' lengths; blank ones have none."""
    rows, columns = np.flatnonzero(left_lengths), np.flatnonzero(right_lengths)
    if min(rows.size, columns.size) < ENOUGH:
        median, spread, best, around = _CHANCE, _SPREAD, _LEAST_ALIKE, _SPREAD
    else:
        length = left_lengths[rows].mean() / right_lengths[columns].mean()
        wanted = max(_SAMPLE // columns.size, ENOUGH)
        rows = rows[np.linspace(0, rows.size - 1, min(wanted, rows.size)).astype(np.int64)]
        some = alike[np.ix_(rows, columns)]
        counts = np.bincount(some.ravel(), minlength=256)
        middle = _quantile(counts, 0.5)
        away = np.bincount(np.abs(np.arange(256) - middle), weights=counts)
        median, spread = middle / 255, _quantile(away, 0.5) / 255
        # As many pages of the right book as one of the left may lie across are no strangers to it.
        known = min(2 + ceil(length), columns.size // 2)
        bests = np.partition(some.astype(np.float32), -known - 1, axis=1)[:, -known - 1] / 255
        best = float(np.median(bests))
        around = float(np.median(np.abs(bests - best)))
    around = max(_SIGMA * around, np.sqrt(max(median, 0.01) / 128))
    threshold = max(_LEAST_ALIKE, median + 4 * max(spread, 1 / 255), best)
    tops = np.concatenate([alike.max(axis=side, initial=0) for side in (0, 1)]) / 255
    tops = tops[tops > threshold + 0.02]
    typical = float(np.median(tops)) if tops.size else threshold
    return Background(median, best, around, threshold, max(typical, threshold + 0.05))


def _quantile(counts: NDArray[np.generic], share: float) -> int:
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
