"""Quality of the classifier of relations: on made pairs of works not tuned on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
)
from bench.data.pair_truth import borderline
from bench.harness.confusion import Confusion
from bench.harness.corpus import corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from bookprint_core.relations.relation import CLASSIFIER, relate
from bookprint_core.warm_up import warm_up

PAPER = ["P", "R", "their SVM: P", "R"]
"""Columns of Table I of Spasojević and Poncin (2011)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The classification of one made pair, and the truth."""

    truth: str
    predicted: str
    error_rate: float
    borderline: bool
    direction_right: bool | None  # None: the truth has none, or the class was missed
    mapped: tuple[int, int, int]  # pairs of pages that match in truth, that were found, and both


def run(out_dir: Path) -> Section:
    """Relate made pairs; about two minutes on one core."""
    warm_up()
    books = list(corpus_books(corpus_folder()))
    outcomes = [_outcome(pair) for pair in made_pairs(books, "report", PER_KIND, SEED)]
    usual = [each for each in outcomes if each.error_rate <= HARD]
    noisy = [each for each in outcomes if each.error_rate > HARD]
    tables = []
    for rates, chosen in (("0.5 to 5", usual), ("10", noisy)):
        caption = f"{CLASSIFIER}, CER {rates} %: "
        tables.append(_scores(chosen, f"{caption}{len(chosen):,} pairs"))
        columns = [*KINDS, "INSUFFICIENT_TEXT"]
        rows = [[kind, *_confusion(chosen).row(kind, columns)] for kind in KINDS]
        tables.append(Table(["", *columns], rows, f"{caption}rows are the truth"))
    border = _scores(
        [each for each in usual if each.borderline], f"{CLASSIFIER}, borderline pairs among the usual"
    )
    return Section(
        title="Relations of two books",
        command="python -m bench relations",
        tables=[*tables, _by_error_rate(outcomes), border, _page_maps(outcomes)],
        notes=[
            "Shares in %, with Wilson 95 % intervals. Precision is weighted to the proportions of Table I "
            "of Spasojević and Poncin (2011), in which no pair is unrelated. The pairs are made from "
            f"paginated books of the corpus (`bench/data/book_pairs.py`, seed {SEED}), the class is counted "
            "from what both books really print, and the works are not those of the half on which thresholds "
            "were set. Borderline: a figure that the definitions name lies within 10 points of its line, or "
            "5 of that of a subset. macro-F1 counts UNRELATED as a fifth class and takes all as equally "
            "common. Truth and classifier draw the same lines between the classes, which are ours: so these "
            "pairs show how well shares are measured, and not whether a reader would name the classes so; "
            "for that see `python -m bench real_relations`. Unrelated pairs weigh nothing in precision.",
        ],
    )


def _outcome(pair: MadePair) -> Outcome:
    relation, truth = relate(*pair.compared()), pair.truth
    found = relation.classification
    runs = relation.alignment.runs if relation.alignment else ()
    pages = {(i, j) for run in runs for i, j in run.pairs.tolist()}
    directed = truth.direction and found.kind == truth.kind
    return Outcome(
        truth=truth.kind,
        predicted=found.kind,
        error_rate=pair.error_rate,
        borderline=borderline(truth),
        direction_right=found.direction == truth.direction if directed else None,
        mapped=(len(truth.page_map), len(pages), len(pages.intersection(truth.page_map))),
    )


def _confusion(outcomes: Sequence[Outcome]) -> Confusion:
    return Confusion((each.truth, each.predicted) for each in outcomes)


def _scores(outcomes: Sequence[Outcome], caption: str) -> Table:
    confusion = _confusion(outcomes)
    rows: list[list[Cell]] = []
    for kind in KINDS:
        precision = str(confusion.precision(kind, SHARES)) if kind in SHARES else ""
        pairs = sum(each.truth == kind for each in outcomes)
        paper: Sequence[Cell] = TABLE_I.get(kind, (None,) * 4)
        rows.append([kind, pairs, precision, str(confusion.recall(kind)), *paper])
    headers = ["class", "pairs", "precision", "recall", "Spasojević and Poncin, manual: P", *PAPER[1:]]
    return Table(headers, rows, f"{caption}, macro-F1 {100 * confusion.macro_f1(KINDS):.1f}")


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
            shares = [round(100 * common / max(of, 1), 2) for of in (true, mapped)]
            directed = [each.direction_right for each in chosen if each.direction_right is not None]
            rows.append(
                [kind, name, true, *shares, f"{sum(directed)} of {len(directed)}" if directed else ""]
            )
    headers = ["class", "CER, %", "matching pages", "found, %", "of those found true, %", "direction right"]
    return Table(headers, rows, "Page maps and directions")
