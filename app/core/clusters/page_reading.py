"""A copy's reading of a page: what the copy has for each character of the page in the best copy.

Whole pages are aligned by their signatures before (`app.core.relations.alignment`). Here the characters of a
page are aligned with those pages of the copy that it lies on, by the fewest edits (Levenshtein 1966). A
little text around the page goes with it, because a copy of another pagination goes on before and after.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein, ScoreAlignment

from app.core.model import PAGE_BREAK

ABSENT, SILENT = -1, -2
"""In place of a code point: the copy has no character there, or nothing is known of the place."""

MOST_MISREAD = 200
"""Characters in a row that a copy may lose or add by misreading; more is matter of one copy alone."""

_CONTEXT = 200
"""Characters of the pages before and after that are aligned with a page, and by which its place is found."""

_MARGIN = 20
"""Characters that are aligned besides, because the place that was found may be so far off."""

_LEAST_ALIKE = 65
"""Of 100 (rapidfuzz's ratio). Other passages of a book reach 51; two readings at 20 % CER have 67 or more."""

_FURNITURE = 100
"""Characters beside a page break in which running heads, page numbers and catchwords stand."""

_LEAST_AGREEMENT = 0.5
"""A copy that has fewer of a page's characters in their places has another text there."""


@dataclass(frozen=True, slots=True)
class FramedPage:
    """A page of the best copy, and the text around it; blanks of any kind and number are one space."""

    text: str
    before: str  # the end of the page before, and what parts the two: a page break, or a blank of windows
    after: str  # the same of the page after

    @classmethod
    def of(cls, text: str, before: str, after: str, between: str) -> "FramedPage":
        """The page between these two."""
        return cls(text, f"{before[-_CONTEXT:]}{between}", f"{between}{after[:_CONTEXT]}")


@dataclass(frozen=True, slots=True, eq=False)
class PageReading:
    """What a copy has for a page."""

    codes: NDArray[np.int32]  # (characters of the page,) a code point each, ABSENT or SILENT
    insertions: Mapping[int, str]  # what the copy has before the character of this number, from 0


def codes_of(text: str) -> NDArray[np.int32]:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le"), dtype="<i4").astype(np.int32, copy=False)


def page_reading(page: FramedPage, others: str) -> PageReading | None:
    """The reading of a page by a copy of which these pages, each between page breaks, have its text.

    None if the copy has another text there. Where the page breaks differ, what one of the two alone has
    beside a break is no reading: it is a running head or a page number.
    """
    page, others = _stretch(page, others)
    start, size = len(page.before), len(page.text)
    framed = page.before + page.text + page.after
    steps = list(Levenshtein.opcodes(framed, others))
    shared = [step for step in steps if step.tag == "equal"]
    unshared = _near_breaks(framed, [(step.src_start, step.src_end) for step in shared])
    others_unshared = _near_breaks(others, [(step.dest_start, step.dest_end) for step in shared])
    found = codes_of(others.replace(PAGE_BREAK, " "))
    codes = np.full(size, SILENT, dtype=np.int32)
    insertions: dict[int, str] = {}
    for step in steps:
        place = step.src_start - start
        first, last = max(place, 0), min(step.src_end - start, size)
        if step.tag == "insert":
            if 0 <= place <= size and _is_misread(others_unshared[step.dest_start : step.dest_end]):
                insertions[place] = others[step.dest_start : step.dest_end]
        elif first >= last:
            continue
        elif step.tag == "delete":
            if _is_misread(unshared[step.src_start : step.src_end]):
                codes[first:last] = ABSENT
        else:
            shift = step.dest_start - place
            codes[first:last] = found[first + shift : last + shift]
    agreeing = np.count_nonzero(codes == codes_of(page.text))
    return PageReading(codes, insertions) if agreeing >= _LEAST_AGREEMENT * size else None


def _stretch(page: FramedPage, others: str) -> tuple[FramedPage, str]:
    """The page and the stretch of a copy that begins and ends as it does, with or without what is around it.

    Without that, letters of what the copy has besides would be taken for those that it lacks.
    """
    for before in (page.before, ""):
        place = _place(f"{before}{page.text}"[:_CONTEXT], others)
        if place is not None:
            page, others = replace(page, before=before), others[max(place.dest_start - _MARGIN, 0) :]
            break
    for after in (page.after, ""):
        place = _place(f"{page.text}{after}"[-_CONTEXT:], others)
        if place is not None:
            return replace(page, after=after), others[: place.dest_end + _MARGIN]
    return page, others


def _place(text: str, others: str) -> ScoreAlignment | None:
    """The part of a longer text that is most like this one; None: there is none like it."""
    if len(text) > len(others):
        return None
    return fuzz.partial_ratio_alignment(text, others, score_cutoff=_LEAST_ALIKE)


def _is_misread(near_breaks: NDArray[np.bool_]) -> bool:
    """Whether these characters, which one of two texts lacks, are few enough and stand beside no break."""
    return len(near_breaks) <= MOST_MISREAD and not near_breaks.any()


def _near_breaks(text: str, shared: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which characters of a text lie near a page break that is in none of the shared parts."""
    breaks = codes_of(text) == ord(PAGE_BREAK)
    for start, end in shared:
        breaks[start:end] = False
    near = np.zeros(len(text), dtype=np.bool_)
    for place in np.flatnonzero(breaks).tolist():
        near[max(place - _FURNITURE, 0) : place + _FURNITURE] = True
    return near
