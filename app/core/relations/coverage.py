"""How much of each page is found in the other book, and whether on one page with the same breaks."""

import numpy as np
from numpy.typing import NDArray

from app.core.relations.background import ENOUGH, Background

SAME_BREAKS = 0.75
"""Two pages have the same breaks where so much of what is found of either is found on the other."""

_MOSTLY = 0.7
"""Pairs that must agree to say how alike equal pages are."""

_AS_ALIKE = 0.85
"""A pair is as alike as another where it reaches this share of its similarity."""

_LEAST_TYPICAL = 0.3
"""So much is found of equal pages however badly they are read: what is less alike shares formulas."""

_NOTABLE = 0.06
"""Neighbouring pages of one book are alike where they are so much more so than any two."""

_WHOLE = 0.75
"""A page found to this extent is found: the rest is noise."""


def page_coverage(
    pairs: NDArray[np.int64],
    alike: NDArray[np.uint8],
    chance: Background,
    lengths: tuple[NDArray[np.int64], NDArray[np.int64]],
    kinship: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], float]:
    """How much of each page is found in the other book, (pages,) each, and of that on one page, (pairs,);
    last, how much of a typical page is found before what noise hides is allowed for.

    The text that two pages of lengths a and b share is J (a + b) / (1 + J). OCR noise hides some of it, as
    much as on a typical page of the pair. Chance is taken off without cutting at zero, so that it leaves no
    bias in the sums; so is what a page has in common with its neighbours in its own book, as formulas are:
    `kinship` tells how alike each page and the next one are, (pages - 1,).
    """
    shares = [np.zeros(each.size) for each in lengths]
    if not len(pairs):
        return shares, np.zeros(0), 0.0
    cells, places = _cells(pairs, alike.shape)
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
    whole = max(typical, _LEAST_TYPICAL)
    most = np.minimum(1, whole / _WHOLE / np.maximum(np.maximum(found[0][i], found[1][j]), 1e-9))
    for side, place in ((0, i), (1, j)):
        given = np.bincount(place, weights=shared * most, minlength=lengths[side].size)
        share = np.clip(given / np.maximum(lengths[side], 1) / whole, 0, 1)
        shares[side] = np.where(share >= _WHOLE, 1, share)
    on_one = np.clip(shared / np.maximum(np.maximum(sums[0][i], sums[1][j]), 1e-9), 0, 1)
    agreement = _smoothed(cells, on_one, _window(chance))[places]
    _recognise(pairs, alike[pairs[:, 0], pairs[:, 1]] / 255, shares, agreement)
    return shares, agreement, float(np.clip(typical, 0, 1))


def _cells(pairs: NDArray[np.int64], shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs and those beside them in either book, each once (n, 2), and where the pairs are there."""
    width = shape[1] + 2
    codes = (pairs[:, 0] + 1) * width + pairs[:, 1] + 1
    around = np.unique(np.concatenate([codes + step for step in (0, 1, -1, width, -width)]))
    rows, columns = around // width - 1, around % width - 1
    inside = (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    return np.stack([rows, columns], axis=1)[inside], np.searchsorted(around[inside], codes)


def _recognise(
    pairs: NDArray[np.int64],
    similarities: NDArray[np.float64],
    shares: list[NDArray[np.float64]],
    agreement: NDArray[np.float64],
) -> None:
    """Where most pages keep their breaks, a pair as alike as those that do is one of them.

    So a page is known again although its neighbours say much the same, as formulas and refrains do.
    """
    agree = agreement >= SAME_BREAKS
    if agree.mean() < _MOSTLY:
        return
    alikeness = np.minimum(similarities / np.median(similarities[agree]), 1)
    known = alikeness >= _AS_ALIKE
    agreement[known] = np.maximum(agreement[known], alikeness[known])
    for side in (0, 1):
        np.maximum.at(shares[side], pairs[agree | known, side], alikeness[agree | known])


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


def _usual(alike: NDArray[np.uint8], side: int, chance: Background) -> NDArray[np.float64]:
    """The similarity of each page to any page of the other book, which a running head raises."""
    others = alike.shape[1 - side]
    if others < ENOUGH:
        return np.full(alike.shape[side], chance.median)
    sample = np.unique(np.linspace(0, others - 1, 64).astype(np.int64))
    some = alike[:, sample] if side == 0 else np.ascontiguousarray(alike[sample].T)
    # numpy selects among floats four times as fast as among bytes.
    medians = np.partition(some.astype(np.float32), sample.size // 2, axis=1)[:, sample.size // 2]
    usual: NDArray[np.float64] = np.maximum(medians.astype(np.float64) / 255, chance.median)
    return usual


def _window(chance: Background) -> int:
    """Over how many pages agreement is averaged: the noisier the text, the more."""
    return 1 if chance.typical >= 0.5 else 3 if chance.typical >= 0.3 else 5


def _smoothed(cells: NDArray[np.int64], values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The mean over `window` cells that follow each other on the diagonal, as far as these are among them."""
    if window == 1:
        return values
    width = int(cells[:, 1].max()) + 2 * window
    codes = cells[:, 0] * width + cells[:, 1]
    total, count = values.copy(), np.ones(values.size)
    for step in range(-(window // 2), window // 2 + 1):
        wanted = codes + step * (width + 1)
        place = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
        near = (codes[place] == wanted) & (step != 0)
        total += np.where(near, values[place], 0)
        count += near
    means: NDArray[np.float64] = total / count
    return means
