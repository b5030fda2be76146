"""Quality of the relation classifier on real pairs labelled by a reader."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bench.data.book_pairs import SEED, SHARES, TABLE_I, halves
from bench.data.labelled_pairs import KINDS, ComparedCorpus, LabelledPair, book_span, labelled_pairs
from bench.harness.confusion import Confusion, wilson
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from bookprint_core.relations.classification import Classification
from bookprint_core.relations.relation import CLASSIFIER, relate
from bookprint_core.warm_up import warm_up

PAGED_KINDS = tuple(kind for kind in KINDS if kind != "SAME_TEXT")
WHOLE_BOOKS, WITH_PARTS, ONE_WITHOUT_PAGES = GROUPS = (
    "whole books",
    "a part and a whole, or two parts",
    "one book without pages",
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled pair and its classification."""

    pair: LabelledPair
    group: str  # one of GROUPS
    works: frozenset[str]  # works of both sides
    classified: Classification

    @property
    def is_right(self) -> bool:
        """Return whether label and classification are equal."""
        return self.classified.kind == self.pair.kind


def run(out_dir: Path) -> Section:
    """Relate the labelled pairs; takes about a minute of processor time."""
    warm_up()
    pairs, books = labelled_pairs(), list(corpus_books(corpus_folder()))
    tuned_on = halves(books, SEED)[0].keys()
    judged = list(_judge(pairs, {book.id: book for book in books}))
    paged = [each for each in judged if each.group != ONE_WITHOUT_PAGES]
    return Section(
        title="Relations of real pairs, labelled by reading",
        command="python -m bench real_relations",
        tables=[
            _labels(judged),
            scores(paged),
            matrix(judged),
            _by_group(judged, tuned_on),
            _errors(judged),
        ],
        notes=[
            "Shares in %, with Wilson 95 % intervals. Each label is one reader's, from the beginnings "
            "and ends of pages at the start, the quarters and the end of both books, and from where "
            "their phrases stand in the other book, by plain search. All labels were written before "
            "these pairs were classified, and none was changed after; that the readings of scans are "
            "told to be of one pagination was known (decision 13). "
            f"{agreement(pairs)}",
            "The corpus is no uniform sample. 19 pairs are readings of five scans, 24 are editions of "
            "twelve Arabic works, several of which have one report to a page. Pairs of one work are not "
            "independent, so the intervals are too narrow; the recall of works counts each two works "
            "once. No file is a volume of another with the same pages: the contiguous subsets, and a few "
            "other pairs, are volumes, issues, books or chapters of one copy, cut where they begin and "
            "end in print, against another copy. No yearly books have pages; two issues of a magazine "
            "stand for them. Thresholds were set on made pairs of half the works, some of which are here "
            "again; the last table of counts has the pairs without those.",
            "Labels follow the lines of decision 13. Where Spasojević and Poncin leave it "
            "open, text in common is an overlap from passages of a page in a row and 3 % of either text "
            "on. Quotations and reports scattered through other works are UNRELATED, and not clear where "
            "they are near 3 %. Precision is given for these pairs as they are, and weighted to the "
            "proportions of Table I of Spasojević and Poncin (300 pairs, sampled uniformly and labelled by "
            "hand), in which no pair is unrelated.",
        ],
    )


def _judge(pairs: Iterable[LabelledPair], books: Mapping[str, CorpusBook]) -> Iterator[Judged]:
    compared = ComparedCorpus()
    for pair in pairs:
        spans = (pair.left, pair.right)
        sides = [book_span(side, books) for side in spans]
        left, right = (compared(book, str(side)) for side, book in zip(spans, sides, strict=True))
        group = WITH_PARTS if pair.left.pages or pair.right.pages else WHOLE_BOOKS
        if not all(book.pages for book in sides):
            group = ONE_WITHOUT_PAGES
        works = frozenset(book.work for book in sides)
        yield Judged(pair, group, works, relate(left, right).classification)


