from itertools import combinations

import numpy as np
import pytest

from bench.data import simulated_books
from bench.data.simulated_books import Books, simulate
from bookprint_core.matching.verification import evidence
from bookprint_core.recipe import DEFAULT_SAMPLE, sample_recipe
from bookprint_core.signatures.fracminhash import limit_of


@pytest.fixture(scope="module")
def books() -> Books:
    [batch] = simulate(4_000, seed=1)
    return batch


def _of_works(books: Books, count: int) -> list[list[int]]:
    """The books of each work that has so many."""
    works, counts = np.unique(books.works, return_counts=True)
    return [np.flatnonzero(books.works == work).tolist() for work in works[counts == count]]


def _shares(books: Books, rows: list[int]) -> list[float]:
    sketches = [books.sketch(row) for row in rows]
    pairs = [evidence(one, other).sampled for one, other in combinations(sketches, 2)]
    return [share for share in pairs if share is not None]


def test_samples_are_as_large_as_those_of_real_books_and_below_their_limits(books: Books) -> None:
    recipe, sizes = sample_recipe(DEFAULT_SAMPLE), []
    for row in range(400):
        sample = books.sketch(row).sample
        assert sample is not None
        assert (np.diff(sample.hashes) > 0).all()
        assert sample.hashes[-1] < limit_of(sample.level, recipe)
        sizes.append(sample.hashes.size)
    assert max(sizes) <= recipe.most
    assert 240 < np.mean(sizes) < 250  # 245 in books of the corpus


def test_copies_share_what_real_copies_with_errors_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_books, "_MEAN_ERRORS", 1e9)
    monkeypatch.setattr(simulated_books, "_MOST_ERRORS", 0.05)
    monkeypatch.setattr(simulated_books, "_PARTS", 0.0)
    [books] = simulate(4_000, seed=2)
    with_one_side = [share for rows in _of_works(books, 2) for share in _shares(books, rows)]
    with_both_sides = [min(_shares(books, rows)) for rows in _of_works(books, 3)]
    # Medians of 394 books of the corpus with errors of 5 %.
    assert np.median(with_one_side) == pytest.approx(151 / 256, abs=0.03)
    assert np.median(with_both_sides) == pytest.approx(99 / 256, abs=0.04)
