"""Scans made of real paginated books with known faults: leaves missing, doubled, out of place, or foreign.

Plates, advertisements and blank leaves are added to the scan or to its copy as decoys: no faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.core.model import PAGE_BREAK
from bench.data.misreading import misread
from bench.data.paginated_books import Shelf, Source
from bench.data.pair_truth import TEXT_PAGE

FaultKind = Literal["missing", "doubled", "misplaced", "foreign"]

_AT_MOST_ERRORS = 0.05


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a made scan."""

    kind: FaultKind
    pages: tuple[int, int]  # of the scan; of a missing leaf the place, twice
    printed: tuple[int, int]  # the pages of the source that are missing or doubled, or belong here


@dataclass(frozen=True, slots=True)
class MadeScan:
    """A scan with faults, and complete copies of the same printing."""

    source: Source
    pages: Sequence[str]
    origins: Sequence[int]  # of each page of the scan: the page of the source; -1: none
    faults: Sequence[Fault]
    copies: Sequence[Sequence[str]]
    copy_origins: Sequence[Sequence[int]]
    error_rates: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of a scan in the making."""

    origin: int
    text: str
    fault: int = -1


@dataclass(frozen=True, slots=True)
class _Gap(_Page):
    """The place of missing pages, which is no page."""

    end: int = -1


def made_scan(shelf: Shelf, source: Source, kinds: Sequence[FaultKind], copies: int, seed: int) -> MadeScan:
    """A scan with these faults, 1 to 20 leaves each, at 0 to 5 % character errors."""
    rng = np.random.default_rng(seed)
    printed = [source.page(number).replace(PAGE_BREAK, "\n") for number in range(source.page_count)]
    other, advertised = shelf.others(2, [source], rng)
    pages = [_Page(number, text) for number, text in enumerate(printed)]
    faults: list[FaultKind] = []
    for kind in kinds:
        pages = _with_fault(pages, kind, len(faults), other, rng)
        faults.append(kind)
    rates = tuple(float(rng.uniform(0, _AT_MOST_ERRORS)) for _ in range(copies + 1))
    pages = _with_decoys(pages, advertised, rng)
    copied = [
        _with_decoys([_Page(number, text) for number, text in enumerate(printed)], advertised, rng)
        for _ in range(copies)
    ]
    return MadeScan(
        source,
        [misread(page.text, rates[0], rng) for page in pages if not isinstance(page, _Gap)],
        [page.origin for page in pages if not isinstance(page, _Gap)],
        [_located(number, kind, pages) for number, kind in enumerate(faults)],
        [
            [misread(page.text, rate, rng) for page in each]
            for each, rate in zip(copied, rates[1:], strict=True)
        ],
        [[page.origin for page in each] for each in copied],
        rates,
    )


def _is_text(page: _Page) -> bool:
    return sum(map(str.isalnum, page.text)) >= 4 * TEXT_PAGE


def _with_fault(
    pages: list[_Page], kind: FaultKind, number: int, other: Source, rng: np.random.Generator
) -> list[_Page]:
    """The pages with one fault more, away from those that are there."""
    for _ in range(200):
        leaves = int(rng.choice([1, 1, 1, 2, 3, 5, 8, 13, 20]))
        if kind in ("misplaced", "foreign", "doubled"):
            leaves = min(leaves, 5)
        size = 2 * leaves
        if len(pages) < 6 * size:
            continue
        start = 2 * int(rng.integers(1, (len(pages) - size) // 2 - 1))
        chosen = pages[start : start + size]
        around = pages[max(0, start - 12) : start + size + 12]
        if any(page.fault >= 0 for page in around) or not all(map(_is_text, chosen)):
            continue
        end = start + size
        new: list[_Page]
        if kind == "missing":
            new = [_Gap(chosen[0].origin, "", number, chosen[-1].origin + 1)]
        elif kind == "doubled":
            new = chosen + _marked(chosen, number)
        elif kind == "foreign":
            first = int(rng.integers(10, other.page_count - size - 10))
            new = [_Page(-2, other.page(first + place), number) for place in range(size)]
        elif rng.random() < 0.5:  # swapped with what follows
            after = pages[end : end + size]
            if not all(map(_is_text, after)):
                continue
            end += size
            new = _marked([*after, *chosen], number)
        else:  # the texts of single pages shuffled
            order = rng.permutation(size)
            if (order == np.arange(size)).any():
                continue
            new = [_marked(chosen, number)[place] for place in order]
        return pages[:start] + new + pages[end:]
    raise ValueError(f"{kind}: no place found")


def _marked(pages: Sequence[_Page], number: int) -> list[_Page]:
    """The pages as those of a fault."""
    return [_Page(page.origin, page.text, number) for page in pages]


def _located(number: int, kind: FaultKind, pages: list[_Page]) -> Fault:
    places = [place for place, page in enumerate(pages) if page.fault == number]
    origins = [pages[place].origin for place in places]
    if kind == "missing":
        gap = pages[places[0]]
        assert isinstance(gap, _Gap)
        before = sum(isinstance(page, _Gap) for page in pages[: places[0]])
        return Fault(kind, (places[0] - before,) * 2, (gap.origin, gap.end))
    before = sum(isinstance(page, _Gap) for page in pages[: places[0]])
    return Fault(kind, (places[0] - before, places[-1] + 1 - before), (min(origins), max(origins) + 1))


_CAPTIONS = ("Plate {}.", "THE CASTLE FROM THE EAST. Fig. {}", "Drawn from life by the Author, p. {}")


def _with_decoys(pages: list[_Page], other: Source, rng: np.random.Generator) -> list[_Page]:
    """Plates and blank leaves within the book, and at times advertisements: another book's pages."""
    pages = list(pages)
    for _ in range(int(rng.integers(0, 5))):
        place = int(rng.integers(4, len(pages) - 4))
        caption = str(rng.choice(_CAPTIONS)).format(int(rng.integers(1, 300)))
        pages[place:place] = [_Page(-1, ""), _Page(-1, caption if rng.random() < 0.7 else "")]
    if rng.random() < 0.5:
        size = 2 * int(rng.integers(1, 5))
        first = int(rng.integers(10, other.page_count - size - 10))
        place = len(pages) if rng.random() < 0.7 else int(rng.integers(4, len(pages) - 4))
        pages[place:place] = [_Page(-1, other.page(first + number)) for number in range(size)]
    return pages
