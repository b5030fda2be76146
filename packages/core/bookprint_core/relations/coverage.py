"""Coverage: how much of each page of a book the other book has, and whether on one page with the same breaks.

Ours. The text that two pages of lengths a and b share is J (a + b) / (1 + J). J is the Jaccard similarity
that their signatures estimate (Broder 1997). From J is taken what any two pages share, without cutting at
zero, so that it leaves no bias in the sums. OCR noise hides some of the rest, as much as on a typical page
of the two books.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from bookprint_core.relations.background import ENOUGH, Background

SAME_BREAKS = 0.75
"""Two pages have the same breaks where so much of what is found of either is found on the other."""

_MOSTLY = 0.7  # share of the pairs with the same breaks from which on they show how alike equal pages are
_AS_ALIKE = 0.85  # a pair is as alike as another where it reaches this share of its similarity

_LEAST_TYPICAL = 0.3
"""Coverage of equal pages however badly they are read: what is less alike shares formulas."""

_LEAST_FAINT = 0.1  # the same where equal pages are faint
_ERROR = 1 / 3  # standard error, in pages, up to which the share found of one is believed
_NOTABLE = 0.06  # neighbouring pages of one book are alike where they are so much more so than any two
_WHOLE = 0.75  # a page found to this extent is found: the rest is noise

Shares = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A share of each page of the left book, and of the right one; (pages,) each."""

Lengths = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The code points of the pages of the left book, and of the right one; (pages,) each."""


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The shares of the pages of two books that are found in each other, 0 to 1."""

    shares: Shares  # of each page, that the other book has
    same_page: NDArray[np.float64]  # (pairs,) share of what is found of both pages that is found on the pair
    typical: float  # median share found of a matching page, before noise is allowed for


