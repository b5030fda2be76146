"""The signals of two books: those of the paper and the shares that the definitions ask for."""

from dataclasses import replace

import numpy as np
import pytest

from bookprint_core.relations.alignment import align
from bookprint_core.relations.signals import SPAN_GAP, Sides, Signals, longest_span, measure
from tests.core.printed_pages import BLANK, Pages, book, read, set_anew, signed

WHOLE = book(60, 11)
OTHER = book(60, 12)
_COLUMNS = ("pairs", "similarities", "same_page")


def measured(left: Pages, right: Pages, rate: float = 0.02) -> Signals:
    return measure(align(signed(read(left, rate, 5)), signed(read(right, rate, 6))), 0.5, words(left, right))


def words(left: Pages, right: Pages) -> Sides:
    return Sides(*(sum(len(page.split()) for page in pages) for pages in (left, right)))


def test_two_readings_match_page_by_page() -> None:
    signals = measured(WHOLE, WHOLE)
    for sides in (signals.text_shared, signals.pages_matched, signals.span_matched, signals.span):
        assert (sides.left, sides.right) == (1, 1)
    assert (signals.text_pages.left, signals.text_pages.right) == (60, 60)
    assert (signals.runs, signals.revised, signals.book_similarity) == (1, 0, 0.5)
    assert signals.other_breaks < 0.02
    assert signals.consecutive_correlation < 0.02
    assert signals.fit.slope == pytest.approx(1)
    assert signals.fit.intercept == pytest.approx(0)
    assert signals.fit.delta_page_count == pytest.approx(0)


def test_front_matter_is_offset_and_back_matter_page_count() -> None:
    signals = measured(WHOLE, OTHER[:10] + WHOLE + OTHER[10:30])
    assert signals.fit.slope == pytest.approx(1)
    assert signals.fit.intercept == pytest.approx(10)
    assert signals.fit.delta_page_count == pytest.approx(20)
    assert signals.pages_matched.left == 1
    assert signals.pages_matched.right == pytest.approx(60 / 90)
    assert signals.text_shared.right == pytest.approx(60 / 90, abs=0.02)


def test_smaller_pages_make_a_steep_line_and_wrap_around() -> None:
    signals = measured(WHOLE, set_anew(WHOLE, 120))
    assert signals.fit.slope == pytest.approx(1.5, abs=0.03)
    assert signals.reverse_fit.slope == pytest.approx(1 / 1.5, abs=0.02)
    assert signals.text_shared.least > 0.95
    assert signals.pages_matched.most < 0.3
    assert signals.other_breaks > 0.5
    assert signals.consecutive_correlation > 0.1


def test_pages_of_other_text_are_revised_and_lost_leaves_are_not() -> None:
    issue = [OTHER[page] if page % 4 == 1 else WHOLE[page] for page in range(60)]
    assert measured(WHOLE, issue).revised == pytest.approx(15 / 60, abs=0.02)
    lost = [page for number, page in enumerate(WHOLE) if number % 12 not in (4, 5)]
    assert measured(WHOLE, lost).revised == 0
    assert measured(lost, WHOLE).revised == 0


def test_span_is_the_longest_of_those_that_gaps_divide() -> None:
    collection = WHOLE[:15] + OTHER[:20] + WHOLE[15:45]
    signals = measured(WHOLE, collection)
    assert signals.pages_matched.left == pytest.approx(45 / 60)
    assert signals.span_matched.left == pytest.approx(30 / 60)
    assert signals.span_matched.right == pytest.approx(30 / 65)
    assert signals.runs == 2


def test_span_holds_a_page_that_makes_a_run_of_its_own() -> None:
    whole = align(signed(WHOLE), signed(WHOLE))
    (run,) = whole.runs
    alone = np.arange(60) == 20
    parts = (
        replace(run, **{name: getattr(run, name)[rows] for name in _COLUMNS}) for rows in (~alone, alone)
    )
    signals = measure(replace(whole, runs=tuple(parts)), 0.5, words(WHOLE, WHOLE))
    assert signals.span_matched == Sides(1, 1)


def test_unrelated_books_have_neither_fit_nor_share() -> None:
    signals = measured(WHOLE, OTHER)
    assert signals.fit is signals.reverse_fit is None
    assert signals.text_shared.most == signals.pages_matched.most == signals.page_similarity == 0
    assert (signals.runs, signals.other_breaks, signals.revised) == (0, 0, 0)


@pytest.mark.parametrize("right", [WHOLE, WHOLE[20:], set_anew(WHOLE, 130), OTHER, [WHOLE[0], BLANK]])
def test_swapped_signals_are_those_of_the_swapped_books(right: Pages) -> None:
    first, second = (
        measured(WHOLE, right),
        measure(align(signed(read(right, 0.02, 6)), signed(read(WHOLE, 0.02, 5))), 0.5, words(right, WHOLE)),
    )
    swapped = second.swapped()
    assert swapped.swapped() == second
    for name in Signals.__slots__:
        sides, swapped_sides = getattr(first, name), getattr(swapped, name)
        if isinstance(sides, float):
            assert sides == pytest.approx(swapped_sides), name
        elif name != "consecutive_correlation":
            assert sides == swapped_sides, name


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], 0),
        ([(0, 0)], 1),
        ([(0, 0), (1, 1), (2, 2)], 3),
        ([(0, 0), (1, 1), (2 + SPAN_GAP, 2)], 3),
        ([(0, 0), (1, 1), (3 + SPAN_GAP, 2)], 2),
        ([(0, 5), (1, 6), (2, 2), (3, 3), (4, 4)], 3),
        ([(0, 0), (1, 0), (2, 1)], 2),
    ],
)
def test_span_advances_in_both_books_over_small_gaps(pairs: list[tuple[int, int]], expected: int) -> None:
    assert len(longest_span(np.array(pairs, dtype=np.int64).reshape(-1, 2))) == expected
