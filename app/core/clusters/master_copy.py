"""The master copy of a text: page by page, the reading that most of its copies share.

Spasojević and Poncin (2011, section V-C) propose to mix pages or paragraphs of a cluster's copies. Here the
pages and lines are those of the best copy, and pages of the others are aligned with its pages by their
signatures. Then the characters of a page are put to the vote, for which ROVER is the model (Fiscus 1997).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

from app.core.clusters.page_reading import FramedPage, PageReading, page_reading
from app.core.clusters.vote import VotedPage, vote
from app.core.model import PAGE_BREAK, Content, PageSignatures
from app.core.relations.alignment import Run, Unit, align
from app.core.signatures.sketch import page_signatures
from app.core.text.words import folded_words

MOST_CHARACTERS = 20_000
"""Of a page that is put to the vote, and of a copy's pages that are aligned with it."""

_WINDOW = re.compile(r"(?s).{1,2000}(?!\S)|.{1,2000}")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class MasterPage:
    """A page of a master copy."""

    index: int  # from 0
    text: str  # in the lines of the best copy
    copies: int  # that have the page, the best copy among them
    agreement: float | None  # mean share of these that have what is printed, 0 to 1; None: there is one alone
    changed: float  # share of the best copy's words that read otherwise, case and punctuation aside; 0 to 1


@dataclass(frozen=True, slots=True)
class MasterCopy:
    """Some pages of a master copy."""

    unit: Unit  # window: the pages of the best copy are not known
    page_count: int  # of the whole copy
    pages: Sequence[MasterPage]  # those asked for
    matched: Sequence[int]  # of each other copy, in the whole: its pages that match pages of the best copy


@dataclass(frozen=True, slots=True)
class _Pages:
    """A text in pages, or in windows of some 300 words where the pages are not known."""

    unit: Unit
    texts: Sequence[str]

    @classmethod
    def of(cls, content: Content) -> "_Pages":
        if content.page_count is None:
            return cls("window", _WINDOW.findall(content.text))
        return cls("page", content.text.split(PAGE_BREAK))

    @property
    def between(self) -> str:
        """What stands between two pages, or two windows."""
        return PAGE_BREAK if self.unit == "page" else " "

    @property
    def signatures(self) -> PageSignatures:
        return page_signatures(Content(PAGE_BREAK.join(self.texts), len(self.texts)))

    def joined(self, first: int, end: int) -> str:
        """Some pages, each between page breaks; of windows, the text."""
        if self.unit == "window":
            return _spaced("".join(self.texts[first:end]))
        return "".join(f"{PAGE_BREAK}{_spaced(text)}" for text in self.texts[first:end]) + PAGE_BREAK

    def framed(self, index: int) -> FramedPage:
        """A page with the text around it."""
        before = _spaced(self.texts[index - 1]) if index else ""
        after = _spaced(self.texts[index + 1]) if index + 1 < len(self.texts) else ""
        return FramedPage.of(_spaced(self.texts[index]), before, after, self.between)


@dataclass(frozen=True, slots=True, eq=False)
class _Other:
    """Another copy, aligned with the best one."""

    text: _Pages
    runs: Sequence[Run]  # the longest first

    def reading(self, index: int, page: FramedPage) -> PageReading | None:
        """Its reading of a page of the best copy, by the longest run with it; None: it has none."""
        run = next((run for run in self.runs if run.left[0] <= index < run.left[1]), None)
        if run is None:
            return None
        rows, columns = run.pairs.T
        # From the page that matches the one before to the page that matches the one after.
        first = columns[max(int(np.searchsorted(rows, index)) - 1, 0)]
        last = columns[min(int(np.searchsorted(rows, index, side="right")), len(rows) - 1)]
        others = self.text.joined(first, last + 1)
        return None if len(others) > MOST_CHARACTERS else page_reading(page, others)


def master_copy(best: Content, others: Sequence[Content], pages: range) -> MasterCopy:
    """The pages of these numbers, from 0, as far as there are so many; `others` are the other copies.

    A page of 2,500 characters takes some 3 ms a copy; to sign and align the copies, some 20 ms for each.
    """
    frame = _Pages.of(best)
    signatures = frame.signatures
    aligned = [_aligned(signatures, _Pages.of(other)) for other in others]
    return MasterCopy(
        unit=frame.unit,
        page_count=len(frame.texts),
        pages=[_voted(frame, index, aligned) for index in pages if index < len(frame.texts)],
        matched=[len({int(page) for run in other.runs for page in run.pairs[:, 1]}) for other in aligned],
    )


def _aligned(best: PageSignatures, other: _Pages) -> _Other:
    runs = align(best, other.signatures).runs
    return _Other(other, sorted(runs, key=lambda run: len(run.pairs), reverse=True))


def _voted(frame: _Pages, index: int, others: Sequence[_Other]) -> MasterPage:
    text, page = frame.texts[index], frame.framed(index)
    readings: list[PageReading] = []
    if 0 < len(page.text) <= MOST_CHARACTERS:
        readings = [reading for other in others if (reading := other.reading(index, page)) is not None]
    if not readings:
        return MasterPage(index, text, 1, None, 0.0)
    voted = vote(page.text, readings)
    printed = _printed(text, page.text, voted)
    return MasterPage(index, printed, 1 + len(readings), voted.agreement, _changed(text, printed))


def _spaced(text: str) -> str:
    """The text with one space for any blanks, and none at either end."""
    return " ".join(text.split())


def _printed(text: str, spaced: str, voted: VotedPage) -> str:
    """What was voted for, with the blanks of the page where there still are any."""
    stripped = text.strip()
    blanks = iter(_BLANKS.findall(stripped))
    parts = [text[: len(text) - len(text.lstrip())]]
    for insertion, before, after in zip(voted.insertions, spaced, voted.characters, strict=False):
        blank = next(blanks) if before == " " else ""
        parts += insertion, blank if before == after == " " else after
    parts += voted.insertions[-1], text[len(text.rstrip()) :]
    return "".join(parts)


def _changed(before: str, after: str) -> float:
    words, others = folded_words(before), folded_words(after)
    return min(Levenshtein.distance(words, others) / len(words), 1.0) if words else 0.0
