"""Quality of the classifier of relations: on made pairs of works not tuned on, and on real pairs."""

import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from app.core.relations.alignment import Alignment, align
from app.core.relations.relation import CLASSIFIER, relate
from app.core.warm_up import warm_up
from bench.data.book_pairs import (
    ERROR_RATES,
    HARD,
    KINDS,
    PER_KIND,
    SEED,
    SHARES,
    TABLE_I,
    MadePair,
    made_pairs,
    real_pairs,
)
from bench.data.compared_books import ComparedCorpus, compared_books
from bench.data.paginated_books import halves
from bench.data.pair_truth import Truth
from bench.harness.confusion import Confusion
from bench.harness.corpus import CorpusBook, Pair, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table

TIMED = 8
"""Every so many pairs the alignment alone is timed too."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The classification of one made pair, and the truth."""

    truth: str
    predicted: str
    recipe: str
    error_rate: float
    borderline: bool
    direction_right: bool | None  # None: the truth has none, or the class was missed
    mapped: tuple[int, int, int]  # pairs of pages that match in truth, that were found, and both
    pages: int  # of both books
    seconds: float  # CPU, from page signatures to verdict
    align_seconds: float | None  # of that, to align; measured on some pairs


def run(out_dir: Path) -> Section:
    """Relate made and real pairs ; about two minutes on one core."""
    warm_up()
    folder = corpus_folder()
    books, pairs = list(corpus_books(folder)), corpus_pairs(folder)
    candidates = ComparedCorpus()
    outcomes = [
        _outcome(number, pair) for number, pair in enumerate(made_pairs(books, "report", PER_KIND, SEED))
    ]
    usual = [each for each in outcomes if each.error_rate <= HARD]
    noisy = [each for each in outcomes if each.error_rate > HARD]
    border = [each for each in usual if each.borderline]
    return Section(
        title="Relations of two books",
        command="python -m bench relations",
        tables=[
            _scores(usual, f"{CLASSIFIER}, CER 0.5 to 5 %: {len(usual):,} pairs"),
            _matrix(usual, f"{CLASSIFIER}, CER 0.5 to 5 %: rows are the truth"),
            _scores(noisy, f"{CLASSIFIER}, CER 10 %: {len(noisy):,} pairs"),
            _matrix(noisy, f"{CLASSIFIER}, CER 10 %: rows are the truth"),
            _by_error_rate(outcomes),
            _scores(border, f"{CLASSIFIER}, borderline pairs among the usual"),
            _page_maps(outcomes),
            *_real(books, pairs, candidates),
            _strangers(books, pairs, candidates),
            _times(outcomes),
        ],
        notes=[
            "Shares in %, with Wilson 95 % intervals. Precision is weighted to the proportions of Table I of "
            "Spasojević and Poncin (2011), in which no pair is unrelated. "
            "The pairs are made from paginated books of the "
            f"corpus (`bench/data/book_pairs.py`, seed {SEED}), the class is counted from what both books "
            "really print, and the works are not those of the half on which thresholds were set. Borderline: "
            "a figure that the definitions name lies within 10 points of its line, or 5 of that of a subset. "
            "macro-F1 counts UNRELATED as a fifth class and takes all as equally common.",
            "Of the real pairs, one was not only reported on: that titles which differ in a number alone "
            "name issues was written for the yearly almanacs among the series.",
        ],
    )


def _outcome(number: int, pair: MadePair) -> Outcome:
    this, other = compared_books(pair)
    started = time.process_time()
    relation = relate(this, other)
    seconds = time.process_time() - started
    align_seconds = None
    if number % TIMED == 0 and this.pages is not None and other.pages is not None:
        started = time.process_time()
        align(this.pages, other.pages)
        align_seconds = time.process_time() - started
    truth = pair.truth
    return Outcome(
        truth=truth.kind,
        predicted=relation.classification.kind,
        recipe=pair.recipe,
        error_rate=pair.error_rate,
        borderline=_borderline(truth),
        direction_right=relation.classification.direction == truth.direction
        if truth.direction and relation.classification.kind == truth.kind
        else None,
        mapped=_mapped(truth, relation.alignment),
        pages=len(pair.left) + len(pair.right),
        seconds=seconds,
        align_seconds=align_seconds,
    )


def _borderline(truth: Truth) -> bool:
    lines = [(min(truth.pages_matched), 0.1, 0.8), (min(truth.text_shared), 0.1, 0.8)]
    lines += [(max(truth.longest_run), 0.05, 0.9), (min(truth.longest_run), 0.1, 0.8)]
    return any(abs(figure - line) <= margin for figure, margin, line in lines)


def _mapped(truth: Truth, alignment: Alignment | None) -> tuple[int, int, int]:
    pairs_found = {(i, j) for run in alignment.runs for i, j in run.pairs.tolist()} if alignment else set()
    return len(truth.page_map), len(pairs_found), len(pairs_found.intersection(truth.page_map))


def _confusion(outcomes: Iterable[Outcome]) -> Confusion:
    return Confusion((each.truth, each.predicted) for each in outcomes)


