"""The figures of `bench real_relations`, and some of the labelled pairs themselves."""

import pytest

from bench.data.labelled_pairs import BookSpan, ComparedCorpus, LabelledPair, book_span, labelled_pairs
from bench.data.real_pairs import HARD_NEGATIVES
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, corpus_pairs
from bench.quality.real_relations import WHOLE_BOOKS, Judged, scores
from bookprint_core.relations.classification import Classification, Direction, Kind
from bookprint_core.relations.relation import relate


def _judged(
    kind: Kind, answer: Kind, works: str, said: Direction | None = None, found: Direction | None = None
) -> Judged:
    span = BookSpan(works)
    pair = LabelledPair(span, span, kind, said, clear=True, second_kind=None, evidence="")
    answered = Classification(answer, found, 1.0, {answer: 1.0}, "")
    return Judged(pair, WHOLE_BOOKS, frozenset(works), answered)


JUDGED = [
    _judged("SAME_PAGINATION", "SAME_PAGINATION", "a"),
    _judged("SAME_PAGINATION", "SAME_PAGINATION", "a"),
    _judged("SAME_PAGINATION", "SAME_PAGINATION", "a"),
    _judged("SAME_PAGINATION", "OVERLAPPING_TEXT", "b"),
    _judged("CONTIGUOUS_SUBSET", "CONTIGUOUS_SUBSET", "c", "contains", "contains"),
    _judged("CONTIGUOUS_SUBSET", "CONTIGUOUS_SUBSET", "d", "contains", "contained_in"),
    _judged("UNRELATED", "SAME_PAGINATION", "e"),
]


def test_precision_and_recall_of_a_class() -> None:
    table = scores(JUDGED)
    rows = {row[0]: row for row in table.rows}
    kind, pairs, works, precision, weighted, recall, of_works, *paper = rows["SAME_PAGINATION"]
    assert (kind, pairs, works) == ("SAME_PAGINATION", 4, 2)
    assert str(precision).startswith("75.0 (")  # the unrelated pair is among the four
    assert str(weighted).startswith("100.0 (")  # in Table I no pair is unrelated
    assert str(recall).startswith("75.0 (")
    assert of_works == 50.0  # one of two works, though three of four pairs
    assert paper == [98.2, 88.4, 96.3, 97.4]
    assert table.caption.startswith("shares-v1, both books with pages: 5 of 7 pairs right")
    assert table.caption.endswith("direction right in 1 of 2 subsets found")


@pytest.fixture(scope="module")
def books() -> dict[str, CorpusBook]:
    return {book.id: book for book in corpus_books(corpus_folder())}


@pytest.mark.corpus
@pytest.mark.usefixtures("corpus")
def test_every_labelled_book_and_page_is_in_the_corpus(books: dict[str, CorpusBook]) -> None:
    for pair in labelled_pairs():
        paged = [bool(book_span(side, books).pages) for side in (pair.left, pair.right)]
        assert any(paged), pair
        assert (pair.kind == "SAME_TEXT") <= (not all(paged)), pair
        assert all(paged) or pair.kind in ("SAME_TEXT", "OVERLAPPING_TEXT"), pair


@pytest.mark.corpus
@pytest.mark.usefixtures("corpus")
def test_other_works_are_unrelated_unless_they_quote_each_other(books: dict[str, CorpusBook]) -> None:
    compared = ComparedCorpus()
    others = [pair for pair in corpus_pairs(corpus_folder()) if pair.relation in HARD_NEGATIVES]
    for pair in others:
        found = relate(compared(books[pair.a]), compared(books[pair.b])).classification.kind
        assert found == "UNRELATED" or (found == "OVERLAPPING_TEXT" and pair.containment > 0.03), (
            pair,
            found,
        )
    assert len(others) > 100
