"""Which pages of two books say the same: similarities of pages, local alignment, runs.

Pages are alike by the share of equal bins of their signatures. Unrelated pages of one language share some
.03 to .05 of them, the same page .82, .41 and .21 at 1, 5 and 10 % CER on both sides, half a page half of
that; so what counts as alike is judged from the pair of books itself. Local alignment (`app.core.chains`)
then finds the stretches in which pages follow each other in both books, whatever was inserted, lost, bound
elsewhere or paginated anew.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.core import chains
from app.core.backend import kernels
from app.core.model import PageSignatures, require_same_recipe

Unit = Literal["page", "window"]

LEAST_BINS = 24
"""Pages with fewer filled bins in common are too short to tell."""

_LEAST_TEXT = 24
"""A page with fewer filled bins counts as blank."""

_CHANCE = 0.04
"""Similarity of unrelated pages, where two books are too short to show it."""

_SPREAD = 0.011
"""Median deviation from it."""

_LEAST_ALIKE = 0.07
"""Less never makes pages alike."""

_SAMPLE = 200_000
"""Pairs of pages from which chance is judged, at most."""

_STEP_COST = 0.15
"""Of a step in one book alone, in units of a typical pair of equal pages."""

_DROP = 3.0
"""A stretch ends where it has lost so much, in the same unit."""

_LONGEST_GAP = 8
"""Runs end where more pages than this follow without a match."""

_CERTAIN = 7.0
"""How many standard deviations above chance the similarity of a run must lie, all its pages together."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A stretch of pages in one book that matches one in the other."""

    left: tuple[int, int]  # first page and the one after the last
    right: tuple[int, int]
    pairs: NDArray[np.int64]  # (pairs, 2) pages that match, ascending in both
    similarities: NDArray[np.float64]  # (pairs,) 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """How the pages of two books match."""

    unit: Unit  # window: the pages of at least one book are not known
    runs: tuple[Run, ...]  # in the order of the left book
    left_shares: NDArray[np.float64]  # (pages,) how much of each page is found in the other book, 0 to 1
    right_shares: NDArray[np.float64]
    left_agreement: NDArray[np.float64]  # (pages,) how much of what is found lies on one page with the same breaks
    right_agreement: NDArray[np.float64]
    left_lengths: NDArray[np.int64]  # (pages,) code points; 0 for pages with too little text to tell
    right_lengths: NDArray[np.int64]


def align(left: PageSignatures, right: PageSignatures) -> Alignment:
    """The matching pages of two books; raises `RecipeMismatch`.

    330 pages against 330 take some milliseconds and 200 KB; time and memory grow with the product of the
    page counts, at two bytes for each two pages.
    """
    require_same_recipe(left.recipe, right.recipe)
    alike = np.zeros((len(left.values), len(right.values)), dtype=np.uint8)
    kernels().page_similarities(left.values, right.values, LEAST_BINS, alike)
    chance = _chance(alike, left, right)
    found = _untangled(_stretches(alike, chance), alike.shape)
    runs = [run for stretch in found for run in _split(stretch, alike) if chance.excludes(run.similarities)]
    runs.sort(key=lambda run: (run.left, run.right))
    lengths = _text_lengths(left), _text_lengths(right)
    shares, agreement = _shares(runs, alike, chance, *lengths)
    return Alignment(
        unit="page" if left.unit == right.unit == "page" else "window",
        runs=tuple(runs),
        left_shares=shares[0],
        right_shares=shares[1],
        left_agreement=agreement[0],
        right_agreement=agreement[1],
        left_lengths=lengths[0],
        right_lengths=lengths[1],
    )


