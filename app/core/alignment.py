"""Which pages of two books say the same: similarities of pages, local alignment, runs.

Pages are alike by the share of equal bins of their signatures. Unrelated pages of one language share some
.03 to .05 of them, the same page .82, .41 and .21 at 1, 5 and 10 % CER on both sides, half a page half of
that; so what counts as alike is judged from the pair of books itself. Local alignment (`app.core.chains`)
then finds the stretches in which pages follow each other in both books, whatever was inserted, lost, bound
elsewhere or paginated anew.
"""

from collections.abc import Mapping
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

_LEAST_TEXT = 50
"""A page with fewer code points counts as blank."""

_CHANCE = 0.04
"""Similarity of unrelated pages, where two books are too short to show it."""

_ENOUGH = 8
"""Pages that a book must have to show it."""

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

_FARTHEST_AGAIN = 4
"""A page may be scanned again so many pages later."""

_CERTAIN = 7.0
"""How many standard deviations above chance the similarity of a run must lie, all its pages together."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A stretch of pages in one book that matches one in the other."""

    left: tuple[int, int]  # first page and the one after the last
    right: tuple[int, int]
    pairs: NDArray[np.int64]  # (pairs, 2) pages that match, ascending in both
    similarities: NDArray[np.float64]  # (pairs,) 0 to 1
    agreement: NDArray[np.float64]  # (pairs,) how much of what is found of both pages they find in each other


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """How the pages of two books match."""

    unit: Unit  # window: the pages of at least one book are not known
    runs: tuple[Run, ...]  # in the order of the left book
    left_shares: NDArray[np.float64]  # (pages,) how much of each page is found in the other book, 0 to 1
    right_shares: NDArray[np.float64]
    left_lengths: NDArray[
        np.int64
    ]  # (pages,) code points; 0 for pages with too little text, or scanned before
    right_lengths: NDArray[np.int64]


