"""The page of a pair of books: why they are related, a dot plot of their pages, and words that differ."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined

from app.core.relations.classification import LEAST_SHARED, MOST, OTHER_BREAKS, PART, Kind
from app.core.relations.related import MatchedRun
from app.core.relations.relation import REVISED_LINES
from app.core.relations.word_differences import DIFFERENCES, Passage
from app.services.pairs.evidence import LONGEST_SHOWN, PairedBook, ShownPair

MOST_RUNS = 200
"""Runs that are listed and drawn, the longest."""

KINDS: dict[Kind, str] = {
    "SAME_PAGINATION": "same text, same pages",
    "DIFFERENT_PAGINATION": "same text, other page breaks",
    "SAME_TEXT": "same text, pages not known",
    "CONTIGUOUS_SUBSET": "one is a part of the other",
    "OVERLAPPING_TEXT": "some text in common",
    "UNRELATED": "unrelated",
    "INSUFFICIENT_TEXT": "too little text to say",
}
CLASSES = {
    "spelling": "Spelling, long s, accents, capitals",
    "hyphen": "Hyphens and blanks",
    "ocr": "Likely misread (OCR)",
    "punctuation": "Punctuation",
    "other": "Other words",
}
_DIRECTIONS = {
    "contains": "This book contains the other one.",
    "contained_in": "This book is a part of the other one.",
}

_WIDTH, _HEIGHT = 560.0, 420.0
"""Of the plot without its margins, in units of the SVG."""

_TICKS = 6

_templates = Environment(
    loader=PackageLoader("app.web"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)


def self_contained_page(pair: ShownPair) -> str:
    """The page as one file that needs no other."""
    return _templates.get_template("pair.html").render(
        pair=pair,
        kinds=KINDS,
        classes=CLASSES,
        difference_kinds=DIFFERENCES,
        direction=_DIRECTIONS.get(pair.finding.summary.direction or ""),
        unit="page" if pair.matches.unit == "page" else "window",
        plot=_plot(pair),
        fields=list(_fields(pair)),
        figures=list(_figures(pair)),
        longest_shown=LONGEST_SHOWN,
        marked=_marked,
        range_of=_range,
    )


@dataclass(frozen=True, slots=True)
class _ShownRun:
    """A run as it is drawn and listed."""

    run: MatchedRun
    moved: bool  # it crosses runs that have more pages
    points: str  # of its line


@dataclass(frozen=True, slots=True)
class _Figure:
    """A signal, of each book or of both."""

    name: str
    values: Sequence[str]
    line: str = ""
    reached: bool | None = None


@dataclass(frozen=True, slots=True)
class _Plot:
    """The geometry of the dot plot: the pages of this book from left to right, of the other downwards."""

    width: float
    height: float
    runs: Sequence[_ShownRun]
    left_out: int
    this_gaps: Sequence[tuple[float, float]]  # start and length of pages without a match
    other_gaps: Sequence[tuple[float, float]]
    this_ticks: Sequence[tuple[float, str]]
    other_ticks: Sequence[tuple[float, str]]


def _plot(pair: ShownPair) -> _Plot:
    counts = pair.this.unit_count, pair.other.unit_count
    x, y = (size / max(count, 1) for size, count in zip((_WIDTH, _HEIGHT), counts, strict=True))
    runs = list(pair.matches.by_run())
    longest = sorted(runs, key=lambda run: -len(run.pairs))[:MOST_RUNS]
    straight = _in_order(longest)
    shown = [
        _ShownRun(run, run not in straight, _points(run, x, y))
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
    )


def _in_order(runs: Sequence[MatchedRun]) -> list[MatchedRun]:
    """The runs that follow each other in both books, with most pages in all; two may share a page."""
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
    """The corners of a run's line: pairs between which both books go on by one page are left out."""
    pairs = run.pairs
    corners = [
        pair
        for before, pair, after in zip([None, *pairs[:-1]], pairs, [*pairs[1:], None], strict=True)
        if before is None or after is None or _step(before, pair) != _step(pair, after)
    ]
    return " ".join(f"{(i + 0.5) * x:.1f},{(j + 0.5) * y:.1f}" for i, j in corners)


