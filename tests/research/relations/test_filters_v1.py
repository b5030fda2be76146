"""Filters in the form of the paper's, and the classifier that multiplies them."""

import pytest
from hypothesis import given, strategies as st

from app.core.relations.classification import Kind
from app.core.relations.relation import compare
from research.relations.filters_v1 import band, filters_v1, high_pass, low_pass
from tests.core.printed_pages import Pages, book, candidate, read, set_anew

WHOLE = book(100, 31)
OTHER = book(100, 32)


@given(st.floats(-10, 10), st.floats(-1, 1), st.floats(0.01, 2))
def test_high_pass_rises_from_nought_to_one(signal: float, none: float, width: float) -> None:
    value = high_pass(signal, none, none + width)
    assert 0 <= value <= 1
    assert value == pytest.approx(low_pass(-signal, -none - width, -none))
    if signal <= none:
        assert value == pytest.approx(0, abs=1e-9)
    if signal >= none + width:
        assert value == 1
    assert high_pass(signal + 0.01, none, none + width) >= value


def test_filters_have_the_form_of_the_one_the_paper_prints() -> None:
    assert high_pass(0.5, 0, 1) == 0.75
    assert low_pass(0.5, 0, 1) == 0.75
    assert band(1.2, none=(0.7, 1.4), full=(0.95, 1.0)) == pytest.approx(0.75)
    assert band(0.8, none=(0.7, 1.4), full=(0.9, 1.0)) == pytest.approx(0.75)
    assert band(0.97, none=(0.7, 1.4), full=(0.95, 1.0)) == 1


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        (WHOLE, "SAME_PAGINATION"),
        (set_anew(WHOLE, 120), "DIFFERENT_PAGINATION"),
        (WHOLE[50:90], "CONTIGUOUS_SUBSET"),
        (WHOLE[:50] + OTHER[:50], "OVERLAPPING_TEXT"),
        (OTHER, "UNRELATED"),
    ],
)
@pytest.mark.parametrize("rate", [0.01, 0.02])
def test_plain_cases_are_classified(right: Pages, expected: Kind, rate: float) -> None:
    first, second = candidate(read(WHOLE, rate, 1)), candidate(read(right, rate, 2))
    for left, right_one, direction in ((first, second, "contains"), (second, first, "contained_in")):
        signals = compare(left, right_one).signals
        assert signals is not None
        verdict = filters_v1(signals, left.metadata, right_one.metadata)
        assert verdict.kind == expected
        assert verdict.direction == (direction if expected == "CONTIGUOUS_SUBSET" else None)
        assert sum(verdict.confidences.values()) == pytest.approx(1)
