"""The signals of made and real pairs of books, measured once in a process for every benchmark that asks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from app.core.model import Metadata
from app.core.relations.relation import CLASSIFIERS, ComparedBook, relate
from app.core.relations.signals import Signals
from app.core.warm_up import warm_up
from bench.data.book_pairs import SHARES, Half, RealPair, made_pairs, real_pairs
from bench.data.compared_books import ComparedCorpus, compared_books
from bench.data.paginated_books import halves
from bench.harness.corpus import CorpusBook, Pair, corpus_books, corpus_folder, corpus_pairs
from bench.quality.relations import PER_KIND, SEED

HALVES: tuple[Half, Half] = ("tuning", "report")
EDITIONS = ("same_work", "contains", "overlaps")
"""Labels of pairs that are related somehow."""
RELATED = frozenset(SHARES)
"""The kinds of books that share text."""
OTHER_WORKS = "other works"
"""Stands for the label of two works that the corpus does not name as a pair."""


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """The signals of two paginated books, and what the classifiers set by hand make of them."""

    signals: Signals
    metadata: tuple[Metadata, Metadata]
    works: tuple[str, str]  # whose text the books mainly are
    predicted: Mapping[str, str]  # kind, by classifier


@dataclass(frozen=True, slots=True)
class MadeMeasure:
    """A made pair and its true kind."""

    pair: MeasuredPair
    kind: str
    error_rate: float  # OCR errors per character on each side, 0 to 1


@dataclass(frozen=True, slots=True)
class RealMeasure:
    """A pair of the corpus, and what is known of it."""

    pair: MeasuredPair
    label: str  # the corpus's relation, "same scans", or `OTHER_WORKS`
    right: frozenset[str]  # the kinds that are right


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
    works = [frozenset(shelf.works) for shelf in halves(books, SEED)]
    return Corpus(books, corpus_pairs(folder), dict(zip(HALVES, works, strict=True)))


@cache
def made(half: Half) -> Sequence[MadeMeasure]:
    """The made pairs of one half: of the report half those of `bench relations`; a minute."""
    warm_up()
    return [
        MadeMeasure(measured(*compared_books(pair), pair.works), pair.truth.kind, pair.error_rate)
        for pair in made_pairs(corpus().books, half, PER_KIND, SEED)
    ]


@cache
def real(half: Half) -> Sequence[RealMeasure]:
    """The pairs of paginated books of the corpus whose works are both in one half."""
    warm_up()
    compared = ComparedCorpus()
    return [
        RealMeasure(
            measured(compared(pair.left), compared(pair.right), (pair.left.work, pair.right.work)),
            pair.label,
            pair.expected or RELATED,
        )
        for pair in [*paginated_pairs(half), *_other_works(half)]
    ]


def paginated_pairs(half: Half) -> Sequence[RealPair]:
    """The pairs that the corpus names, and readings of the same scans."""
    works = corpus().works[half]
    return [
        pair
        for pair in real_pairs(corpus().books, corpus().pairs)
        if pair.left.pages and pair.right.pages and works >= {pair.left.work, pair.right.work}
    ]


def _other_works(half: Half) -> Iterator[RealPair]:
    """Every two books of different works that the corpus does not name."""
    named = {frozenset((pair.a, pair.b)) for pair in corpus().pairs}
    shelf = [book for book in corpus().books if book.pages and book.work in corpus().works[half]]
    for left, right in combinations(shelf, 2):
        if left.work != right.work and frozenset((left.id, right.id)) not in named:
            yield RealPair(left, right, frozenset({"UNRELATED", "OVERLAPPING_TEXT"}), "", OTHER_WORKS, None)


def measured(left: ComparedBook, right: ComparedBook, works: tuple[str, str]) -> MeasuredPair:
    """The signals of two books, and their kinds."""
    relation = relate(left, right)
    assert relation.signals is not None
    metadata = (left.metadata, right.metadata)
    predicted = {name: classify(relation.signals, *metadata).kind for name, classify in CLASSIFIERS.items()}
    return MeasuredPair(relation.signals, metadata, works, predicted)
