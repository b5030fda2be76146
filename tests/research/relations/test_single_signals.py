"""Signals of relations one by one: what they read, and precision and recall of every threshold."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.core.relations.signals import LinearFit, Sides
from research.relations import relation_signals
from research.relations.measured_pairs import KnownPair
from research.relations.single_signals import SINGLE, better_sweep, fitted_line, sweep
from tests.research.relations.pairs import SIGNALS, pair

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


def test_precision_is_weighted_to_how_common_kinds_are() -> None:
    swept = sweep(VALUES, KINDS, "A", above=True, shares={"A": 0.3, "B": 0.6})
    assert swept.precision[2] == pytest.approx(0.2 / (0.2 + 0.3))
    assert swept.worth[2] == pytest.approx((0.2 + 0.3) ** 2 / (2 * 0.1**2 + 0.3**2))


def test_sweep_from_below_is_that_of_the_mirrored_signal() -> None:
    below = sweep(VALUES, KINDS, "B", above=False, shares=SHARES)
    mirrored = sweep(-VALUES, KINDS, "B", above=True, shares=SHARES)
    assert below.thresholds.tolist() == (-mirrored.thresholds).tolist()
    assert np.array_equal(below.precision, mirrored.precision)
    assert below.recall.tolist() == [0.5, 0.5, 1, 1, 1]


def test_best_point_and_recall_at_a_precision() -> None:
    swept = sweep(VALUES, KINDS, "A", above=True, shares=SHARES)
    best = swept.best
    assert (best.threshold, best.above) == (0.3, True)
    assert best.f1 == pytest.approx(2 * 0.75 / 1.75)
    assert best.recall.value == 1
    assert swept.recall_at(0.7) == 1
    assert swept.recall_at(0.9) == pytest.approx(1 / 3)
    assert swept.recall_at(1.01) == 0


def test_a_kind_may_lie_below_the_threshold() -> None:
    kinds = np.array(["SAME_PAGINATION"] * 2 + ["DIFFERENT_PAGINATION"] * 2)
    swept = better_sweep(np.array([0.0, 0.0, 0.3, 0.4]), kinds, "SAME_PAGINATION")
    assert not swept.above
    assert swept.best.f1 == 1
    assert swept.best.threshold == 0


def test_line_is_fitted_over_the_book_with_fewer_pages() -> None:
    signals = replace(
        SIGNALS,
        text_pages=Sides(200, 100),
        fit=LinearFit(0.5, -10, 3),
        reverse_fit=LinearFit(2.0, 20, -6),
    )
    line = fitted_line(signals)
    assert (line.steepness, line.offset, line.behind) == (1, 0.1, -0.03)
    assert fitted_line(signals.swapped()) == line


def test_line_without_matches_and_lines_that_fall() -> None:
    assert fitted_line(replace(SIGNALS, fit=None, reverse_fit=None)).steepness == 0
    assert fitted_line(replace(SIGNALS, fit=LinearFit(-0.3, 900, 0))).steepness == -2
    assert fitted_line(replace(SIGNALS, fit=LinearFit(99, 900, 0))).steepness == 2
    assert fitted_line(replace(SIGNALS, fit=LinearFit(1, 900, 0))).offset == 1


def test_no_signal_depends_on_the_order_of_the_books() -> None:
    signals = replace(SIGNALS, text_pages=Sides(90, 100))
    for signal in SINGLE:
        assert signal.read(signals) == signal.read(signals.swapped()), signal.name


def test_section_has_a_table_and_a_plot_of_every_class(tmp_path: Path) -> None:
    kinds = ("SAME_PAGINATION", "DIFFERENT_PAGINATION", "CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT")
    pairs = [
        KnownPair(pair(f"w{number}", page_similarity=(place + number / 9) / 4), kind, 0.01)
        for place, kind in enumerate(kinds)
        for number in range(4)
    ]
    section = relation_signals.measure(tmp_path, pairs)
    assert [table.caption.split()[0] for table in section.tables[1:5]] == list(kinds)
    by_page_similarity = {row[0]: row for row in section.tables[1].rows}["page similarity"]
    assert by_page_similarity[1].startswith("≤")  # the four kinds are in steps of this signal
    assert by_page_similarity[4:] == [100, 100, 100]
    images = [note for note in section.notes if note.startswith("![")]
    assert len(images) == 7 == len(list(tmp_path.glob("relation_signals_*.svg")))