def _step(one: Sequence[int], two: Sequence[int]) -> tuple[int, int]:
    return two[0] - one[0], two[1] - one[1]


def _gaps(matched: set[int], count: int, scale: float) -> Iterator[tuple[float, float]]:
    for found, pages in groupby(range(count), key=matched.__contains__):
        if not found:
            gap = list(pages)
            yield gap[0] * scale, len(gap) * scale


def _ticks(count: int, scale: float, labels: Sequence[str | None] | None) -> Iterator[tuple[float, str]]:
    """Places of some pages with what is printed on them; in brackets their number where nothing is."""
    for page in sorted({round(step * (count - 1) / (_TICKS - 1)) for step in range(_TICKS)} if count else ()):
        label = labels[page] if labels else None
        yield (page + 0.5) * scale, label or f"[{page + 1}]"


def _range(pages: tuple[int, int], labels: Sequence[str | None] | None) -> str:
    """Pages as they are counted from 1, and as their numbers are printed."""
    first, last = pages[0] + 1, pages[1]
    told = f"{first}" if first == last else f"{first}–{last}"
    ends = [(labels[page - 1] or "–") for page in (first, last)] if labels else ["–", "–"]
    if ends == ["–", "–"]:
        return told
    return f"{told} (printed {ends[0] if first == last else '–'.join(ends)})"


def _fields(pair: ShownPair) -> Iterator[tuple[str, str, str]]:
    """What is known of both books, by the name of the field."""
    told: dict[str, Callable[[PairedBook], str | None]] = {
        "Title": lambda book: book.metadata.title,
        "Authors": lambda book: "; ".join(book.metadata.authors),
        "Year": lambda book: str(book.metadata.year or ""),
        "Volume": lambda book: book.metadata.volume,
        "Language": lambda book: book.metadata.language,
        "Identifiers": lambda book: " ".join(book.metadata.identifiers),
        "Pages": lambda book: "" if book.page_count is None else f"{book.page_count:,}",
        "Words": lambda book: f"{book.word_count:,}",
    }
    for name, of in told.items():
        yield name, of(pair.this) or "", of(pair.other) or ""


def _figures(pair: ShownPair) -> Iterator[_Figure]:
    """The signals, with the lines that definitions draw."""
    signals = pair.finding.signals
    if signals is None:
        return
    text, pages, span = signals.text_shared, signals.pages_matched, signals.span_matched
    shares = [f"{text.left:.0%}", f"{text.right:.0%}"]
    yield _Figure(
        "Text that the other book has",
        shares,
        f"{LEAST_SHARED:.0%} of either: related",
        text.most >= LEAST_SHARED,
    )
    yield _Figure("The same", shares, f"{MOST:.0%} of both: the same text", text.least >= MOST)
    if signals.unit == "page":
        yield _Figure(
            "Pages that match one to one",
            [f"{pages.left:.0%}", f"{pages.right:.0%}"],
            f"{MOST:.0%} of both: the same pages",
            pages.least >= MOST,
        )
        yield _Figure(
            "The same within the longest stretch",
            [f"{span.left:.0%}", f"{span.right:.0%}"],
            f"{PART:.0%} of either: a part of the other",
            span.most >= PART,
        )
        breaks = signals.other_breaks
        yield _Figure(
            "Pages found across page breaks",
            [f"{breaks:.0%}"],
            f"{OTHER_BREAKS:.0%}: other pages",
            breaks >= OTHER_BREAKS,
        )
    if (revised := pair.finding.revised) is not None:
        line = f"{REVISED_LINES:.1%}: another issue, no copy"
        yield _Figure("Lines with other words or numbers", [f"{revised:.1%}"], line, revised >= REVISED_LINES)
    yield _Figure("Similarity of all words in fives (Jaccard)", [f"{signals.book_similarity:.2f}"])
    yield _Figure("Mean similarity of matching pages", [f"{signals.page_similarity:.2f}"])


def _marked(passages: Sequence[Passage], side: str) -> Iterator[tuple[str, str | None, str]]:
    """White space, class of difference (None: the same words) and words of each passage of one side."""
    for passage in passages:
        text: str = getattr(passage, side)
        words = text.lstrip()
        yield text[: len(text) - len(words)], passage.kind, words
