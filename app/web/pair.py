"""Values for the page of a pair of books: its relation, a dot plot of its pages, and the different words.

`self_contained_page` compares two files; the module `pairs` shows the page of two stored books.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from app.services.pairs.decisions import DecisionOutcome, Said
from app.services.pairs.evidence import LONGEST_SHOWN, MatchedPage, ShownPair
from app.web.rendering import facts, templates
from bookprint_core.relations.classification import (
    LEAST_SHARED,
    MOST,
    OTHER_BREAKS,
    PART,
    REVISED_LINES,
    Kind,
)
from bookprint_core.relations.related import MatchedRun
from bookprint_core.relations.word_differences import DIFFERENCES, Passage

MOST_RUNS = 200
"""Maximum number of runs that are listed and drawn, longest first."""

KINDS: dict[Kind, str] = {
    "SAME_PAGINATION": "same text, same pages",
    "DIFFERENT_PAGINATION": "same text, different page breaks",
    "SAME_TEXT": "same text, pages unknown",
    "CONTIGUOUS_SUBSET": "one is part of the other",
    "OVERLAPPING_TEXT": "some text in common",
    "UNRELATED": "unrelated",
    "INSUFFICIENT_TEXT": "too little text to compare",
}
CLASSES = {
    "spelling": "Spelling, long s, accents, capitals",
    "hyphen": "Hyphens and blanks",
    "ocr": "Likely misread (OCR)",
    "punctuation": "Punctuation",
    "other": "Different words",
}
ANSWERS: dict[Said, str] = {
    "confirmed": "confirmed",
    "rejected": "not related",
    "kind": "changed",
    "withdrawn": "withdrawn",
    "undone": "undone",
    "unsure": "not sure",
}
OUTCOMES: dict[DecisionOutcome, str] = {
    "counts": "The decision is in force.",
    "withdrawn": "The decision is no longer in force.",
    "undone": "The earlier state is in force again.",
    "unsure": "You will not see this pair in the queue again; other people will.",
}
_DIRECTIONS = {
    "contains": "This book contains the other book.",
    "contained_in": "This book is part of the other book.",
}

_WIDTH, _HEIGHT = 560.0, 420.0
"""Width and height of the plot without its margins, in units of the SVG."""

_TICKS = 6


def self_contained_page(pair: ShownPair) -> str:
    """Return the page as one HTML file without links to other files."""
    style = Markup(_style("pages") + _style("pair"))
    return templates.get_template("pair_file.html").render(shown_values(pair), style=style)


def shown_values(pair: ShownPair) -> dict[str, Any]:
    """Return the values for the templates of a pair. Callers that show more pages set `link` and `place`."""
    return {
        "pair": pair,
        "finding": pair.finding,
        "kinds": KINDS,
        "answers": ANSWERS,
        "outcomes": OUTCOMES,
        "classes": CLASSES,
        "difference_kinds": DIFFERENCES,
        "directions": _DIRECTIONS,
        "plot": _plot(pair),
        "fields": list(_fields(pair)),
        "figures": list(_figures(pair)),
        "longest_shown": LONGEST_SHOWN,
        "marked": _marked,
        "range_of": _range,
        "link": None,
        "place": None,
        "blind": False,
        "file_style": None,
    }


def plot_file(pair: ShownPair) -> str:
    """Return the dot plot as an SVG file in the light colours of the pages."""
    colours = dict(re.findall(r"--(\w+): (#\w+)", _style("pages").partition("@media")[0]))
    rules = [line for line in _style("pair").splitlines() if line.startswith("svg ")]
    style = re.sub(r"var\(--(\w+)\)", lambda found: colours[found[1]], "\n".join(rules))
    return templates.get_template("pair_plot.svg").render(shown_values(pair) | {"file_style": Markup(style)})


@cache
def _style(name: str) -> str:
    return files("app.web").joinpath("static", f"{name}.css").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run of matching pages, as drawn and listed."""

    run: MatchedRun
    moved: bool  # not in the longest chain of ordered runs
    points: str  # corners of its line, as SVG points


