"""Scans made of real paginated books with known faults: leaves missing, doubled, out of place, or foreign.

A whole scan may be from the back, or have the halves of its spreads swapped. Plates, advertisements and
blank leaves are added to the scan or to its copy as decoys: no faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bench.data.misreading import misread
from bench.data.paginated_books import Shelf, Source
from bench.data.pair_truth import TEXT_PAGE
from bookprint_core.model import PAGE_BREAK

FaultKind = Literal["missing", "doubled", "misplaced", "foreign", "reversed", "swapped"]
Numbering = Literal["none", "printed", "labels"]
"""Where page numbers are: nowhere, in the first line of each page, or beside the text."""

TURNS: tuple[FaultKind, ...] = ("reversed", "swapped")
"""Faults of a whole scan."""

_AT_MOST_ERRORS = 0.05


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a made scan."""

    kind: FaultKind
    pages: tuple[int, int]  # of the scan; of a missing leaf the place, twice
    printed: tuple[int, int]  # the pages of the source that are missing, replaced or doubled, or belong here


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
    labels: Sequence[Sequence[str | None]] = ()  # of the scan and of each copy, where they are known


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of a scan in the making, or the place of missing pages, which is no page."""

    origin: int
    text: str
    fault: int = -1
    label: str | None = None
    gap_end: int | None = None  # of a place of missing pages: the page of the source behind them
    foreign: int = -1  # of such a place: the fault of the pages that stand there


def made_scan(
    shelf: Shelf,
    source: Source,
    kinds: Sequence[FaultKind],
    copies: int,
    seed: int,
    numbering: Numbering = "none",
) -> MadeScan:
    """Return a scan with these faults, 1 to 20 leaves each, at 0 to 5 % character errors."""
    rng = np.random.default_rng(seed)
    other, advertised = shelf.others(2, [source], rng)
    pages = whole = _pages(source, numbering)
    faults: list[FaultKind] = []
    for kind in kinds:
        if kind not in TURNS:
            pages = _with_fault(pages, kind, len(faults), _pages(other, numbering), rng)
            faults += ["foreign", "missing"] if kind == "foreign" else [kind]
    rates = tuple(float(rng.uniform(0, _AT_MOST_ERRORS)) for _ in range(copies + 1))
    pages = _with_decoys(pages, advertised, rng)
    copied = [_with_decoys(whole, advertised, rng) for _ in range(copies)]
    located = [_located(number, kind, pages) for number, kind in enumerate(faults)]
    scanned = [page for page in pages if page.gap_end is None]
    for turn in [kind for kind in kinds if kind in TURNS]:
        scanned = _turned(scanned, turn, rng)
        for number, fault in enumerate(located):
            if fault.kind != "missing" and number < len(faults):
                located[number] = replace(fault, pages=_span(number, scanned))
        located.append(Fault(turn, (0, len(scanned)), (0, source.page_count)))
    books = [scanned, *copied]
    texts = [
        [misread(page.text, rate, rng) for page in book] for book, rate in zip(books, rates, strict=True)
    ]
    origins = [[page.origin for page in book] for book in books]
    labels = [[page.label for page in book] for book in books] if numbering == "labels" else []
    return MadeScan(source, texts[0], origins[0], located, texts[1:], origins[1:], rates, labels)


def _pages(source: Source, numbering: Numbering) -> list[_Page]:
    pages = []
    for number in range(source.page_count):
        head = f"{number + 1} {source.title[:30].upper()}\n" if numbering == "printed" else ""
        text = source.page(number).replace(PAGE_BREAK, "\n")
        pages.append(_Page(number, head + text, label=str(number + 1)))
    return pages


def _turned(pages: list[_Page], kind: FaultKind, rng: np.random.Generator) -> list[_Page]:
    """The pages from the back, or those of each spread in turn; the first spread may begin with the cover."""
    if kind == "reversed":
        return pages[::-1]
    first = int(rng.integers(0, 2))
    spreads = [pages[start : start + 2] for start in range(first, len(pages), 2)]
    return [*pages[:first], *(page for spread in spreads for page in spread[::-1])]


def _with_fault(
    pages: list[_Page], kind: FaultKind, number: int, other: list[_Page], rng: np.random.Generator
) -> list[_Page]:
    """The pages with one fault more, away from those that are there; raises ValueError without a place."""
    for _ in range(200):
        leaves = int(rng.choice([1, 1, 1, 2, 3, 5, 8, 13, 20]))
        if kind == "foreign":
            leaves = int(rng.integers(3, 6))
        elif kind in ("misplaced", "doubled"):
            leaves = min(leaves, 5)
        size = 2 * leaves
        if len(pages) < 6 * size:
            continue
        start = 2 * int(rng.integers(1, (len(pages) - size) // 2 - 1))
        end = start + size
        chosen = pages[start:end]
        around = pages[max(0, start - 12) : end + 12]
        if any(page.fault >= 0 for page in around) or not all(map(_is_text, chosen)):
            continue
        marked = [replace(page, fault=number) for page in chosen]
        gap = _Page(chosen[0].origin, "", number, None, chosen[-1].origin + 1)
        if kind == "missing":
            new = [gap]
        elif kind == "doubled":
            new = chosen + marked
        elif kind == "foreign":
            length = size if rng.random() < 0.75 else 2 * int(rng.integers(3, 6))
            first = int(rng.integers(10, len(other) - length - 10))
            new = [replace(page, origin=-2, fault=number) for page in other[first : first + length]]
            new.append(replace(gap, fault=number + 1, foreign=number))
        elif rng.random() < 0.5:  # swapped with what follows
            after = pages[end : end + size]
            if not all(map(_is_text, after)):
                continue
            end += size
            new = [*(replace(page, fault=number) for page in after), *marked]
        else:  # the texts of single pages shuffled
            order = rng.permutation(size)
            if (order == np.arange(size)).any():
                continue
            new = [marked[place] for place in order]
        return pages[:start] + new + pages[end:]
    raise ValueError(f"{kind}: no place found")


def _is_text(page: _Page) -> bool:
    return sum(map(str.isalnum, page.text)) >= 4 * TEXT_PAGE


def _located(number: int, kind: FaultKind, pages: list[_Page]) -> Fault:
    scanned = [page for page in pages if page.gap_end is None]
    for place, page in enumerate(pages):
        if page.gap_end is not None and number in (page.fault, page.foreign):
            before = sum(each.gap_end is None for each in pages[:place])
            where = (before, before) if kind == "missing" else _span(number, scanned)
            return Fault(kind, where, (page.origin, page.gap_end))
    origins = [page.origin for page in scanned if page.fault == number]
    return Fault(kind, _span(number, scanned), (min(origins), max(origins) + 1))


def _span(number: int, pages: Sequence[_Page]) -> tuple[int, int]:
    """The pages from the first to the last of a fault."""
    places = [place for place, page in enumerate(pages) if page.fault == number]
    return places[0], places[-1] + 1


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
