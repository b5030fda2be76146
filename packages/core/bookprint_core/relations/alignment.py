"""The alignment of two books: their matching pages, and the share of each page that the other book contains.

Spasojević and Poncin (2011) find similar pages by common values. Here every page of one book is compared with
every page of the other. Pairs of pages more similar than unrelated pages (`background`) make runs (`runs`).
Pages may be inserted, lost, bound elsewhere or paginated again. Very long books are aligned in groups first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import PageSignatures, require_same_recipe
from bookprint_core.relations.background import ENOUGH, FAINT, Background, estimate_background
from bookprint_core.relations.coverage import Lengths, Shares, page_coverage
from bookprint_core.relations.runs import blocks_of, find_runs, group_size, grouped_pages, sliced_pages, split

Unit = Literal["page", "window"]

MOST_CELLS = 25_000_000
"""Maximum number of pairs of pages compared at once; a pair needs two bytes, for similarity and step."""

LEAST_BINS = 24
"""Minimum number of filled bins in common of two comparable pages."""

_LEAST_TEXT = 75
"""Minimum number of code points of a page that is not blank; fewer are a running head or a caption."""

_FARTHEST_AGAIN = 4  # maximum distance of a page and its repeated scan, in text pages
_AGAIN = 0.75  # minimum similarity of a repeated scan, as a share of the similarity of typical equal pages
_BEYOND_FORMULAS = 1.5  # minimum ratio of this similarity to that of most neighbouring pages


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Pages of two books that match and follow each other in both."""

    pairs: NDArray[np.int64]  # (pairs, 2) ascending in both books
    similarities: NDArray[np.float64]  # (pairs,) 0 to 1
    same_page: NDArray[np.float64]  # (pairs,) share of both pages' found text that is found on the pair

    @property
    def left(self) -> tuple[int, int]:
        """First page in the left book and the one after the last."""
        return int(self.pairs[0, 0]), int(self.pairs[-1, 0]) + 1

    @property
    def right(self) -> tuple[int, int]:
        """First page in the right book and the one after the last."""
        return int(self.pairs[0, 1]), int(self.pairs[-1, 1]) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """The matching pages of two books."""

    unit: Unit  # window: the pages of at least one book are not known
    runs: tuple[Run, ...]  # in the order of the left book
    coverage: Shares  # share of each page of either book that the other book contains, 0 to 1
    lengths: Lengths  # code points; 0 for blank pages and repeated scans of a page
    typical_coverage: float  # of a matching page, before the correction for noise, 0 to 1


def align(left: PageSignatures, right: PageSignatures) -> Alignment:
    """Align two books; raise `RecipeMismatch`.

    Two books of 330 pages take some milliseconds and 400 KB. Time grows with the product of the page counts,
    as does memory, up to 80 MB. If the books are swapped, the alignment is mirrored.
    """
    require_same_recipe(left.recipe, right.recipe)
    if _order(right) < _order(left):
        return _mirrored(_align(right, left))
    return _align(left, right)


