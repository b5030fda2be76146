"""The background of two books: the similarities of their unrelated pages and of their equal pages.

Unrelated pages of one language share .03 to .05 of their bins. Two readings of a page share .82, .41 and .21
at 1, 5 and 10 % CER on both sides; half a page shares half as much. The two books themselves therefore set
the threshold. It is at least the similarity of the best unrelated pages, which formulas raise.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

ENOUGH = 8
"""Minimum number of pages of either book for an estimate of the similarity of unrelated pages."""

_MEDIAN = 0.04  # similarity of unrelated pages, for books too short for an estimate
_SPREAD = 0.011  # median deviation from `_MEDIAN`
_LEAST_ALIKE = 0.07  # minimum threshold of similar pages, unless equal pages are faint

FAINT = 0.3
"""Similarity of equal pages below which they are faint: so badly read that chance may hide one."""

_SAMPLE = 16_000  # approximate number of page pairs in the estimate

_CERTAIN = 7.0
"""Minimum excess of a whole run over the best unrelated pages, in standard deviations."""

_SIGMA = 1.4826  # ratio of the standard deviation to the median deviation


@dataclass(frozen=True, slots=True)
class Background:
    """Similarities of the pages of two books, each 0 to 1."""

    median: float  # of unrelated pages
    best: float  # of a page and its most similar unrelated page
    spread: float  # standard deviation of `best`
    threshold: float  # similarity above which pages are alike
    typical: float  # of equal pages
    faint: bool  # whether equal pages are known to be badly read, so that chance may hide one

    def weights(self) -> NDArray[np.float32]:
        """Return the alignment weight of each similarity 0 to 255, (256,): 1 for typical equal pages."""
        scale = np.arange(256) / 255
        return np.clip((scale - self.threshold) / (self.typical - self.threshold), -0.5, 1).astype(np.float32)

    def excludes(self, similarities: NDArray[np.float64]) -> bool:
        """Return whether pages with these similarities, 0 to 1, cannot all be unrelated."""
        excess = (similarities - self.best).sum() / (self.spread * np.sqrt(similarities.size))
        return bool(excess >= _CERTAIN)


def estimate_background(
    similarities: NDArray[np.uint8],
    left_lengths: NDArray[np.int64],
    right_lengths: NDArray[np.int64],
    *,
    faint: bool = False,
) -> Background:
    """Estimate the background from all pages' similarities (left, right), 0 to 255; length 0 is a blank page.

    With `faint`, for equal pages known to be badly read, the threshold has no fixed minimum.
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
        # A page of the left book is related to all pages of the right book that its text may cross.
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
