"""The contents of a volume: the other books of a library that contain its pages, in the order of the volume.

A work is a book that the volume contains. A passage is shared with a part of another book. Works are listed
first, and one work may contain another. Passages cover only pages without a work; a passage ends where
another passage begins or ends. Books with the same pages are one part, whether or not they are one cluster.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, pairwise
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bookprint_core.relations.related import PageMatches
from bookprint_core.relations.runs import LONGEST_GAP

PartKind = Literal["work", "passage", "gap"]
Span = tuple[int, int]
"""Pages, by the first and the one after the last."""

LEAST_PAGES = 3
"""Minimum number of consecutive pages of a passage or a gap; fewer may be a leaf with a title."""

_SAME = 0.8
"""Minimum common pages of two parts that count as one part, as a share of all their pages."""

_LONGEST_GAP = 2 * LONGEST_GAP  # maximum pages without a match, if both books continue equally far
_WITHIN = 0.9  # minimum share of a work's pages in another work that contains it
_WHOLE = 0.8  # minimum share of a contained book's pages in one stretch, if the stretch is a work
_NEAR = 2  # maximum distance, in pages, of ends of passages that count as one end
_QUOTED = 0.45  # maximum similarity of runs with the same quotations, as a share of the most similar run


@dataclass(frozen=True, slots=True, eq=False)
class SharingBook:
    """A book that contains pages of the volume; the volume is `this` book of the matches."""

    book_id: UUID
    founder_id: UUID  # of the cluster of its text
    is_contained: bool
    share: float  # share of its text that the volume contains, 0 to 1
    matches: PageMatches


@dataclass(frozen=True, slots=True)
class PartSource:
    """A book that contains a part of the volume, and its pages with that part."""

    book_id: UUID
    founder_id: UUID
    pages: Span
    share: float  # share of its text that the volume contains, 0 to 1


@dataclass(frozen=True, slots=True)
class VolumePart:
    """Pages of the volume, and the books that contain them."""

    kind: PartKind
    pages: Span
    sources: Sequence[PartSource]  # one per cluster, the best first; empty: a gap
    level: int = 0  # number of works that contain the part


def spans_of(sharing: SharingBook) -> list[tuple[Span, Span]]:
    """Return the common pages, in the volume and in the other book, in the order of the volume."""
    return [(each.pages, each.source.pages) for each in _stretches(sharing)]


def parts_of(page_count: int, sharings: Sequence[SharingBook]) -> list[VolumePart]:
    """Return the parts of a volume with `page_count` pages in order, and the gaps between them.

    A volume without pages in other books has no parts and no gap.
    """
    stretches = [each for sharing in sharings for each in _stretches(sharing)]
    parts = list(_works([each for each in stretches if each.is_whole]))
    works = [part.pages for part in parts]
    parts += _passages([rest for each in stretches if not each.is_whole for rest in _without(each, works)])
    parts += [VolumePart("gap", gap, ()) for gap in _gaps(page_count, parts)] if parts else []
    return sorted(parts, key=lambda part: (part.pages[0], -part.pages[1], part.level))


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Pages of the volume, without a long gap, that one book contains."""

    sharing: SharingBook
    pairs: NDArray[np.int64]  # (pairs, 2), in the order of the volume
    is_whole: bool = False  # the volume contains the book, nearly all of it in this stretch

    @property
    def pages(self) -> Span:
        return int(self.pairs[0, 0]), int(self.pairs[-1, 0]) + 1

    @property
    def length(self) -> int:
        return int(self.pairs[-1, 0] - self.pairs[0, 0]) + 1

    @property
    def source(self) -> PartSource:
        others, sharing = self.pairs[:, 1], self.sharing
        pages = int(others.min()), int(others.max()) + 1
        return PartSource(sharing.book_id, sharing.founder_id, pages, sharing.share)


def _stretches(sharing: SharingBook) -> list[_Stretch]:
    """Return the stretches of a book's pages, cut where it departs from the volume.

    Runs of pages that share only quotations, and short stretches, are left out.
    """
    runs = [run for run in sharing.matches.by_run() if run.pairs]
    if not runs:
        return []
    lengths = np.array([max(end - start for start, end in (run.this, run.other)) for run in runs])
    similar = np.array([sum(run.similarities) for run in runs]) / lengths
    runs = list(compress(runs, similar >= _QUOTED * similar.max()))
    pairs = np.concatenate([np.array(run.pairs, dtype=np.int64) for run in runs])
    spans = np.sum([np.subtract(run.pairs[-1], run.pairs[0]) + 1 for run in runs], axis=0)
    steps = np.diff(pairs, axis=0)
    broken = np.abs(steps[:, 0] - steps[:, 1] * spans[0] / spans[1]) > LEAST_PAGES
    broken |= (steps.min(axis=1) < 0) | (steps.max(axis=1) > _LONGEST_GAP)
    parts = [_Stretch(sharing, part) for part in np.split(pairs, np.flatnonzero(broken) + 1)]
    if sharing.is_contained:
        longest = max(parts, key=lambda part: part.length)
        if longest.length >= _WHOLE * spans[0]:
            return [replace(longest, is_whole=True)]
    return [part for part in parts if part.length >= LEAST_PAGES]


