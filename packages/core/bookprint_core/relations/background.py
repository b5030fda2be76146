"""The background of two books: how alike their unrelated pages are, and their equal ones.

Unrelated pages of one language share .03 to .05 of their bins. The same page shares .82, .41 and .21 at 1, 5
and 10 % CER on both sides, half a page half of that. So the pair of books itself shows what counts as alike.
Books full of formulas have pages more alike than that: what counts is the best of the unrelated pages.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

ENOUGH = 8
"""Pages that a book must have to show how alike unrelated ones are."""

_MEDIAN = 0.04  # similarity of unrelated pages, where two books are too short to show it
_SPREAD = 0.011  # median deviation from it
_LEAST_ALIKE = 0.07  # less never makes pages alike, unless equal pages are faint

FAINT = 0.3
"""Similarity of equal pages below which they are faint: so badly read that chance may hide one."""

_SAMPLE = 16_000  # pairs of pages that are looked at, about

_CERTAIN = 7.0
"""Standard deviations by which a run must lie above the best of unrelated pages, all its pages together."""

_SIGMA = 1.4826  # standard deviations in a median deviation


@dataclass(frozen=True, slots=True)
class Background:
    """Similarities of the pages of two books, each 0 to 1."""

    median: float  # of unrelated pages
    best: float  # of a page and the most alike of the pages unrelated to it
    spread: float  # standard deviation of `best`
    threshold: float  # pages above it are alike
    typical: float  # of equal pages
    faint: bool  # equal pages are known to be badly read, so that chance may hide one

    def weights(self) -> NDArray[np.float32]:
        """The weight in a local alignment of each similarity, 0 to 255: 1 for typical equal pages; (256,)."""
        scale = np.arange(256) / 255
        return np.clip((scale - self.threshold) / (self.typical - self.threshold), -0.5, 1).astype(np.float32)

    def excludes(self, similarities: NDArray[np.float64]) -> bool:
        """Whether pages with these similarities, 0 to 1, cannot all be unrelated."""
        excess = (similarities - self.best).sum() / (self.spread * np.sqrt(similarities.size))
        return bool(excess >= _CERTAIN)


def estimate_background(
    similarities: NDArray[np.uint8],
    left_lengths: NDArray[np.int64],
    right_lengths: NDArray[np.int64],
    *,
    faint: bool = False,
) -> Background:
    """The background of all pages' similarities (left, right), 0 to 255; pages of length 0 are blank.

    `faint` says that equal pages are known to be badly read: the pair then shows alone what is alike.
    """
    rows, columns = np.flatnonzero(left_lengths), np.flatnonzero(right_lengths)
    if min(rows.size, columns.size) < ENOUGH:
        median, spread, best, deviation = _MEDIAN, _SPREAD, _LEAST_ALIKE, _SPREAD
    else:
        length_ratio = left_lengths[rows].mean() / right_lengths[columns].mean()
        wanted = max(_SAMPLE // columns.size, ENOUGH)
        rows = rows[np.linspace(0, rows.size - 1, min(wanted, rows.size)).astype(np.int64)]
        sample = similarities[np.ix_(rows, columns)]
        counts = np.bincount(sample.ravel(), minlength=256)
        middle = _quantile(counts, 0.5)
        deviations = np.bincount(np.abs(np.arange(256) - middle), weights=counts)
        median, spread = middle / 255, _quantile(deviations, 0.5) / 255
        # As many pages of the right book as one of the left may lie across are related to it.
        related = min(2 + ceil(length_ratio), columns.size // 2)
        bests = np.partition(sample.astype(np.float32), -related - 1, axis=1)[:, -related - 1] / 255
        best = float(np.median(bests))
        deviation = float(np.median(np.abs(bests - best)))
    deviation = max(_SIGMA * deviation, np.sqrt(max(median, 0.01) / 128))
    threshold = max(0 if faint else _LEAST_ALIKE, median + 4 * max(spread, 1 / 255), best)
    tops = np.concatenate([similarities.max(axis=side, initial=0) for side in (0, 1)]) / 255
    tops = tops[tops > threshold + 0.02]
    typical = float(np.median(tops)) if tops.size else threshold
    return Background(median, best, deviation, threshold, max(typical, threshold + 0.05), faint)


def _quantile(counts: NDArray[np.generic], share: float) -> int:
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
