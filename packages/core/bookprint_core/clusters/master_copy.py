"""The master copy of a text: page by page, the reading that most of its copies share.

Spasojević and Poncin (2011, section V-C) propose to mix pages or paragraphs of a cluster's copies. Here pages
and lines follow the best copy. Pages of the other copies are aligned with its pages by their signatures. The
copies then vote on each character of a page, after the model of ROVER (Fiscus 1997).
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein, ScoreAlignment

from bookprint_core.model import PAGE_BREAK, Content, PageSignatures
from bookprint_core.relations.alignment import Run, Unit, align
from bookprint_core.signatures.sketch import page_signatures
from bookprint_core.text.names import folded_words

ABSENT, SILENT = -1, -2
"""Values in place of a code point: the copy has no character there, or its reading is not known."""

MOST_MISREAD = 200
"""Maximum number of consecutive characters lost or added by misreading; more are matter of one copy alone."""

_CONTEXT = 200
"""Number of characters around a page that are aligned with the page and find its place in a copy."""

_MARGIN = 20  # characters aligned on either side of the place found, the maximum error of the place

_LEAST_ALIKE = 65
"""Minimum similarity of two readings, 0 to 100 (rapidfuzz's ratio). Other passages of a book reach 51; two
readings at 20 % CER reach at least 67."""

_FURNITURE = 100  # characters beside a page break that may be running heads, page numbers and catchwords
_LEAST_AGREEMENT = 0.5  # minimum share of a page's characters in place, unless the copy has another text


@dataclass(frozen=True, slots=True)
class FramedPage:
    """A page of the best copy and the text around it, with one space for any blanks."""

    text: str
    before: str  # end of the page before, and the separator: a page break, or a blank between windows
    after: str  # the separator, and the beginning of the page after


@dataclass(frozen=True, slots=True, eq=False)
class PageReading:
    """The reading of a page in a copy."""

    codes: NDArray[np.int32]  # (characters of the page,) code points, ABSENT or SILENT
    insertions: Mapping[int, str]  # text that the copy adds before the character of this number, from 0


def codes_of(text: str) -> NDArray[np.int32]:
    """Return the code points of a text."""
    return np.frombuffer(text.encode("utf-32-le"), dtype="<i4").astype(np.int32, copy=False)


def page_reading(page: FramedPage, others: str) -> PageReading | None:
    """Read a page in a copy; `others` are the copy's pages with its text, each between page breaks.

    Returns None if the copy has another text there. Text of one book alone beside a page break does not count
    as a reading: it is a running head or a page number.
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
    """Cut a copy to the stretch of a page; remove the page's context if the copy lacks the context.

    Without this cut, letters of other text in the copy could stand for letters that it lacks.
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
    """Find the part of a longer text that is most similar to this text; None if there is none."""
    if len(text) > len(others):
        return None
    return fuzz.partial_ratio_alignment(text, others, score_cutoff=_LEAST_ALIKE)


def _is_misread(near_breaks: NDArray[np.bool_]) -> bool:
    """Return whether the characters that one of two texts lacks are few, and not beside a page break."""
    return len(near_breaks) <= MOST_MISREAD and not near_breaks.any()


def _near_breaks(text: str, shared: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Return which characters of a text are near a page break outside the shared parts."""
    breaks = codes_of(text) == ord(PAGE_BREAK)
    for start, end in shared:
        breaks[start:end] = False
    near = np.zeros(len(text), dtype=np.bool_)
    for place in np.flatnonzero(breaks).tolist():
        near[max(place - _FURNITURE, 0) : place + _FURNITURE] = True
    return near


@dataclass(frozen=True, slots=True)
class VotedPage:
    """The outcome of a vote on a page."""

    characters: Sequence[str]  # the chosen character for each character of the page; "": none
    insertions: Sequence[str]  # chosen text before each character, and after the last
    agreement: float  # mean share of copies with the chosen character, 0 to 1


def vote(text: str, readings: Sequence[PageReading], last: bool = False) -> VotedPage:
    """Vote on a page; `text` is the best copy's reading, of at least one character.

    If votes are equal, the best copy decides; with `last`, the first of the readings.

    >>> from bookprint_core.clusters.master_copy import FramedPage, page_reading
    >>> others = ["\\fthe salt roads\\f", "\\ftlie salt road,\\f"]
    >>> readings = [page_reading(FramedPage("thc salt road", "", ""), other) for other in others]
    >>> "".join(vote("thc salt road", readings).characters)
    'the salt road'
    """
    votes = np.stack([codes_of(text), *(reading.codes for reading in readings)])
    if last:
        votes = np.roll(votes, -1, axis=0)
    characters = list(text)
    agreeing = 0.0
    places = np.flatnonzero((votes != votes[0]).any(axis=0))
    for place in places.tolist():
        counts = Counter(votes[:, place].tolist())
        counts.pop(SILENT, None)
        winner, most = max(counts.items(), key=lambda item: item[1])  # the first of equal votes
        characters[place] = "" if winner == ABSENT else chr(winner)
        agreeing += most / counts.total()
    agreeing += len(text) - places.size
    return VotedPage(characters, _insertions(votes, readings, last), agreeing / len(text))


def _insertions(votes: NDArray[np.int32], readings: Sequence[PageReading], last: bool) -> list[str]:
    size = votes.shape[1]
    chosen = [""] * (size + 1)
    for place in sorted({place for reading in readings for place in reading.insertions}):
        heard = votes[:, max(place - 1, 0) : place + 1] != SILENT
        added = [reading.insertions[place] for reading in readings if place in reading.insertions]
        voters = int(heard.any(axis=1).sum())
        tie = last and voters == 2 * len(added) and place in readings[0].insertions
        chosen[place] = readings[0].insertions[place] if tie else _shared(added, voters)
    return chosen


def _shared(added: Sequence[str], voters: int) -> str:
    """Return the text that most of the voters add at a place; `added` contains the added texts."""
    [(text, count)] = Counter(added).most_common(1)
    if count > voters - len(added):
        return text
    if 2 * len(added) <= voters:
        return ""
    # If most voters add different texts, the characters that more than half of them share are chosen.
    base = added[0]
    counts = np.ones(len(base), dtype=np.int64)
    for other in added[1:]:
        for block in Levenshtein.editops(base, other).as_matching_blocks():
            counts[block.a : block.a + block.size] += 1
    return "".join(np.array(list(base))[2 * counts > voters])


MOST_CHARACTERS = 20_000
"""Maximum number of characters of a page for a vote, and of a copy's pages aligned with the page."""

WINDOW = re.compile(r"(?s).{1,2000}(?!\S)|.{1,2000}")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class MasterPage:
    """A page of a master copy."""

    index: int  # from 0
    text: str  # in the lines of the best copy
    before: str  # text of the best copy
    copies: int  # number of copies with the page, including the best copy
    agreement: float | None  # mean share of them with the chosen character, 0 to 1; None: one copy only
    changed: float  # share of the best copy's words that differ, without case and punctuation, 0 to 1


@dataclass(frozen=True, slots=True)
class MasterCopy:
    """Some pages of a master copy."""

    unit: Unit  # window: the pages of the best copy are not known
    page_count: int  # of the whole copy
    pages: Sequence[MasterPage]  # the requested pages
    matched: Sequence[int]  # number of pages of each other copy that match pages of the best copy


@dataclass(frozen=True, slots=True)
class _Pages:
    """A text in pages, or in windows of about 300 words if the pages are not known."""

    unit: Unit
    texts: Sequence[str]

    @classmethod
    def of(cls, content: Content) -> "_Pages":
        if content.page_count is None:
            return cls("window", WINDOW.findall(content.text))
        return cls("page", content.text.split(PAGE_BREAK))

    @property
    def signatures(self) -> PageSignatures:
        return page_signatures(Content(PAGE_BREAK.join(self.texts), len(self.texts)))

    def joined(self, first: int, end: int) -> str:
        """Return some pages, each between page breaks, or the text of windows."""
        if self.unit == "window":
            return _spaced("".join(self.texts[first:end]))
        return "".join(f"{PAGE_BREAK}{_spaced(text)}" for text in self.texts[first:end]) + PAGE_BREAK

    def framed(self, index: int) -> FramedPage:
        before = _spaced(self.texts[index - 1]) if index else ""
        after = _spaced(self.texts[index + 1]) if index + 1 < len(self.texts) else ""
        separator = PAGE_BREAK if self.unit == "page" else " "
        text = _spaced(self.texts[index])
        return FramedPage(text, f"{before[-_CONTEXT:]}{separator}", f"{separator}{after[:_CONTEXT]}")


@dataclass(frozen=True, slots=True, eq=False)
class _Other:
    """Another copy, aligned with the best copy."""

    text: _Pages
    runs: Sequence[Run]  # the longest first

    def reading(self, index: int, page: FramedPage) -> PageReading | None:
        """Read a page of the best copy in this copy, by the longest run with it; None if there is none."""
        run = next((run for run in self.runs if run.left[0] <= index < run.left[1]), None)
        if run is None:
            return None
        rows, columns = run.pairs.T
        # The copy's pages from the match of the preceding page to the match of the following page.
        first = columns[max(int(np.searchsorted(rows, index)) - 1, 0)]
        last = columns[min(int(np.searchsorted(rows, index, side="right")), len(rows) - 1)]
        others = self.text.joined(first, last + 1)
        return None if len(others) > MOST_CHARACTERS else page_reading(page, others)


def master_copy(
    best: Content, others: Sequence[Content], pages: range, cleaner: Collection[int] = ()
) -> MasterCopy:
    """Make the pages with these numbers, from 0, if they exist; `others` are the other copies.

    `cleaner` contains the places in `others` of copies cleaner than the best copy, which may be best because
    it is complete. If no third copy has a page, the cleaner copy's reading counts. A page of 2,500 characters
    takes about 3 ms per copy; signing and aligning takes about 20 ms per copy.
    """
    frame = _Pages.of(best)
    signatures = frame.signatures
    aligned = [_aligned(signatures, _Pages.of(other)) for other in others]
    return MasterCopy(
        unit=frame.unit,
        page_count=len(frame.texts),
        pages=[_voted(frame, index, aligned, cleaner) for index in pages if index < len(frame.texts)],
        matched=[len({int(page) for run in other.runs for page in run.pairs[:, 1]}) for other in aligned],
    )


def _aligned(best: PageSignatures, other: _Pages) -> _Other:
    runs = align(best, other.signatures).runs
    return _Other(other, sorted(runs, key=lambda run: len(run.pairs), reverse=True))


def _voted(frame: _Pages, index: int, others: Sequence[_Other], cleaner: Collection[int]) -> MasterPage:
    text, page = frame.texts[index], frame.framed(index)
    found: dict[int, PageReading] = {}
    if 0 < len(page.text) <= MOST_CHARACTERS:
        for place, other in enumerate(others):
            if (reading := other.reading(index, page)) is not None:
                found[place] = reading
    if not found:
        return MasterPage(index, text, text, 1, None, 0.0)
    readings = list(found.values())
    voted = vote(page.text, readings, last=len(found) == 1 and next(iter(found)) in cleaner)
    printed = _printed(text, page.text, voted)
    return MasterPage(index, printed, text, 1 + len(readings), voted.agreement, _changed(text, printed))


def _spaced(text: str) -> str:
    """Return the text with one space for any blanks, and without blanks at either end."""
    return " ".join(text.split())


def _printed(text: str, spaced: str, voted: VotedPage) -> str:
    """Return the chosen text, with the blanks of the page where blanks were chosen."""
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