@dataclass(frozen=True, slots=True)
class _Chance:
    """What similarity unrelated pages of two books have, and what equal ones."""

    median: float
    threshold: float  # pages above it are alike
    typical: float  # similarity of equal pages in this pair of books

    def weights(self) -> NDArray[np.float32]:
        """What a pair of pages of each similarity, 0 to 255, adds to a stretch: 1 for a typical match."""
        scale = np.arange(256) / 255
        return np.clip((scale - self.threshold) / (self.typical - self.threshold), -0.5, 1).astype(np.float32)

    def excludes(self, similarities: NDArray[np.float64]) -> bool:
        """Whether pages so alike cannot be unrelated."""
        deviation = np.sqrt(self.median * (1 - self.median) / 128)
        excess = (similarities - self.median).sum() / (deviation * np.sqrt(similarities.size))
        return bool(excess >= _CERTAIN)

    @property
    def noticeable(self) -> float:
        """Less similarity says nothing about a single pair of pages."""
        return self.median + 2 * float(np.sqrt(self.median * (1 - self.median) / 128))

    def above(self, similarities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Jaccard similarity with chance taken off, 0 to 1."""
        return np.clip((similarities - self.median) / (1 - self.median), 0, 1)


def _chance(alike: NDArray[np.uint8], left: PageSignatures, right: PageSignatures) -> _Chance:
    rows = np.flatnonzero(_text_lengths(left))
    columns = np.flatnonzero(_text_lengths(right))
    if min(rows.size, columns.size) < 8:
        median, spread = _CHANCE, _SPREAD
        sample = alike
    else:
        wanted = max(_SAMPLE // columns.size, 8)
        rows = rows[np.linspace(0, rows.size - 1, min(wanted, rows.size)).astype(np.int64)]
        sample = alike[np.ix_(rows, columns)]
        counts = np.bincount(sample.ravel(), minlength=256)
        median = _quantile(counts, 0.5) / 255
        spread = _quantile(np.bincount(np.abs(sample.ravel() - np.int16(round(median * 255)))), 0.5) / 255
    threshold = max(_LEAST_ALIKE, median + 4 * max(spread, 1 / 255))
    tops = sample.max(axis=1, initial=0) / 255
    tops = tops[tops > threshold + 0.02]
    typical = float(np.median(tops)) if tops.size else threshold
    return _Chance(median, threshold, max(typical, threshold + 0.05))


def _quantile(counts: NDArray[np.int64], share: float) -> int:
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))


def _text_lengths(pages: PageSignatures) -> NDArray[np.int64]:
    filled = np.count_nonzero(pages.values, axis=1)
    return np.where(filled >= _LEAST_TEXT, pages.lengths, 0).astype(np.int64)


def _stretches(alike: NDArray[np.uint8], chance: _Chance) -> list[NDArray[np.int64]]:
    """Paths through pages that are alike, heaviest first, each as (pairs, 2); no two cross a pair."""
    steps = np.zeros_like(alike)
    weights = chance.weights()
    scores, ends = kernels().find_chains(alike, weights, _STEP_COST, _DROP, 0.5, steps)
    found = []
    for place in np.argsort(-scores, kind="stable"):
        path = []
        i, j = (int(at) for at in ends[place])
        while True:
            step = int(steps[i, j])
            if step == _USED:
                break
            path.append((i, j))
            steps[i, j] = _USED
            if step == chains.STOP:
                break
            i, j = i - (step != chains.RIGHT), j - (step != chains.LEFT)
        if path:
            pairs = np.array(path[::-1], dtype=np.int64)
            linked = alike[pairs[:, 0], pairs[:, 1]] > chance.threshold * 255
            if linked.any():
                found.append(pairs[linked])
    return found


_USED = 255


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


def _split(pairs: NDArray[np.int64], alike: NDArray[np.uint8]) -> list[Run]:
    """The runs of a stretch: it is cut where too many pages follow without a match."""
    cuts = np.flatnonzero(np.diff(pairs, axis=0).max(axis=1) > _LONGEST_GAP) + 1
    return [
        Run(
            left=(int(part[0, 0]), int(part[-1, 0]) + 1),
            right=(int(part[0, 1]), int(part[-1, 1]) + 1),
            pairs=part,
            similarities=alike[part[:, 0], part[:, 1]] / 255,
        )
        for part in np.split(pairs, cuts)
    ]


_NEIGHBOURS = np.array([(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)], dtype=np.int64)


def _shares(
    runs: list[Run],
    alike: NDArray[np.uint8],
    chance: _Chance,
    left_lengths: NDArray[np.int64],
    right_lengths: NDArray[np.int64],
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """How much of each page is found in the other book, and how much of that on one page alone.

    The text that two pages of lengths a and b share is J (a + b) / (1 + J). OCR noise hides some of it, as
    much as on a typical page of the pair.
    """
    nothing = tuple(np.zeros(lengths.size) for lengths in (left_lengths, right_lengths))
    if not runs:
        return (nothing[0], nothing[1]), (nothing[0].copy(), nothing[1].copy())
    pairs = np.concatenate([run.pairs for run in runs])
    cells = np.unique((pairs[:, None, :] + _NEIGHBOURS).reshape(-1, 2), axis=0)
    cells = cells[((cells >= 0) & (cells < alike.shape)).all(axis=1)]
    i, j = cells.T
    jaccard = chance.above(alike[i, j] / 255)
    jaccard[alike[i, j] < chance.noticeable * 255] = 0
    shared = jaccard * (left_lengths[i] + right_lengths[j]) / (1 + jaccard)
    sums = (
        np.bincount(i, weights=shared, minlength=left_lengths.size),
        np.bincount(j, weights=shared, minlength=right_lengths.size),
    )
    found = [
        total / np.maximum(lengths, 1)
        for total, lengths in zip(sums, (left_lengths, right_lengths), strict=True)
    ]
    typical = float(np.median(np.concatenate([found[0][pairs[:, 0]], found[1][pairs[:, 1]]])))
    shares = [np.minimum(each / max(typical, 1e-9), 1) for each in found]
    on_one = shared / np.maximum(np.maximum(sums[0][i], sums[1][j]), 1e-9)
    agreement = nothing[0].copy(), nothing[1].copy()
    np.maximum.at(agreement[0], i, on_one)
    np.maximum.at(agreement[1], j, on_one)
    return (shares[0], shares[1]), agreement
