"""Simulated strangers lie as far apart as real ones that were counted."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.data import strangers
from bench.data.fingerprint_model import LibraryModel, distances

ENGLISH = ((0.165, 2_000, 10_000), (0.405, 10_000, 50_000), (0.40, 50_000, 200_000), (0.03, 200_000, 370_000))
"""Shares of the English books that were compared, and words from and to."""


@pytest.fixture(scope="module")
def model() -> LibraryModel:
    return LibraryModel.load()


def word_counts(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    shares, least, most = np.array(ENGLISH).T
    of = rng.choice(len(ENGLISH), n, p=shares)
    words: NDArray[np.int64] = np.exp(rng.uniform(np.log(least[of]), np.log(most[of]))).astype(np.int64)
    return words


def strangers_of(
    model: LibraryModel, rng: np.random.Generator, language: str, words: NDArray[np.int64]
) -> NDArray[np.uint8]:
    languages = np.full(words.size, model.languages.index(language))
    return model.fingerprints(rng, languages, words.astype(np.float64))


def pairs_at(books: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many pairs of these lie so many bits apart, (129,)."""
    at = np.zeros(129, dtype=np.int64)
    for start in range(0, len(books), 500):
        apart = distances(books[start : start + 500], books[start:])
        later = np.arange(apart.shape[1]) > np.arange(apart.shape[0])[:, None]
        at += np.bincount(apart[later], minlength=129)
    return at


def rate(at: NDArray[np.int64], within: int) -> float:
    return float(at[: within + 1].sum() / at.sum())


def moments(at: NDArray[np.int64]) -> tuple[float, float]:
    bits = np.arange(129)
    mean = float((at * bits).sum() / at.sum())
    return mean, float(np.sqrt((at * (bits - mean) ** 2).sum() / at.sum()))


@pytest.mark.parametrize(
    ("least", "most", "mean"),
    [(2_000, 10_000, 60.8), (10_000, 50_000, 56.6), (50_000, 200_000, 50.7), (200_000, 370_000, 46.3)],
)
def test_english_strangers_have_the_mean_and_spread_of_real_ones(
    model: LibraryModel, least: int, most: int, mean: float
) -> None:
    rng = np.random.default_rng(least)
    words = np.exp(rng.uniform(np.log(least), np.log(most), 3_000)).astype(np.int64)
    found, spread = moments(pairs_at(strangers_of(model, rng, "en", words)))
    assert found == pytest.approx(mean, abs=1.2)
    assert 5.3 < spread < 6.6


@pytest.mark.parametrize(
    ("language", "mean"), [("fr", 50.9), ("de", 52.5), ("ar", 52.6), ("es", 50.6), ("ja", 59.7), ("zh", 60.8)]
)
def test_strangers_of_other_languages_have_the_mean_of_real_ones(
    model: LibraryModel, language: str, mean: float
) -> None:
    rng = np.random.default_rng(3)
    words = np.exp(rng.uniform(np.log(50_000), np.log(200_000), 2_000)).astype(np.int64)
    assert moments(pairs_at(strangers_of(model, rng, language, words)))[0] == pytest.approx(mean, abs=1.5)


def test_strangers_within_23_bits_are_as_rare_as_real_ones(model: LibraryModel) -> None:
    rng = np.random.default_rng(4)
    words = word_counts(rng, 20_000)
    every = pairs_at(strangers_of(model, rng, "en", words))
    long = rng.choice(words[(words >= 50_000) & (words < 200_000)], 14_000)
    novels = pairs_at(strangers_of(model, rng, "en", long))
    assert 0.8e-7 < rate(every, 23) < 6.0e-7
    assert 4e-7 < rate(novels, 23) < 3e-6
    assert 1.5e-4 < rate(novels, 30) < 4.5e-4  # counted: 2.6e-4, of somewhat shorter books
    assert rate(novels, 15) < 1e-7


def test_volumes_of_a_journal_lie_as_near_as_real_ones(model: LibraryModel) -> None:
    at = np.zeros(129, dtype=np.int64)
    for seed in range(6):
        works = model.draw(np.random.default_rng(seed), 20_000)
        at += pairs_at(works.fingerprints[works.in_journal])
    mean, spread = moments(at)
    assert mean == pytest.approx(38.1, abs=1.5)
    assert spread == pytest.approx(7.1, abs=0.8)
    assert 0.005 < rate(at, 23) < 0.02  # counted: .0107


def test_works_of_one_author_lie_some_bits_nearer(model: LibraryModel) -> None:
    works = model.draw(np.random.default_rng(1), 8_000)
    books = works.fingerprints[~works.in_journal][:4_000].reshape(-1, 4, 16)
    kin = np.concatenate(
        [distances(books[:, 0], books[:, 1]).diagonal(), distances(books[:, 2], books[:, 3]).diagonal()]
    )
    assert distances(books[:500, 0], books[500:, 0]).mean() - kin.mean() > 1.5


def test_strangers_of_a_lookup_grow_with_the_library_and_siblings_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strangers, "_MOST_WORKS", 200_000)
    drawn, scaled = (strangers.strangers_per_lookup(works) for works in (200_000, 2_000_000))
    assert scaled["works_drawn"] == drawn["works_drawn"] == 200_000
    assert scaled["d23"] == pytest.approx(10 * drawn["d23"])
    assert 0.004 < drawn["d23"] < 0.08
    assert drawn["d15"] < 0.003
    assert 2 < drawn["journal_d23"] == scaled["journal_d23"] < 7  # counted: 3.5