def page_coverage(
    pairs: NDArray[np.int64],
    similarities: NDArray[np.uint8],
    background: Background,
    lengths: Lengths,
    neighbours: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> Coverage:
    """The coverage of two books whose pages match in `pairs` (n, 2).

    `similarities` (left, right) are 0 to 255, `lengths` the code points of the left and the right pages.
    `neighbours` (pages - 1,) are the similarities, 0 to 1, of each page of a book and its next one. Text
    that a page shares with those, as formulas, is not common text.
    """
    if not len(pairs):
        return Coverage((np.zeros(lengths[0].size), np.zeros(lengths[1].size)), np.zeros(0), 0.0)
    cells, rows = _cells(pairs, similarities.shape)
    i, j = cells.T
    shared = _shared_text(cells, similarities, background, lengths, neighbours)
    sums = [
        np.bincount(pages, weights=shared, minlength=length.size)
        for pages, length in zip((i, j), lengths, strict=True)
    ]
    together = _pages_together(background)
    raw = [
        _share_of_pages(total, length, pairs[:, side], together)
        for side, (total, length) in enumerate(zip(sums, lengths, strict=True))
    ]
    typical = float(np.median(np.concatenate([raw[side][pairs[:, side]] for side in (0, 1)])))
    whole = max(typical, _LEAST_FAINT if background.faint else _LEAST_TYPICAL)
    most = np.minimum(1, whole / _WHOLE / np.maximum(np.maximum(raw[0][i], raw[1][j]), 1e-9))
    shares = []
    for side, (pages, length) in enumerate(zip((i, j), lengths, strict=True)):
        given = np.bincount(pages, weights=shared * most, minlength=length.size)
        share = np.clip(_share_of_pages(given, length, pairs[:, side], together) / whole, 0, 1)
        shares.append(np.where(share >= _WHOLE, 1, share))
    same_page = _on_one_page(cells, rows, shared, (sums[0][i], sums[1][j]), background)
    _recognise(pairs, similarities[pairs[:, 0], pairs[:, 1]] / 255, shares, same_page)
    return Coverage((shares[0], shares[1]), same_page, float(np.clip(typical, 0, 1)))


def _cells(pairs: NDArray[np.int64], shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs and those beside them in either book, each once (n, 2), and the rows of the pairs there."""
    width = shape[1] + 2
    codes = (pairs[:, 0] + 1) * width + pairs[:, 1] + 1
    around = np.unique(np.concatenate([codes + step for step in (0, 1, -1, width, -width)]))
    rows, columns = around // width - 1, around % width - 1
    inside = (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    return np.stack([rows, columns], axis=1)[inside], np.searchsorted(around[inside], codes)


def _shared_text(
    cells: NDArray[np.int64],
    similarities: NDArray[np.uint8],
    background: Background,
    lengths: Lengths,
    neighbours: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """The code points that the two pages of each cell share, (n,); below zero as often as chance has it."""
    i, j = cells.T
    similarity = similarities[i, j] / 255
    usual = np.maximum(_usual(similarities, 0, background)[i], _usual(similarities, 1, background)[j])
    repeated = _repeated(similarities, cells, neighbours)
    jaccard = (similarity - usual) / (1 - usual)
    repeats = repeated > usual + _NOTABLE
    jaccard[repeats] = np.maximum(similarity - repeated, 0)[repeats]
    shorter, longer = np.minimum(lengths[0][i], lengths[1][j]), np.maximum(lengths[0][i], lengths[1][j])
    share = jaccard * (shorter + longer) / (1 + np.maximum(jaccard, 0))
    return np.asarray(np.minimum(np.where(jaccard > 0, share, 2 * jaccard * shorter), shorter))


def _on_one_page(
    cells: NDArray[np.int64],
    rows: NDArray[np.int64],
    shared: NDArray[np.float64],
    sums: tuple[NDArray[np.float64], NDArray[np.float64]],
    background: Background,
) -> NDArray[np.float64]:
    """The share of what is found of both pages of a pair that is found on it, (pairs,).

    `rows` are the cells of the pairs, and `sums` what is found of either page of each cell. The errors of
    faint pages are so large that sums are averaged, over pairs alone, and not shares.
    """
    # Over how many pages the share on one page is averaged: the noisier the text, the more.
    window = 1 if background.typical >= 0.5 else 3 if background.typical >= 0.3 else 5
    if not background.faint:
        on_pair = np.clip(shared / np.maximum(np.maximum(*sums), 1e-9), 0, 1)
        return _smoothed(cells, on_pair, window)[rows]
    places, inverse = np.unique(rows, return_inverse=True)
    on_pair, *of_pages = (_smoothed(cells[places], each[places], window) for each in (shared, *sums))
    return np.asarray(np.clip(on_pair / np.maximum(np.maximum(*of_pages), 1e-9), 0, 1)[inverse])


def _recognise(
    pairs: NDArray[np.int64],
    similarities: NDArray[np.float64],
    shares: list[NDArray[np.float64]],
    same_page: NDArray[np.float64],
) -> None:
    """Where most pairs have the same breaks, gives these to each pair that is as alike as those.

    So a page is recognised although its neighbours say much the same, as formulas and refrains do.
    """
    same = same_page >= SAME_BREAKS
    if same.mean() < _MOSTLY:
        return
    alikeness = np.minimum(similarities / np.median(similarities[same]), 1)
    recognised = alikeness >= _AS_ALIKE
    same_page[recognised] = np.maximum(same_page[recognised], alikeness[recognised])
    for side in (0, 1):
        np.maximum.at(shares[side], pairs[same | recognised, side], alikeness[same | recognised])


def _repeated(
    similarities: NDArray[np.uint8],
    cells: NDArray[np.int64],
    neighbours: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """The similarity of each cell's page to its neighbour where that matches far better; else 0; (n,)."""
    here = similarities[cells[:, 0], cells[:, 1]]
    repeated = np.zeros(len(cells))
    for side in (0, 1):
        for step in (-1, 1):
            beside = cells.copy()
            beside[:, side] += step
            inside = (beside[:, side] >= 0) & (beside[:, side] < similarities.shape[side])
            beside[~inside] = cells[~inside]
            better = 2 * similarities[beside[:, 0], beside[:, 1]].astype(np.int64) > 3 * here.astype(np.int64)
            first = np.minimum(beside[:, side], cells[:, side])
            repeated[better] = np.maximum(repeated[better], neighbours[side][first[better]])
    return repeated


def _usual(similarities: NDArray[np.uint8], side: int, background: Background) -> NDArray[np.float64]:
    """The similarity of each page to any page of the other book, which a running head raises."""
    others = similarities.shape[1 - side]
    if others < ENOUGH:
        return np.full(similarities.shape[side], background.median)
    columns = np.unique(np.linspace(0, others - 1, 64).astype(np.int64))
    sample = similarities[:, columns] if side == 0 else np.ascontiguousarray(similarities[columns].T)
    # numpy selects among floats four times as fast as among bytes.
    medians = np.partition(sample.astype(np.float32), columns.size // 2, axis=1)[:, columns.size // 2]
    return np.asarray(np.maximum(medians.astype(np.float64) / 255, background.median))


def _share_of_pages(
    shared: NDArray[np.float64] | NDArray[np.signedinteger],
    lengths: NDArray[np.int64],
    matched: NDArray[np.int64],
    together: int,
) -> NDArray[np.float64]:
    """The share of each page that `shared` code points are, (pages,); of matched ones over some together."""
    share = shared / np.maximum(lengths, 1)
    if together > 1:
        pages = np.unique(matched)
        kernel = np.ones(min(together, pages.size))
        sums = [np.convolve(each[pages], kernel, "same") for each in (shared, lengths)]
        share[pages] = sums[0] / np.maximum(sums[1], 1)
    return np.asarray(share)


def _pages_together(background: Background) -> int:
    """Over how many pages, an odd number, shares are averaged: so that their standard error is `_ERROR`.

    A page's text lies on two pages of the other book, and their similarities are of 128 bins.
    """
    if not background.faint:
        return 1
    variance = 2 * background.typical * (1 - background.typical) / 128
    return ceil(variance / (_ERROR * (background.typical - background.median)) ** 2) // 2 * 2 + 1


def _smoothed(cells: NDArray[np.int64], values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The mean over `window` cells that follow each other on the diagonal, as far as these are among them."""
    if window == 1:
        return values
    width = int(cells[:, 1].max()) + 2 * window
    codes = cells[:, 0] * width + cells[:, 1]
    total, count = values.copy(), np.ones(values.size)
    for step in range(-(window // 2), window // 2 + 1):
        wanted = codes + step * (width + 1)
        rows = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
        near = (codes[rows] == wanted) & (step != 0)
        total += np.where(near, values[rows], 0)
        count += near
    return np.asarray(total / count)