def _scores(outcomes: Sequence[Outcome], caption: str) -> Table:
    confusion = _confusion(outcomes)
    rows: list[list[Cell]] = []
    for kind in KINDS:
        precision = str(confusion.precision(kind, SHARES)) if kind in SHARES else ""
        paper: Sequence[Cell] = TABLE_I.get(kind, (None,) * 4)
        pairs = sum(each.truth == kind for each in outcomes)
        rows.append([kind, pairs, precision, str(confusion.recall(kind)), *paper])
    return Table(
        [
            "class",
            "pairs",
            "precision",
            "recall",
            "Spasojević and Poncin, manual: P",
            "R",
            "their SVM: P",
            "R",
        ],
        rows,
        f"{caption}, macro-F1 {100 * confusion.macro_f1(KINDS):.1f}",
    )


def _matrix(outcomes: Sequence[Outcome], caption: str) -> Table:
    confusion = _confusion(outcomes)
    columns = [*KINDS, "INSUFFICIENT_TEXT"]
    return Table(["", *columns], [[kind, *confusion.row(kind, columns)] for kind in KINDS], caption)


def _by_error_rate(outcomes: Sequence[Outcome]) -> Table:
    rows: list[list[Cell]] = []
    for rate in ERROR_RATES:
        chosen = [each for each in outcomes if each.error_rate == rate]
        confusion = _confusion(chosen)
        recalls = [round(100 * confusion.recall(kind).value, 1) for kind in KINDS]
        rows.append([100 * rate, len(chosen), round(100 * confusion.macro_f1(KINDS), 1), *recalls])
    headers = ["CER, %", "pairs", "macro-F1", *(f"recall {kind}" for kind in KINDS)]
    return Table(headers, rows, "By error rate")


def _page_maps(outcomes: Sequence[Outcome]) -> Table:
    rows: list[list[Cell]] = []
    for kind in ("SAME_PAGINATION", "CONTIGUOUS_SUBSET"):
        for name, low, high in (("0.5 to 5", 0.0, HARD), ("10", HARD, 1.0)):
            chosen = [each for each in outcomes if each.truth == kind and low < each.error_rate <= high]
            true, mapped, common = (
                sum(counts) for counts in zip(*(each.mapped for each in chosen), strict=True)
            )
            directed = [each.direction_right for each in chosen if each.direction_right is not None]
            rows.append(
                [
                    kind,
                    name,
                    true,
                    round(100 * common / max(true, 1), 2),
                    round(100 * common / max(mapped, 1), 2),
                    f"{sum(directed)} of {len(directed)}" if directed else "",
                ]
            )
    return Table(
        ["class", "CER, %", "matching pages", "found, %", "of those found true, %", "direction right"],
        rows,
        "Page maps and directions",
    )


def _real(books: Sequence[CorpusBook], pairs: Sequence[Pair], candidate: ComparedCorpus) -> Iterator[Table]:
    """Pairs of the corpus: the classes found in each collection, and the errors."""
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    misses: list[list[Cell]] = []
    for pair in real_pairs(books, pairs):
        relation = relate(candidate(pair.left), candidate(pair.right))
        kind = relation.classification.kind
        counts[pair.source, pair.label, kind] += 1
        if pair.expected is not None and kind not in pair.expected:
            wrong[pair.source, pair.label] += 1
            misses.append([pair.left.id, pair.right.id, pair.label, kind, relation.classification.because])
    columns = [*KINDS, "SAME_TEXT", "INSUFFICIENT_TEXT"]
    groups = sorted({(source, label) for source, label, _ in counts})
    yield Table(
        ["collection", "label", *columns, "wrong"],
        [[*group, *(counts[*group, kind] for kind in columns), wrong[group]] for group in groups],
        f"{CLASSIFIER} on real pairs; editions (same_work, contains, overlaps) are not labelled",
    )
    if misses:
        yield Table(
            ["left", "right", "label", "classified as", "because"], misses, "Real pairs classified wrongly"
        )


def _strangers(books: Sequence[CorpusBook], pairs: Sequence[Pair], candidate: ComparedCorpus) -> Table:
    """Every two paginated books of different works in the half reported that the corpus does not label."""
    labelled = {frozenset((pair.a, pair.b)) for pair in pairs}
    known = {book.id: book for book in books}
    shelf = [known[source.id] for source in halves(books, SEED)[1].sources.values()]
    counts: Counter[tuple[str, str]] = Counter()
    for left, right in combinations(shelf, 2):
        if left.work != right.work and frozenset((left.id, right.id)) not in labelled:
            languages = "the same language" if left.language == right.language else "two languages"
            counts[languages, relate(candidate(left), candidate(right)).classification.kind] += 1
    columns = [*KINDS, "INSUFFICIENT_TEXT"]
    return Table(
        ["works in", *columns],
        [
            [name, *(counts[name, kind] for kind in columns)]
            for name in ("the same language", "two languages")
        ],
        f"{CLASSIFIER} on all pairs of works of the half reported",
    )


def _times(outcomes: Sequence[Outcome]) -> Table:
    whole = [1000 * each.seconds for each in outcomes]
    aligning = [1000 * each.align_seconds for each in outcomes if each.align_seconds is not None]
    pages = statistics.mean(each.pages / 2 for each in outcomes)
    rows: list[list[Cell]] = [
        [name, len(times), round(statistics.mean(times), 2), round(statistics.median(times), 2)]
        for name, times in (("align, measure, classify", whole), ("align alone", aligning))
    ]
    return Table(
        ["step", "pairs", "mean, ms", "median, ms"],
        rows,
        f"CPU time per pair, signatures at hand; books of {pages:.0f} pages on the average",
    )
