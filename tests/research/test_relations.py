"""Relations of books as in Spasojević and Poncin (2011): signals alone, filters, and learned classifiers."""

from dataclasses import replace

import numpy as np
import pytest

from bookprint_core.model import Metadata
from bookprint_core.relations.classification import Kind
from bookprint_core.relations.relation import compare
from bookprint_core.relations.signals import LinearFit, Sides, Signals
from research.pages.filters_v1 import filters_v1
from research.pages.learners import (
    Lesson,
    Winnow,
)
from research.pages.measured_pairs import MeasuredPair
from research.pages.relation_classifiers import macro_f1, require_separate
from research.pages.single_signals import sweep
from tests.core.printed_pages import Pages, book, candidate, read as read_again, set_anew

SIGNALS = Signals(
    unit="page",
    text_pages=Sides(100, 100),
    book_similarity=0.5,
    page_similarity=0.7,
    text_shared=Sides(0.95, 0.9),
    typical_share=0.8,
    pages_matched=Sides(0.9, 0.85),
    span_matched=Sides(0.7, 0.8),
    span=Sides(0.75, 0.85),
    other_breaks=0.02,
    revised=0.0,
    consecutive_correlation=0.01,
    runs=2,
    fit=LinearFit(1.0, 2.0, -1.0),
    reverse_fit=LinearFit(1.0, -2.0, 1.0),
)


_NO_METADATA = (Metadata(), Metadata())


def pair(work: str, metadata: tuple[Metadata, Metadata] = _NO_METADATA, **signals: float) -> MeasuredPair:
    """A pair of two books of one work, of which all classifiers say that it is of one pagination."""
    predicted = dict.fromkeys(("shares-v1", "filters-v1"), "SAME_PAGINATION")
    return MeasuredPair(replace(SIGNALS, **signals), metadata, (work, work), predicted)


def lesson(prefix: str = "w") -> Lesson:
    """Two kinds that page similarity tells apart, from six works."""
    pairs = [pair(f"{prefix}{number % 6}", page_similarity=number / 48) for number in range(48)]
    return Lesson(pairs, np.array(["B" if number < 24 else "A" for number in range(48)]))


def test_winnow_learns_a_band_among_signals_that_say_nothing() -> None:
    rng = np.random.default_rng(1)
    signals = rng.random((600, 12))
    kinds = np.where((signals[:, 3] > 0.3) & (signals[:, 3] < 0.7), "within", "outside")
    learner = Winnow(cuts=9).fit(signals[:400], kinds[:400])
    assert np.mean(learner.predict(signals[400:]) == kinds[400:]) > 0.9


def test_works_learnt_from_and_tested_may_not_meet() -> None:
    require_separate([pair("a"), pair("b")], [pair("c")])
    with pytest.raises(ValueError, match="Learnt from and tested: b"):
        require_separate([pair("a"), pair("b")], [pair("b"), pair("c")])


def test_interval_of_macro_f1_comes_from_works_not_pairs() -> None:
    kinds = ["SAME_PAGINATION", "DIFFERENT_PAGINATION", "CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT", "UNRELATED"]
    truth = kinds * 8
    wrong = [kind if number % 4 else "UNRELATED" for number, kind in enumerate(truth)]
    many = macro_f1(truth, wrong, [str(number) for number in range(len(truth))])
    one = macro_f1(truth, wrong, ["w"] * len(truth))
    assert macro_f1(truth, truth, list(truth)).value == 1
    assert one.low == one.high == one.value == many.value
    assert many.low < many.value < many.high


KINDS = np.array(["A", "A", "B", "A", "B", "U"])
VALUES = np.array([0.9, 0.8, 0.8, 0.3, 0.2, 0.95])
SHARES = {"A": 0.6, "B": 0.4}
"""U is no kind that counts: each A weighs .2, each B .2."""


def test_every_threshold_passes_all_pairs_from_it_on() -> None:
    swept = sweep(VALUES, KINDS, "A", above=True, shares=SHARES)
    assert swept.thresholds.tolist() == [0.95, 0.9, 0.8, 0.3, 0.2]
    assert swept.recall == pytest.approx([0, 1 / 3, 2 / 3, 1, 1])
    # At .8 two A and one B pass; both weigh the same. The U before them counts for nothing.
    assert swept.precision == pytest.approx([0, 1, 2 / 3, 3 / 4, 3 / 5])
    assert swept.worth == pytest.approx([0, 1, 3, 4, 5])


WHOLE = book(100, 31)
OTHER = book(100, 32)


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
    first, second = candidate(read_again(WHOLE, rate, 1)), candidate(read_again(right, rate, 2))
    for left, right_one, direction in ((first, second, "contains"), (second, first, "contained_in")):
        signals = compare(left, right_one).signals
        assert signals is not None
        verdict = filters_v1(signals, left.metadata, right_one.metadata)
        assert verdict.kind == expected
        assert verdict.direction == (direction if expected == "CONTIGUOUS_SUBSET" else None)
        assert sum(verdict.confidences.values()) == pytest.approx(1)