@dataclass(frozen=True, slots=True)
class _Figure:
    """A measurement of each book or of both books, and its threshold in a definition."""

    name: str
    values: Sequence[float]
    line: str = ""
    threshold: float | None = None
    reached: bool | None = None


@dataclass(frozen=True, slots=True)
class _Plot:
    """Geometry of the dot plot: pages of this book from left to right, pages of the other book downwards."""

    width: float
    height: float
    runs: Sequence[ShownRun]
    left_out: int
    this_gaps: Sequence[tuple[float, float]]  # start and length of pages without a match
    other_gaps: Sequence[tuple[float, float]]
    this_ticks: Sequence[tuple[float, str]]
    other_ticks: Sequence[tuple[float, str]]
    this_scale: float  # SVG units per page
    other_scale: float

    def point(self, page: MatchedPage) -> tuple[float, float]:
        """Return the point of a page: at the middle of the pages that match it."""
        return (page.this + 0.5) * self.this_scale, sum(page.other) / 2 * self.other_scale


def _plot(pair: ShownPair) -> _Plot:
    counts = pair.this.unit_count, pair.other.unit_count
    x, y = (size / max(count, 1) for size, count in zip((_WIDTH, _HEIGHT), counts, strict=True))
    runs = list(pair.matches.by_run())
    longest = sorted(runs, key=lambda run: -len(run.pairs))[:MOST_RUNS]
    straight = _in_order(longest)
    shown = [
        ShownRun(run, run not in straight, _points(run, x, y))
        for run in sorted(longest, key=lambda run: (run.this, run.other))
    ]
    matched = [set(side.tolist()) for side in pair.matches.pairs.T]
    return _Plot(
        _WIDTH,
        _HEIGHT,
        shown,
        len(runs) - len(longest),
        list(_gaps(matched[0], counts[0], x)),
        list(_gaps(matched[1], counts[1], y)),
        list(_ticks(counts[0], x, pair.matches.this_labels)),
        list(_ticks(counts[1], y, pair.matches.other_labels)),
        x,
        y,
    )


def _in_order(runs: Sequence[MatchedRun]) -> list[MatchedRun]:
    """Return the longest chain of runs that are in order in both books; consecutive runs may share a page."""
    best: list[tuple[int, list[MatchedRun]]] = []
    for run in sorted(runs, key=lambda run: (run.this, run.other)):
        before = [
            each
            for each in best
            if each[1][-1].this[1] - 1 <= run.this[0] and each[1][-1].other[1] - 1 <= run.other[0]
        ]
        size, chain = max(before, key=lambda each: each[0], default=(0, []))
        best.append((size + len(run.pairs), [*chain, run]))
    return max(best, key=lambda each: each[0], default=(0, []))[1]


def _points(run: MatchedRun, x: float, y: float) -> str:
    """Return the corners of a run's line. Points inside a straight part are left out."""
    pairs = np.reshape(run.pairs, (-1, 2))
    steps = np.diff(pairs, axis=0)
    turns = (steps[1:] != steps[:-1]).any(axis=1)
    corners = pairs[np.concatenate(([True], turns, [True]))[: len(pairs)]]
    return " ".join(f"{(i + 0.5) * x:.1f},{(j + 0.5) * y:.1f}" for i, j in corners.tolist())


def _gaps(matched: set[int], count: int, scale: float) -> Iterator[tuple[float, float]]:
    for found, pages in groupby(range(count), key=matched.__contains__):
        if not found:
            gap = list(pages)
            yield gap[0] * scale, len(gap) * scale


