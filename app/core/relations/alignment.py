"""Which pages of two books say the same: similarities of pages, local alignment, runs.

Pages are alike by the share of equal bins of their signatures, as far as that exceeds chance
(`background`). Local alignment then finds the runs (`runs`): pages that follow each other in both books,
whatever was inserted, lost, bound elsewhere or paginated anew. Very long books are aligned in groups of pages
first (`coarse`).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.core.model import PageSignatures, require_same_recipe
from app.core.relations.background import Background, estimate_background
from app.core.relations.coarse import Block, blocks_of, group_size, grouped_pages
from app.core.relations.coverage import page_coverage
from app.core.relations.runs import find_runs, split

Unit = Literal["page", "window"]

MOST_CELLS = 25_000_000
"""Pairs of pages that are compared at once: one byte each, and one more for the way to it."""

LEAST_BINS = 24
"""Pages with fewer filled bins in common are too short to tell."""

_LEAST_TEXT = 75
"""A page with fewer code points counts as blank: a running head and less than a line, or a caption."""

_FARTHEST_AGAIN = 4
"""A page may be scanned again so many text pages later."""

_AGAIN = 0.75
"""It is then at least so alike, in units of a typical pair of equal pages,"""

_BEYOND_FORMULAS = 1.5
"""and so many times as alike as most neighbouring pages are."""


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
    left_lengths: NDArray[np.int64]  # (pages,) code points; 0 for blank pages and those scanned before
    right_lengths: NDArray[np.int64]
    typical_share: float  # how much of a typical page is found before what noise hides is allowed for


def align(left: PageSignatures, right: PageSignatures) -> Alignment:
    """The matching pages of two books; raises `RecipeMismatch`.

    330 pages against 330 take some milliseconds and 400 KB. Time grows with the product of the page counts,
    memory with it up to 80 MB. The books in the other order give the same alignment, mirrored.
    """
    require_same_recipe(left.recipe, right.recipe)
    if _order(right) < _order(left):
        return _mirrored(_align(right, left))
    return _align(left, right)


def _order(pages: PageSignatures) -> tuple[int, bytes, bytes]:
    return len(pages.values), pages.values.tobytes(), pages.lengths.tobytes()


def _align(left: PageSignatures, right: PageSignatures) -> Alignment:
    size = group_size(len(left.values), len(right.values), MOST_CELLS)
    return _align_pages(left, right) if size == 1 else _align_groups(left, right, size)


def _align_pages(left: PageSignatures, right: PageSignatures) -> Alignment:
    """Compares every page with every other one."""
    from app.core.relations import kernels

    alike = np.empty((len(left.values), len(right.values)), dtype=np.uint8)
    kernels.page_similarities(left.values, right.values, LEAST_BINS, alike)
    lengths = _text_lengths(left), _text_lengths(right)
    chance = estimate_background(alike, *lengths)
    kinship = []
    for side, pages in enumerate((left, right)):
        again = _scanned_again(pages, lengths[side], chance)
        lengths[side][again] = 0
        alike[(again, slice(None))[:: 1 if side == 0 else -1]] = 0
        kinship.append(_neighbours(pages.values, 1)[0, 1:])
    parts = find_runs(alike, chance)
    pairs = np.concatenate([np.zeros((0, 2), dtype=np.int64), *parts])
    shares, agreement, typical = page_coverage(pairs, alike, chance, lengths, (kinship[0], kinship[1]))
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return Alignment(
        unit=_unit(left, right),
        runs=tuple(
            _run(part, alike[part[:, 0], part[:, 1]] / 255, agrees)
            for part, agrees in zip(parts, np.split(agreement, ends), strict=bool(parts))
        ),
        left_shares=shares[0],
        right_shares=shares[1],
        left_lengths=lengths[0],
        right_lengths=lengths[1],
        typical_share=typical,
    )


def _align_groups(left: PageSignatures, right: PageSignatures, size: int) -> Alignment:
    """Compares groups of so many pages, and then the pages of those groups that match."""
    coarse = _align_pages(grouped_pages(left, size), grouped_pages(right, size))
    sides = left, right
    lengths = _text_lengths(left), _text_lengths(right)
    shares = np.zeros(len(left.values)), np.zeros(len(right.values))
    found: list[Run] = []
    typical: list[float] = []
    for block in blocks_of([run.pairs for run in coarse.runs], size, *map(len, (left.values, right.values))):
        fine = _align_pages(*(block.of(pages, side) for side, pages in enumerate(sides)))
        found += [_moved(run, block) for run in fine.runs]
        typical += [fine.typical_share] * len(fine.runs)
        for side, (mine, theirs) in enumerate(
            ((fine.left_shares, fine.left_lengths), (fine.right_shares, fine.right_lengths))
        ):
            span = slice(*block.spans[side])
            shares[side][span] = np.maximum(shares[side][span], mine)
            lengths[side][span] = np.minimum(lengths[side][span], theirs)
    return Alignment(
        _unit(left, right), _joined(found), *shares, *lengths, float(np.median(typical)) if typical else 0.0
    )


def _moved(run: Run, block: Block) -> Run:
    starts = np.array([span[0] for span in block.spans], dtype=np.int64)
    return _run(run.pairs + starts, run.similarities, run.agreement)


def _joined(runs: list[Run]) -> tuple[Run, ...]:
    """Runs that go on across the edge of a block as one."""
    if not runs:
        return ()
    pairs = np.concatenate([run.pairs for run in runs])
    order = np.unique(pairs[:, 0] * (pairs[:, 1].max() + 1) + pairs[:, 1], return_index=True)[1]
    pairs = pairs[order]
    similarities, agreement = (
        np.concatenate(each)[order]
        for each in ([run.similarities for run in runs], [run.agreement for run in runs])
    )
    backwards = np.flatnonzero(np.diff(pairs[:, 1]) < 0) + 1
    joined = []
    start = 0
    for part in (part for ascending in np.split(pairs, backwards) for part in split(ascending)):
        end = start + len(part)
        joined.append(_run(part, similarities[start:end], agreement[start:end]))
        start = end
    return tuple(joined)


def _mirrored(alignment: Alignment) -> Alignment:
    runs = [_run(run.pairs[:, ::-1], run.similarities, run.agreement) for run in alignment.runs]
    return Alignment(
        unit=alignment.unit,
        runs=tuple(sorted(runs, key=lambda run: (*run.left, *run.right))),
        left_shares=alignment.right_shares,
        right_shares=alignment.left_shares,
        left_lengths=alignment.right_lengths,
        right_lengths=alignment.left_lengths,
        typical_share=alignment.typical_share,
    )


def _run(pairs: NDArray[np.int64], similarities: NDArray[np.float64], agreement: NDArray[np.float64]) -> Run:
    (top, first), (bottom, last) = pairs[0].tolist(), pairs[-1].tolist()
    return Run((top, bottom + 1), (first, last + 1), pairs, similarities, agreement)


def _unit(left: PageSignatures, right: PageSignatures) -> Unit:
    return "page" if left.unit == right.unit == "page" else "window"


def _text_lengths(pages: PageSignatures) -> NDArray[np.int64]:
    return np.where(pages.lengths >= _LEAST_TEXT, pages.lengths, 0).astype(np.int64)


def _neighbours(values: NDArray[np.uint8], farthest: int) -> NDArray[np.float64]:
    """How alike each page is to the ones before it, 0 to 1: (farthest, pages), 0 where there are none."""
    from app.core.relations import kernels

    equal = np.zeros((farthest, len(values)), dtype=np.uint8)
    common = np.zeros_like(equal)
    kernels.compare_neighbours(values, equal, common)
    return np.where(common >= LEAST_BINS, equal / np.maximum(common, 1), 0)


def _scanned_again(
    pages: PageSignatures, lengths: NDArray[np.int64], chance: Background
) -> NDArray[np.int64]:
    """Which pages repeat one of the few text pages before them, more closely than formulas do."""
    text = np.flatnonzero(lengths)
    alike = _neighbours(np.ascontiguousarray(pages.values[text]), _FARTHEST_AGAIN)
    least = max(_AGAIN * chance.typical, chance.threshold, _BEYOND_FORMULAS * _common(alike))
    again = np.zeros(text.size, dtype=np.bool_)
    for back in range(1, min(_FARTHEST_AGAIN, text.size - 1) + 1):
        length, before = lengths[text[back:]], lengths[text[:-back]]
        again[back:] |= (alike[back - 1, back:] >= least) & (np.abs(length - before) <= 10 + length // 32)
    return text[again]


def _common(alike: NDArray[np.float64]) -> float:
    """How alike four of five neighbouring pages are at most."""
    if not alike.size:
        return 0.0
    place = int(0.8 * alike.size)
    return float(np.partition(alike, place, axis=None)[place])