def align(left: PageSignatures, right: PageSignatures) -> Alignment:
    """The matching pages of two books; raises `RecipeMismatch`.

    330 pages against 330 take some milliseconds and 200 KB; time and memory grow with the product of the
    page counts, at two bytes for each two pages.
    """
    require_same_recipe(left.recipe, right.recipe)
    alike = np.zeros((len(left.values), len(right.values)), dtype=np.uint8)
    kernels().page_similarities(left.values, right.values, LEAST_BINS, alike)
    lengths = _text_lengths(left), _text_lengths(right)
    chance = _chance(alike, *lengths)
    for side, pages in enumerate((left, right)):
        again = _scanned_again(pages, chance)
        lengths[side][again] = 0
        alike[(again, slice(None))[:: 1 if side == 0 else -1]] = 0
    found = _untangled(_stretches(alike, chance), alike.shape)
    parts = [part for stretch in found for part in _split(stretch)]
    parts = [part for part in parts if chance.excludes(_similarities(alike, part))]
    parts.sort(key=lambda part: (*part[0], *part[-1]))
    kinship = _neighbours_alike(left), _neighbours_alike(right)
    shares, agreement = _shares(parts, alike, chance, lengths, kinship)
    return Alignment(
        unit="page" if left.unit == right.unit == "page" else "window",
        runs=tuple(_run(part, alike, agreement) for part in parts),
        left_shares=shares[0],
        right_shares=shares[1],
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
        deviation = np.sqrt(max(self.median, 0.01) / 128)
        excess = (similarities - self.median).sum() / (deviation * np.sqrt(similarities.size))
        return bool(excess >= _CERTAIN)


def _chance(
    alike: NDArray[np.uint8], left_lengths: NDArray[np.int64], right_lengths: NDArray[np.int64]
) -> _Chance:
    rows, columns = np.flatnonzero(left_lengths), np.flatnonzero(right_lengths)
    if min(rows.size, columns.size) < _ENOUGH:
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
    return np.where(pages.lengths >= _LEAST_TEXT, pages.lengths, 0).astype(np.int64)


def _scanned_again(pages: PageSignatures, chance: _Chance) -> NDArray[np.bool_]:
    """Which pages repeat one of the few before them."""
    least = max(0.75 * chance.typical, chance.threshold)
    lengths = pages.lengths.astype(np.int64)
    again = np.zeros(len(pages.values), dtype=np.bool_)
    for back in range(1, min(_FARTHEST_AGAIN, again.size - 1) + 1):
        equal, common = _equal_bins(pages, back)
        alike = (equal >= least * common) & (common >= LEAST_BINS)
        again[back:] |= alike & (np.abs(lengths[back:] - lengths[:-back]) <= 10 + lengths[back:] // 32)
    return again


def _equal_bins(pages: PageSignatures, back: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many bins each page and the one so many before it fill equally, and how many they both fill."""
    one, other = pages.values[back:], pages.values[:-back]
    both = (one != 0) & (other != 0)
    return np.count_nonzero(both & (one == other), axis=1), np.count_nonzero(both, axis=1)


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


def _split(pairs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The parts of a stretch: it is cut where too many pages follow without a match."""
    return np.split(pairs, np.flatnonzero(np.diff(pairs, axis=0).max(axis=1) > _LONGEST_GAP) + 1)


def _similarities(alike: NDArray[np.uint8], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    return alike[pairs[:, 0], pairs[:, 1]] / 255


def _run(
    pairs: NDArray[np.int64], alike: NDArray[np.uint8], agreement: Mapping[tuple[int, int], float]
) -> Run:
    return Run(
        left=(int(pairs[0, 0]), int(pairs[-1, 0]) + 1),
        right=(int(pairs[0, 1]), int(pairs[-1, 1]) + 1),
        pairs=pairs,
        similarities=_similarities(alike, pairs),
        agreement=np.array([agreement[i, j] for i, j in pairs.tolist()]),
    )


SAME_BREAKS = 0.75
"""Two pages have the same breaks where so much of what is found of either is found on the other."""

_MOSTLY = 0.7
"""Pairs that must agree to say how alike equal pages are."""

_AS_ALIKE = 0.85
"""A pair is as alike as another where it reaches this share of its similarity."""

_NEIGHBOURS = np.array([(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)], dtype=np.int64)

_NOTABLE = 0.06
"""Neighbouring pages of one book are alike where they are so much more so than any two."""

_WHOLE = 0.75
"""A page found to this extent is found: the rest is noise."""


def _shares(
    parts: list[NDArray[np.int64]],
    alike: NDArray[np.uint8],
    chance: _Chance,
    lengths: tuple[NDArray[np.int64], NDArray[np.int64]],
    kinship: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[list[NDArray[np.float64]], dict[tuple[int, int], float]]:
    """How much of each page is found in the other book, and how much of that on one page, for each pair.

    The text that two pages of lengths a and b share is J (a + b) / (1 + J). OCR noise hides some of it, as
    much as on a typical page of the pair. Chance is taken off without cutting at zero, so that it leaves no
    bias in the sums; so is what a page has in common with its neighbours in its own book, as formulas are.
    """
    shares = [np.zeros(each.size) for each in lengths]
    if not parts:
        return shares, {}
    pairs = np.concatenate(parts)
    cells = np.unique((pairs[:, None, :] + _NEIGHBOURS).reshape(-1, 2), axis=0)
    cells = cells[((cells >= 0) & (cells < alike.shape)).all(axis=1)]
    i, j = cells.T
    usual = np.maximum(_usual(alike, 0, chance)[i], _usual(alike, 1, chance)[j])
    repeated = _repeated(alike, cells, kinship)
    repeats = repeated > usual + _NOTABLE
    jaccard = (alike[i, j] / 255 - usual) / (1 - usual)
    jaccard[repeats] = np.maximum(alike[i, j] / 255 - repeated, 0)[repeats]
    shorter, longer = np.minimum(lengths[0][i], lengths[1][j]), np.maximum(lengths[0][i], lengths[1][j])
    share = jaccard * (shorter + longer) / (1 + np.maximum(jaccard, 0))
    shared = np.minimum(np.where(jaccard > 0, share, 2 * jaccard * shorter), shorter)
    sums = [
        np.bincount(place, weights=shared, minlength=each.size)
        for place, each in zip((i, j), lengths, strict=True)
    ]
    found = [total / np.maximum(each, 1) for total, each in zip(sums, lengths, strict=True)]
    typical = float(np.median(np.concatenate([found[side][pairs[:, side]] for side in (0, 1)])))
    for side in (0, 1):
        share = np.clip(found[side] / max(typical, 1e-9), 0, 1)
        shares[side] = np.where(share >= _WHOLE, 1, share)
    on_one = shared / np.maximum(np.maximum(sums[0][i], sums[1][j]), 1e-9)
    on_one = _smoothed(cells, np.clip(on_one, 0, 1), _window(chance))
    agreement = dict(zip(map(tuple, cells.tolist()), on_one.tolist(), strict=True))
    _recognise(pairs, _similarities(alike, pairs), shares, agreement)
    return shares, agreement


def _recognise(
    pairs: NDArray[np.int64],
    similarities: NDArray[np.float64],
    shares: list[NDArray[np.float64]],
    agreement: dict[tuple[int, int], float],
) -> None:
    """Where most pages keep their breaks, a pair as alike as those that do is one of them.

    So a page is known again although its neighbours say much the same, as formulas and refrains do.
    """
    agree = np.array([agreement[i, j] >= SAME_BREAKS for i, j in pairs.tolist()])
    if agree.mean() < _MOSTLY:
        return
    alikeness = np.minimum(similarities / np.median(similarities[agree]), 1)
    for side in (0, 1):
        np.maximum.at(shares[side], pairs[agree, side], alikeness[agree])
    for (i, j), alike in zip(pairs.tolist(), alikeness.tolist(), strict=True):
        if alike >= _AS_ALIKE:
            agreement[i, j] = max(agreement[i, j], alike)
            shares[0][i] = max(shares[0][i], alike)
            shares[1][j] = max(shares[1][j], alike)


def _neighbours_alike(pages: PageSignatures) -> NDArray[np.float64]:
    """How alike each page and the next one are, 0 to 1: (pages - 1,)."""
    equal, common = _equal_bins(pages, 1)
    return np.where(common >= LEAST_BINS, equal / np.maximum(common, 1), 0)


def _repeated(
    alike: NDArray[np.uint8],
    cells: NDArray[np.int64],
    kinship: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """For each pair of pages beside a far better one: how alike that page and its neighbour are anyway."""
    here = alike[cells[:, 0], cells[:, 1]]
    repeated = np.zeros(len(cells))
    for side in (0, 1):
        for step in (-1, 1):
            beside = cells.copy()
            beside[:, side] += step
            inside = (beside[:, side] >= 0) & (beside[:, side] < alike.shape[side])
            beside[~inside] = cells[~inside]
            better = 2 * alike[beside[:, 0], beside[:, 1]].astype(np.int64) > 3 * here.astype(np.int64)
            first = np.minimum(beside[:, side], cells[:, side])
            repeated[better] = np.maximum(repeated[better], kinship[side][first[better]])
    return repeated


def _usual(alike: NDArray[np.uint8], side: int, chance: _Chance) -> NDArray[np.float64]:
    """The similarity of each page to any page of the other book, which a running head raises."""
    others = alike.shape[1 - side]
    if others < _ENOUGH:
        return np.full(alike.shape[side], chance.median)
    sample = np.unique(np.linspace(0, others - 1, 64).astype(np.int64))
    medians = np.median(alike[:, sample] if side == 0 else alike[sample], axis=1 - side) / 255
    usual: NDArray[np.float64] = np.maximum(medians, chance.median)
    return usual


def _window(chance: _Chance) -> int:
    """Over how many pages agreement is averaged: the noisier the text, the more."""
    return 1 if chance.typical >= 0.5 else 3 if chance.typical >= 0.3 else 5


def _smoothed(cells: NDArray[np.int64], values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The mean over `window` cells that follow each other on the diagonal, as far as these are among them."""
    order = np.lexsort((cells[:, 0], cells[:, 1] - cells[:, 0]))
    place, diagonal, value = cells[order, 0], (cells[:, 1] - cells[:, 0])[order], values[order]
    total, count = value.copy(), np.ones(value.size)
    for step in range(1, window // 2 + 1):
        near = place[step:] - place[:-step] <= step
        near &= diagonal[step:] == diagonal[:-step]
        total[step:] += np.where(near, value[:-step], 0)
        count[step:] += near
        total[:-step] += np.where(near, value[step:], 0)
        count[:-step] += near
    smoothed = np.empty_like(value)
    smoothed[order] = total / count
    return smoothed