def _ticks(count: int, scale: float, labels: Sequence[str | None] | None) -> Iterator[tuple[float, str]]:
    """Yield the positions of some pages, with their printed labels or else their numbers in brackets."""
    for page in sorted({round(step * (count - 1) / (_TICKS - 1)) for step in range(_TICKS)} if count else ()):
        label = labels[page] if labels else None
        yield (page + 0.5) * scale, label or f"[{page + 1}]"


def _range(pages: tuple[int, int], labels: Sequence[str | None] | None) -> str:
    """Format a range of pages, counted from 1, with the printed numbers."""
    first, last = pages[0] + 1, pages[1]
    told = f"{first}" if first == last else f"{first}–{last}"
    ends = [(labels[page - 1] or "–") for page in (first, last)] if labels else ["–", "–"]
    if ends == ["–", "–"]:
        return told
    printed = ends[0] if first == last else "–".join(ends)
    return f"{told} (printed {printed})"


def _fields(pair: ShownPair) -> Iterator[tuple[str, str, str, str]]:
    """Yield the fields of both records: label, value of this book, value of the other, and comparison."""
    this, other = (
        facts(book.metadata)
        | {
            "Pages": "" if book.page_count is None else f"{book.page_count:,}",
            "Words": f"{book.word_count:,}",
        }
        for book in (pair.this, pair.other)
    )
    for name, value in this.items():
        if value or other[name]:
            yield name, value, other[name], _compared(value, other[name])


def _compared(this: str, other: str) -> str:
    """Return in words how two values compare. The order of words is ignored, as in "Austen, Jane"."""
    if not (this and other):
        return "unknown"
    if this == other:
        return "the same"
    words, other_words = (sorted(re.findall(r"\w+", value.casefold())) for value in (this, other))
    return "the same words" if words and words == other_words else "different"


def _figures(pair: ShownPair) -> Iterator[_Figure]:
    """Yield the measurements, with the thresholds of the definitions."""
    if pair.finding is None or (signals := pair.finding.signals) is None:
        return
    text, pages, span = signals.text_shared, signals.pages_matched, signals.span_matched
    shares = [text.left, text.right]
    line = "at least %(share)s of either book: related"
    yield _Figure("Text found in the other book", shares, line, LEAST_SHARED, text.most >= LEAST_SHARED)
    line = "at least %(share)s of both books: same text"
    yield _Figure("Text found in the other book", shares, line, MOST, text.least >= MOST)
    if signals.unit == "page":
        name, line = "Pages that match one to one", "at least %(share)s of both books: same pages"
        yield _Figure(name, [pages.left, pages.right], line, MOST, pages.least >= MOST)
        name = "Pages in the longest run of matches"
        line = "at least %(share)s of either book: part of the other"
        yield _Figure(name, [span.left, span.right], line, PART, span.most >= PART)
        name, line = "Pages across page breaks of the other book", "at least %(share)s: other page breaks"
        yield _Figure(name, [signals.other_breaks], line, OTHER_BREAKS, signals.other_breaks >= OTHER_BREAKS)
    if (revised := pair.finding.revised) is not None:
        name, line = "Lines with different words or numbers", "at least %(share)s: another issue, not a copy"
        yield _Figure(name, [revised], line, REVISED_LINES, revised >= REVISED_LINES)
    yield _Figure("Similarity of the books (Jaccard of five-word sequences)", [signals.book_similarity])
    yield _Figure("Mean similarity of matching pages", [signals.page_similarity])


def _marked(passages: Sequence[Passage], side: str) -> Markup:
    """Return the words of one side; differing words are marked with their class."""
    names = {kind: escape(name) for kind, name in CLASSES.items()}
    told: list[str] = []
    for passage in passages:
        text: str = getattr(passage, side)
        if passage.kind is None:
            told.append(escape(text))
        else:
            words = text.lstrip()
            mark = f'<mark class="{passage.kind}" title="{names[passage.kind]}">'
            told += text[: len(text) - len(words)], mark, escape(words or "‸"), "</mark>"
    return Markup("".join(told))