def agreement(pairs: Sequence[LabelledPair]) -> str:
    """Return the result of the second reading in one sentence."""
    twice = [pair for pair in pairs if pair.second_kind is not None]
    same = sum(pair.second_kind == pair.kind for pair in twice)
    return (
        f"The same reader read {len(twice)} of the {len(pairs)} pairs, drawn at random, again soon after: "
        f"other pages, without ids and titles. {same} labels were the same, "
        f"{wilson(same / max(1, len(twice)), len(twice))} %; another reader may agree less."
    )


def scores(judged: Sequence[Judged]) -> Table:
    """Return precision and recall of each class, with those of Table I."""
    confusion = _confusion(judged)
    counts = Counter(each.pair.kind for each in judged)
    rows: list[list[Cell]] = []
    for kind in PAGED_KINDS:
        by_works: dict[frozenset[str], list[bool]] = {}
        for each in judged:
            if each.pair.kind == kind:
                by_works.setdefault(each.works, []).append(each.is_right)
        weighted = str(confusion.precision(kind, SHARES)) if kind in SHARES else ""
        recall = round(100 * mean(map(mean, by_works.values())), 1) if by_works else None
        own = [str(confusion.precision(kind, counts)), weighted, str(confusion.recall(kind)), recall]
        rows.append([kind, counts[kind], len(by_works), *own, *TABLE_I.get(kind, (None,) * 4)])
    headers = ["class", "pairs", "works", "precision", "weighted", "recall", "recall of works"]
    headers += ["S. & P., manual: P", "R", "their SVM: P", "R"]
    directed = [each for each in judged if each.pair.direction is not None and each.is_right]
    true = sum(each.classified.direction == each.pair.direction for each in directed)
    return Table(
        headers,
        rows,
        f"{CLASSIFIER}, both books with pages: {sum(each.is_right for each in judged)} of {len(judged)} "
        f"pairs right, direction right in {true} of {len(directed)} subsets found",
    )


def matrix(judged: Sequence[Judged]) -> Table:
    """Count the pairs of each class by classified kind."""
    columns = [*KINDS, "INSUFFICIENT_TEXT"]
    rows = [[kind, *_confusion(judged).row(kind, columns)] for kind in KINDS]
    return Table(["", *columns], rows, f"{CLASSIFIER}, all {len(judged)} pairs: rows are the labels")


def _confusion(judged: Iterable[Judged]) -> Confusion:
    return Confusion((each.pair.kind, each.classified.kind) for each in judged)


def _labels(judged: Sequence[Judged]) -> Table:
    counts = Counter((each.pair.kind, each.group) for each in judged)
    unclear = Counter(each.pair.kind for each in judged if not each.pair.clear)
    return Table(
        ["label", *GROUPS, "of these not clear"],
        [[kind, *(counts[kind, group] for group in GROUPS), unclear[kind]] for kind in KINDS],
        f"{len(judged)} pairs of {len({each.works for each in judged})} works or pairs of works",
    )


def _by_group(judged: Sequence[Judged], tuned_on: Collection[str]) -> Table:
    groups = [(group, [each for each in judged if each.group == group]) for group in GROUPS]
    groups.append(("of all: not clear", [each for each in judged if not each.pair.clear]))
    groups.append(("of all: no work tuned on", [each for each in judged if each.works.isdisjoint(tuned_on)]))
    rows: list[list[Cell]] = []
    for name, chosen in groups:
        right, count = sum(each.is_right for each in chosen), len(chosen)
        rows.append([name, f"{right} of {count}, {wilson(right / max(1, count), count)} %"])
    return Table(["pairs", CLASSIFIER], rows, "Right, by what is compared")


def _errors(judged: Sequence[Judged]) -> Table:
    rows: list[list[Cell]] = []
    for answer, pair in ((each.classified, each.pair) for each in judged if not each.is_right):
        label = pair.kind if pair.clear else f"{pair.kind} (not clear)"
        rows.append([str(pair.left), str(pair.right), label, answer.kind, answer.because, pair.evidence])
    headers = ["left", "right", "label", "classified as", "because", "evidence of the label"]
    return Table(headers, rows, f"{CLASSIFIER}: the {len(rows)} pairs it gets wrong")
