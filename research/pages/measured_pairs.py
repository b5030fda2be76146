"""Signals of made and real pairs of books, measured once per process for all benchmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from bench.data.book_pairs import PER_KIND, SEED, Half, halves, made_pairs
from bench.data.labelled_pairs import ComparedCorpus, book_span, labelled_pairs
from bench.harness.corpus import CorpusBook, Pair, corpus_books, corpus_folder, corpus_pairs
from bookprint_core.model import Metadata
from bookprint_core.relations.classification import shares_v1
from bookprint_core.relations.relation import CLASSIFIER, ComparedBook, relate
from bookprint_core.relations.signals import Signals
from bookprint_core.warm_up import warm_up
from research.pages.filters_v1 import filters_v1

BY_HAND = {CLASSIFIER: shares_v1, "filters-v1": filters_v1}
"""Classifiers set by hand: the one in use, and one in the form of the paper's."""
HALVES: tuple[Half, Half] = ("tuning", "report")


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """Signals of two paginated books, and their kinds by the classifiers set by hand."""

    signals: Signals
    metadata: tuple[Metadata, Metadata]
    works: tuple[str, str]  # main work of each book
    predicted: Mapping[str, str]  # kind, by classifier


@dataclass(frozen=True, slots=True)
class KnownPair:
    """A pair with a known kind, by construction or by a reader."""

    pair: MeasuredPair
    kind: str
    error_rate: float  # made OCR errors per character on each side, 0 to 1; 0 for a real pair


@dataclass(frozen=True, slots=True)
class Corpus:
    """Books, labelled pairs, and the works of each half with paginated books."""

    books: Sequence[CorpusBook]
    pairs: Sequence[Pair]
    works: Mapping[Half, frozenset[str]]


@cache
def corpus() -> Corpus:
    """Return the corpus, read once; raises CannotMeasure if there is none."""
    folder = corpus_folder()
    books = list(corpus_books(folder))
    works = [frozenset(shelf) for shelf in halves(books, SEED)]
    return Corpus(books, corpus_pairs(folder), dict(zip(HALVES, works, strict=True)))


@cache
def made(half: Half) -> Sequence[KnownPair]:
    """Return the made pairs of one half; takes a minute."""
    warm_up()
    return [
        KnownPair(measured(*pair.compared(), pair.works), pair.kind, pair.error_rate)
        for pair in made_pairs(corpus().books, half, PER_KIND, SEED)
    ]


@cache
def real(half: Half) -> Sequence[KnownPair]:
    """Return the labelled real pairs of paginated books without works of the other half.

    Pairs without a work of either half belong to the report half.
    """
    warm_up()
    books = {book.id: book for book in corpus().books}
    compared = ComparedCorpus()
    found = []
    for label in labelled_pairs():
        left, right = (book_span(side, books) for side in (label.left, label.right))
        works = left.work, right.work
        if left.pages and right.pages and _half_of(frozenset(works)) == half:
            pair = measured(compared(left, str(label.left)), compared(right, str(label.right)), works)
            found.append(KnownPair(pair, label.kind, 0.0))
    return found


def _half_of(works: frozenset[str]) -> Half | None:
    """Return the half of these works; None if they are in both halves."""
    touched = [half for half in HALVES if works & corpus().works[half]]
    if len(touched) > 1:
        return None
    return touched[0] if touched else "report"


@cache
def strangers(half: Half) -> Sequence[MeasuredPair]:
    """Return all unlabelled pairs of paginated books of different works of one half."""
    warm_up()
    named = {frozenset((pair.a, pair.b)) for pair in corpus().pairs}
    shelf = [book for book in corpus().books if book.pages and book.work in corpus().works[half]]
    compared = ComparedCorpus()
    return [
        measured(compared(left), compared(right), (left.work, right.work))
        for left, right in combinations(shelf, 2)
        if left.work != right.work and frozenset((left.id, right.id)) not in named
    ]


def measured(left: ComparedBook, right: ComparedBook, works: tuple[str, str]) -> MeasuredPair:
    """Return the signals of two books, and their kinds."""
    relation = relate(left, right)
    assert relation.signals is not None
    metadata = (left.metadata, right.metadata)
    predicted = {name: classify(relation.signals, *metadata).kind for name, classify in BY_HAND.items()}
    return MeasuredPair(relation.signals, metadata, works, predicted)