def _works(stretches: Iterable[_Stretch]) -> Iterator[VolumePart]:
    """Yield the works, the longest first, each with the number of works that contain it."""
    parts: list[VolumePart] = []
    for group in _grouped(stretches):
        sources = _sources(group)
        [first] = [each for each in group if each.sharing.book_id == sources[0].book_id][:1]
        level = sum(_common(first.pages, part.pages) >= _WITHIN * first.length for part in parts)
        parts.append(VolumePart("work", first.pages, sources, level))
        yield parts[-1]


def _grouped(stretches: Iterable[_Stretch]) -> list[list[_Stretch]]:
    """Group the stretches with the same pages, the longest first."""
    groups: list[list[_Stretch]] = []
    for each in sorted(stretches, key=lambda each: (-each.length, each.pages, each.sharing.book_id)):
        same = (group for group in groups if _is_same(group[0].pages, each.pages))
        group = next(same, None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    return groups


def _passages(stretches: Sequence[_Stretch]) -> Iterator[VolumePart]:
    """Yield the pages between two ends of stretches, with the books that contain most of these pages."""
    for before, after in pairwise(_ends([group[0] for group in _grouped(stretches)])):
        bounds = (before[0] or before[1])[0], (after[1] or after[0])[-1]
        least = _SAME * (bounds[1] - bounds[0])
        inside = [each for each in stretches if _common(each.pages, bounds) >= least]
        cut = [_without(each, [(0, bounds[0]), (bounds[1], each.pages[1])]) for each in inside]
        if sources := _sources(chain.from_iterable(cut)):
            yield VolumePart("passage", bounds, sources)


def _ends(stretches: Sequence[_Stretch]) -> list[tuple[list[int], list[int]]]:
    """Return the first pages and the ends of stretches, in groups of pages near each other."""
    near: list[tuple[list[int], list[int]]] = []
    reached = -_NEAR - 1
    for page, side in sorted((page, side) for each in stretches for side, page in enumerate(each.pages)):
        if page - reached > _NEAR:
            near.append(([], []))
            reached = page
        near[-1][side].append(page)
    return near


def _sources(stretches: Iterable[_Stretch]) -> list[PartSource]:
    """Return the best copy of each cluster, sorted by the share of its text in the volume, largest first."""
    by_cluster: dict[UUID, list[PartSource]] = defaultdict(list)
    for each in stretches:
        by_cluster[each.sharing.founder_id].append(each.source)
    best = [min(copies, key=_rank) for copies in by_cluster.values()]
    return sorted(best, key=_rank)


def _rank(source: PartSource) -> tuple[float, UUID]:
    return -round(source.share, 2), source.book_id


def _without(stretch: _Stretch, taken: Iterable[Span]) -> Iterator[_Stretch]:
    """Yield the pieces of a stretch outside the spans `taken`, if they have at least `LEAST_PAGES` pages."""
    pages = stretch.pairs[:, 0]
    free = np.ones(len(pages), dtype=np.bool_)
    for start, end in taken:
        free &= (pages < start) | (pages >= end)
    cuts = np.flatnonzero(np.diff(free.astype(np.int8))) + 1
    for pairs, kept in zip(np.split(stretch.pairs, cuts), np.split(free, cuts), strict=True):
        if len(pairs) and kept[0] and pairs[-1, 0] - pairs[0, 0] + 1 >= LEAST_PAGES:
            yield _Stretch(stretch.sharing, pairs)


def _gaps(page_count: int, parts: Sequence[VolumePart]) -> Iterator[Span]:
    reached = 0
    for start, end in sorted([*(part.pages for part in parts), (page_count, page_count)]):
        if start - reached >= LEAST_PAGES:
            yield reached, start
        reached = max(reached, end)


def _common(one: Span, other: Span) -> int:
    return max(min(one[1], other[1]) - max(one[0], other[0]), 0)


def _is_same(one: Span, other: Span) -> bool:
    common = _common(one, other)
    return common >= _SAME * (one[1] - one[0] + other[1] - other[0] - common)
