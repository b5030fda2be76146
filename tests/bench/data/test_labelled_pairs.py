"""The file of labelled real pairs: every row is whole, and quotes no text."""

from collections import Counter

import pytest

from bench.data.labelled_pairs import KINDS, BookSpan, book_span, labelled_pairs
from bench.harness.corpus import CorpusBook

PAIRS = labelled_pairs()


def test_there_are_enough_pairs_of_every_class() -> None:
    kinds = Counter(pair.kind for pair in PAIRS)
    assert sum(count for kind, count in kinds.items() if kind != "SAME_TEXT") >= 60
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 8, kinds


def test_each_two_books_or_parts_are_labelled_once() -> None:
    sides = Counter(frozenset((pair.left, pair.right)) for pair in PAIRS)
    assert max(sides.values()) == 1
    assert all(len(each) == 2 for each in sides)


def test_every_row_is_whole() -> None:
    for pair in PAIRS:
        assert (pair.direction is not None) == (pair.kind == "CONTIGUOUS_SUBSET"), pair
        assert pair.direction in (None, "contains", "contained_in"), pair
        assert pair.second_kind is None or pair.second_kind in KINDS, pair
        assert pair.evidence.endswith("."), pair
        assert 60 <= len(pair.evidence) <= 300, pair
        assert pair.evidence.isascii(), "Evidence quotes no text."


def test_pages_that_a_book_does_not_have_are_refused() -> None:
    book = CorpusBook("b", "w", "", "", None, "en", "one two three", ["one", "two", "three"])
    part = book_span(BookSpan("b", (2, 3)), {"b": book})
    assert part.pages == ["two", "three"]
    assert part.text == "two\nthree"
    assert book_span(BookSpan("b"), {"b": book}) is book
    for pages in ((0, 2), (3, 2), (2, 4)):
        with pytest.raises(ValueError, match="real_relations"):
            book_span(BookSpan("b", pages), {"b": book})
