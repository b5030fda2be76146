"""F1 of fingerprints against a known truth."""

import pytest

from app.cli.showcase import best_threshold
from app.core.model import Fingerprint


def fingerprint(*ones: int) -> Fingerprint:
    return Fingerprint("any", sum(1 << bit for bit in ones).to_bytes(16, "big"))


def test_works_that_lie_apart_are_divided_at_the_smallest_distance_that_does() -> None:
    near = [fingerprint(), fingerprint(1, 2, 3)]
    far = [fingerprint(*range(60, 100)), fingerprint(*range(60, 98))]
    fit = best_threshold(near + far, [0, 0, 1, 1])
    assert (fit.d, fit.precision, fit.recall, fit.f1) == (3, 1.0, 1.0, 1.0)
    assert fit.unrelated_median == 40.5


def test_an_unrelated_book_between_copies_costs_precision_or_recall() -> None:
    books = [fingerprint(), fingerprint(*range(10)), fingerprint(*range(4))]
    fit = best_threshold(books, [0, 0, 1])
    assert fit.d == 10
    assert fit.recall == 1.0
    assert fit.precision == pytest.approx(1 / 3)
    assert fit.f1 == pytest.approx(0.5)