def page_similarities(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Compute the similarity, 0 to 255, of each pair of pages from their signatures, (left, right)."""
    from bookprint_core.relations import kernels

    similarities = np.empty((len(left), len(right)), dtype=np.uint8)
    kernels.page_similarities(left, right, LEAST_BINS, similarities)
    return similarities


def concatenated(runs: Sequence[Run]) -> Run:
    """Return the pairs of all runs as one run, in the order of the runs."""
    return Run(
        np.concatenate([np.zeros((0, 2), dtype=np.int64), *(run.pairs for run in runs)]),
        np.concatenate([np.zeros(0), *(run.similarities for run in runs)]),
        np.concatenate([np.zeros(0), *(run.same_page for run in runs)]),
    )


def _order(pages: PageSignatures) -> tuple[int, bytes]:
    return len(pages.values), pages.values.tobytes() + pages.lengths.tobytes()


def _align(left: PageSignatures, right: PageSignatures) -> Alignment:
    size = group_size(len(left.values), len(right.values), MOST_CELLS)
    return _align_pages(left, right) if size == 1 else _align_groups(left, right, size)


def _align_pages(left: PageSignatures, right: PageSignatures) -> Alignment:
    """Align two books by comparing every page of one with every page of the other."""
    similarities = page_similarities(left.values, right.values)
    lengths = _text_lengths(left), _text_lengths(right)
    background = estimate_background(similarities, *lengths)
    for pages, length, rows in zip((left, right), lengths, (similarities, similarities.T), strict=True):
        again = _scanned_again(pages, length, background)
        length[again] = 0
        rows[again] = 0
    neighbours = _neighbours(left.values, 1)[0, 1:], _neighbours(right.values, 1)[0, 1:]
    runs = find_runs(similarities, background)
    if background.typical < FAINT and _take_up_half(runs, lengths):
        background = estimate_background(similarities, *lengths, faint=True)
        runs = find_runs(similarities, background)
    pairs = np.concatenate([np.zeros((0, 2), dtype=np.int64), *runs])
    coverage = page_coverage(pairs, similarities, background, lengths, neighbours)
    ends = np.cumsum([len(run) for run in runs])[:-1]
    return Alignment(
        unit=_unit(left, right),
        runs=tuple(
            Run(run, similarities[run[:, 0], run[:, 1]] / 255, same_page)
            for run, same_page in zip(runs, np.split(coverage.same_page, ends), strict=bool(runs))
        ),
        coverage=coverage.shares,
        lengths=lengths,
        typical_coverage=coverage.typical,
    )


def _take_up_half(runs: Sequence[NDArray[np.int64]], lengths: tuple[NDArray[np.int64], ...]) -> bool:
    """Return whether runs, a long run among them, cover half of a book.

    These runs show the similarity of equal pages; formulas and quotations are scattered.
    """
    spans = [sum(int(run[-1, side] - run[0, side]) + 1 for run in runs) for side in (0, 1)]
    return max(map(len, runs), default=0) >= ENOUGH and any(
        2 * span >= np.count_nonzero(length) for span, length in zip(spans, lengths, strict=True)
    )


def _align_groups(left: PageSignatures, right: PageSignatures, size: int) -> Alignment:
    """Align groups of `size` pages first, and then the pages of the matching groups."""
    coarse = _align_pages(grouped_pages(left, size), grouped_pages(right, size))
    coverage = np.zeros(len(left.values)), np.zeros(len(right.values))
    lengths = _text_lengths(left), _text_lengths(right)
    runs: list[Run] = []
    typical: list[float] = []
    for block in blocks_of([run.pairs for run in coarse.runs], size, len(left.values), len(right.values)):
        fine = _align_pages(sliced_pages(left, block.left), sliced_pages(right, block.right))
        starts = np.array([block.left[0], block.right[0]], dtype=np.int64)
        runs += [replace(run, pairs=run.pairs + starts) for run in fine.runs]
        typical += [fine.typical_coverage] * len(fine.runs)
        for side, pages in enumerate((slice(*block.left), slice(*block.right))):
            coverage[side][pages] = np.maximum(coverage[side][pages], fine.coverage[side])
            lengths[side][pages] = np.minimum(lengths[side][pages], fine.lengths[side])
    typical_coverage = float(np.median(typical)) if typical else 0.0
    return Alignment(_unit(left, right), _joined(runs), coverage, lengths, typical_coverage)


def _joined(runs: list[Run]) -> tuple[Run, ...]:
    """Join runs that continue across the edge of a block."""
    if not runs:
        return ()
    every = concatenated(runs)
    codes = every.pairs[:, 0] * (every.pairs[:, 1].max() + 1) + every.pairs[:, 1]
    rows = np.unique(codes, return_index=True)[1]
    pairs = every.pairs[rows]
    backwards = np.flatnonzero(np.diff(pairs[:, 1]) < 0) + 1
    joined = []
    start = 0
    for part in (part for ascending in np.split(pairs, backwards) for part in split(ascending)):
        chosen = rows[start : start + len(part)]
        joined.append(Run(part, every.similarities[chosen], every.same_page[chosen]))
        start += len(part)
    return tuple(joined)


def _mirrored(alignment: Alignment) -> Alignment:
    runs = [replace(run, pairs=run.pairs[:, ::-1]) for run in alignment.runs]
    return replace(
        alignment,
        runs=tuple(sorted(runs, key=lambda run: (*run.left, *run.right))),
        coverage=alignment.coverage[::-1],
        lengths=alignment.lengths[::-1],
    )


def _unit(left: PageSignatures, right: PageSignatures) -> Unit:
    return "page" if left.unit == right.unit == "page" else "window"


def _text_lengths(pages: PageSignatures) -> NDArray[np.int64]:
    return np.where(pages.lengths >= _LEAST_TEXT, pages.lengths, 0).astype(np.int64)


def _neighbours(values: NDArray[np.uint8], farthest: int) -> NDArray[np.float64]:
    """Compute the similarity, 0 to 1, of each page to the pages before it: (farthest, pages), 0 if none."""
    from bookprint_core.relations import kernels

    equal = np.zeros((farthest, len(values)), dtype=np.uint8)
    common = np.zeros_like(equal)
    kernels.compare_neighbours(values, equal, common)
    return np.where(common >= LEAST_BINS, equal / np.maximum(common, 1), 0)


def _scanned_again(
    pages: PageSignatures, lengths: NDArray[np.int64], background: Background
) -> NDArray[np.int64]:
    """Return the pages that repeat one of the last text pages more closely than formulas do."""
    text = np.flatnonzero(lengths)
    similarities = _neighbours(np.ascontiguousarray(pages.values[text]), _FARTHEST_AGAIN)
    least = max(_AGAIN * background.typical, background.threshold, _BEYOND_FORMULAS * _usual(similarities))
    again = np.zeros(text.size, dtype=np.bool_)
    for back in range(1, min(_FARTHEST_AGAIN, text.size - 1) + 1):
        length, before = lengths[text[back:]], lengths[text[:-back]]
        again[back:] |= (similarities[back - 1, back:] >= least) & (
            np.abs(length - before) <= 10 + length // 32
        )
    return text[again]


def _usual(similarities: NDArray[np.float64]) -> float:
    """Return the 80 % quantile of the similarities of neighbouring pages."""
    if not similarities.size:
        return 0.0
    rank = int(0.8 * similarities.size)
    return float(np.partition(similarities, rank, axis=None)[rank])


SIMILARITY_STEPS = 255
"""Number of steps in which a page map stores similarities from 0 to 1."""


def page_map(alignment: Alignment) -> NDArray[np.int32]:
    """Return the matching pages, run by run: left page, right page and similarity in 255ths; (pairs, 3)."""
    every = concatenated(alignment.runs)
    return np.column_stack([every.pairs, np.rint(every.similarities * SIMILARITY_STEPS)]).astype(np.int32)


def run_bounds(alignment: Alignment) -> NDArray[np.int32]:
    """Return each run's first page and the one after the last, in the left and the right book; (runs, 4)."""
    bounds = [(*run.left, *run.right) for run in alignment.runs]
    return np.array(bounds, dtype=np.int32).reshape(-1, 4)
