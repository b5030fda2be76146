"""The signals of made and real pairs of books, measured once in a process for every benchmark that asks."""

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
"""The classifiers set by hand: the one in use, and one in the form of the paper's."""
HALVES: tuple[Half, Half] = ("tuning", "report")


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """The signals of two paginated books, and what the classifiers set by hand make of them."""

    signals: Signals
    metadata: tuple[Metadata, Metadata]
    works: tuple[str, str]  # whose text the books mainly are
    predicted: Mapping[str, str]  # kind, by classifier


@dataclass(frozen=True, slots=True)
class KnownPair:
    """A pair whose kind is known: from how it was made, or from a reader."""

    pair: MeasuredPair
    kind: str
    error_rate: float  # OCR errors made per character on each side, 0 to 1; none in a real pair


@dataclass(frozen=True, slots=True)
class Corpus:
    """The books and the labelled pairs, and the works of each half that have paginated books."""

    books: Sequence[CorpusBook]
    pairs: Sequence[Pair]
    works: Mapping[Half, frozenset[str]]


@cache
def corpus() -> Corpus:
    """The corpus, read once; raises CannotMeasure where there is none."""
    folder = corpus_folder()
    books = list(corpus_books(folder))
    works = [frozenset(shelf) for shelf in halves(books, SEED)]
    return Corpus(books, corpus_pairs(folder), dict(zip(HALVES, works, strict=True)))


@cache
def made(half: Half) -> Sequence[KnownPair]:
    """The made pairs of one half; a minute."""
    warm_up()
    return [
        KnownPair(measured(*pair.compared(), pair.works), pair.kind, pair.error_rate)
        for pair in made_pairs(corpus().books, half, PER_KIND, SEED)
    ]


@cache
def real(half: Half) -> Sequence[KnownPair]:
    """The real pairs of paginated books that a reader labelled and that have no work of the other half.

    Those that have no work of either half count with the report half.
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
    """The half that these works are in; None: one is in each."""
    touched = [half for half in HALVES if works & corpus().works[half]]
    if len(touched) > 1:
        return None
    return touched[0] if touched else "report"


@cache
def strangers(half: Half) -> Sequence[MeasuredPair]:
    """Every two paginated books of different works of one half that the corpus does not name as a pair."""
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
    """The signals of two books, and their kinds."""
    relation = relate(left, right)
    assert relation.signals is not None
    metadata = (left.metadata, right.metadata)
    predicted = {name: classify(relation.signals, *metadata).kind for name, classify in BY_HAND.items()}
    return MeasuredPair(relation.signals, metadata, works, predicted)
