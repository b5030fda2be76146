"""The doubt about a relation: where figures lie near the line that decides, or contradict each other."""

from dataclasses import replace

import pytest

from bookprint_core.relations.classification import Classification, Direction, Kind
from bookprint_core.relations.doubt import doubt
from bookprint_core.relations.signals import Sides, Signals
from tests.core.printed_pages import book, related, set_anew

WHOLE = book(60, 31)
SIGNALS = related(WHOLE, set_anew(WHOLE, 130)).signals
assert SIGNALS is not None


def found(kind: Kind, direction: Direction | None = None, confidence: float = 1.0) -> Classification:
    return Classification(kind, direction, confidence, {kind: confidence}, "")


def sharing(left: float, right: float, jaccard: float = 0.0) -> Signals:
    assert SIGNALS is not None
    return replace(SIGNALS, text_shared=Sides(left, right), book_similarity=jaccard)


EVEN, PART_OF_TEN = Sides(10_000, 10_000), Sides(100_000, 10_000)


@pytest.mark.parametrize(
    ("of", "signals", "words", "revised", "least", "most"),
    [
        # Nothing speaks against it.
        (found("SAME_TEXT"), sharing(0.95, 0.95, 0.8), EVEN, None, 0.0, 0.0),
        (found("OVERLAPPING_TEXT", "contains"), sharing(0.1, 1.0, 0.09), PART_OF_TEN, None, 0.0, 0.01),
        (found("UNRELATED"), sharing(0.0, 0.0, 0.001), EVEN, None, 0.0, 0.01),
        (found("INSUFFICIENT_TEXT"), None, Sides(0, 0), None, 0.0, 0.0),
        # The classifier itself is not sure.
        (found("SAME_TEXT", confidence=0.6), sharing(0.8, 0.8, 0.6), EVEN, None, 0.4, 0.4),
        # Nearly a part, or hardly one; half of a book is no part.
        (found("OVERLAPPING_TEXT"), sharing(0.088, 0.88, 0.08), PART_OF_TEN, None, 0.85, 1.0),
        (found("OVERLAPPING_TEXT", "contains"), sharing(0.091, 0.91, 0.08), PART_OF_TEN, None, 0.5, 0.8),
        (found("OVERLAPPING_TEXT"), sharing(0.05, 0.5, 0.04), PART_OF_TEN, None, 0.0, 0.01),
        # Shingles have in common what no pages match.
        (found("UNRELATED"), sharing(0.0, 0.0, 0.07), PART_OF_TEN, None, 0.9, 1.0),
        (found("OVERLAPPING_TEXT"), sharing(0.3, 0.3, 0.98), EVEN, None, 0.9, 1.0),
        # Half of one book is all of the other, which is as long.
        (found("OVERLAPPING_TEXT", "contained_in"), sharing(1.0, 0.5, 0.5), EVEN, None, 0.45, 0.55),
        # Metadata call issues of one form what the text calls copies.
        (found("OVERLAPPING_TEXT"), sharing(0.95, 0.95, 0.9), EVEN, None, 0.5, 0.5),
        # Nearly as many lines were revised as make another issue; few, and most.
        (found("SAME_PAGINATION"), sharing(1.0, 1.0, 0.9), EVEN, 0.012, 0.8, 1.0),
        (found("OVERLAPPING_TEXT"), sharing(1.0, 1.0, 0.9), EVEN, 0.018, 0.8, 1.0),
        (found("SAME_PAGINATION"), sharing(1.0, 1.0, 0.9), EVEN, 0.0, 0.0, 0.0),
        (found("OVERLAPPING_TEXT"), sharing(1.0, 1.0, 0.9), EVEN, 0.4, 0.0, 0.0),
    ],
)
def test_doubt_is_what_figures_leave(
    of: Classification,
    signals: Signals | None,
    words: Sides,
    revised: float | None,
    least: float,
    most: float,
) -> None:
    told = doubt(of, signals, words, revised)

    assert least - 1e-9 <= told <= most + 1e-9
    if signals is not None:
        assert doubt(of, signals.swapped(), words.swapped(), revised) == pytest.approx(told)


def test_books_without_shingles_are_doubted_by_their_pages_alone() -> None:
    assert doubt(found("UNRELATED"), sharing(0.0, 0.0), Sides(0, 5_000)) == 0.0


def test_relation_has_the_doubt_of_its_kind() -> None:
    assert related(WHOLE, set_anew(WHOLE, 130)).doubt < 0.05
    assert related(WHOLE, WHOLE[10:45] + book(7, 32)).doubt > 0.5
