"""Coverage: the share of each page's text that the other book contains, and the agreement of page breaks.

The method is ours. Two pages of lengths a and b share J (a + b) / (1 + J) code points. J is the Jaccard
similarity that their signatures estimate (Broder 1997). The similarity of any two pages is subtracted from J;
negative results are not cut, so sums have no bias. OCR noise hides a part of the shared text, taken to be as
large as on a typical page of the two books.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from bookprint_core.relations.background import ENOUGH, Background

SAME_BREAKS = 0.75
"""Minimum share of two pages' found text that is found on the pair, if their breaks are the same."""

_MOSTLY = 0.7  # minimum share of pairs with the same breaks, if these are to represent equal pages
_AS_ALIKE = 0.85  # minimum similarity of a recognised pair, as a share of the similarity of such pairs

_LEAST_TYPICAL = 0.3
"""Minimum coverage of equal pages, however badly read; less similar pages share only formulas."""

_LEAST_FAINT = 0.1  # minimum coverage of equal pages if they are faint
_ERROR = 1 / 3  # largest standard error allowed for the found share of a page, in pages
_NOTABLE = 0.06  # excess over the usual similarity from which neighbouring pages of a book count as alike
_WHOLE = 0.75  # minimum share at which a page counts as wholly found; the rest is noise

Shares = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A share for each page of the left book and for each page of the right book; (pages,) each."""

Lengths = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Lengths of the pages of the left book and of the right book in code points; (pages,) each."""


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The shares of the pages of two books that are found in each other, 0 to 1."""

    shares: Shares  # share of each page that the other book contains
    same_page: NDArray[np.float64]  # (pairs,) share of both pages' found text that is found on the pair
    typical: float  # median share found of a matching page, before the correction for noise


def page_coverage(
    pairs: NDArray[np.int64],
    similarities: NDArray[np.uint8],
    background: Background,
    lengths: Lengths,
    neighbours: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> Coverage:
    """Compute the coverage of two books whose pages match in `pairs` (n, 2).

    `similarities` (left, right) are 0 to 255. `lengths` are the numbers of code points of the pages.
    `neighbours` (pages - 1,) are the similarities, 0 to 1, of each page of a book to the next page. Text that
    a page shares with its neighbours, such as formulas, does not count as common text.
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
    """Return the cells of the pairs and their neighbours, each once (n, 2), and the row of each pair."""
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
    """Estimate the code points that the two pages of each cell share, (n,); chance makes some negative."""
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
    """Return the share of both pages' found text that is found on the pair itself, (pairs,).

    `rows` are the cells of the pairs; `sums` contains the code points found of either page of each cell. The
    errors of faint pages are so large that sums, not shares, are averaged, over pairs only.
    """
    # Noisier text needs an average over more pages.
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
    """Mark similar pairs as pairs with the same breaks, if most pairs have the same breaks.

    This recognises pages whose neighbours have similar text, such as formulas and refrains.
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
    """Return the similarity of each cell's page to a neighbour that matches far better, else 0; (n,)."""
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
    """Return the median similarity of each page to the other book's pages; running heads raise it."""
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
    """Return `shared` code points as shares of pages, (pages,), averaged over `together` matched pages."""
    share = shared / np.maximum(lengths, 1)
    if together > 1:
        pages = np.unique(matched)
        kernel = np.ones(min(together, pages.size))
        sums = [np.convolve(each[pages], kernel, "same") for each in (shared, lengths)]
        share[pages] = sums[0] / np.maximum(sums[1], 1)
    return np.asarray(share)


def _pages_together(background: Background) -> int:
    """Return the odd number of pages over which the mean share has the standard error `_ERROR`.

    The text of a page is on two pages of the other book, whose similarities are estimated from 128 bins.
    """
    if not background.faint:
        return 1
    variance = 2 * background.typical * (1 - background.typical) / 128
    return ceil(variance / (_ERROR * (background.typical - background.median)) ** 2) // 2 * 2 + 1


def _smoothed(cells: NDArray[np.int64], values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return the mean of each value and its neighbours on the diagonal, of `window` cells if they exist."""
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
