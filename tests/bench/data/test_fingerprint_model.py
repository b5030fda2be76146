"""Simulated strangers lie as far apart as real ones that were counted."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.data.fingerprint_model import LibraryModel


@pytest.fixture(scope="module")
def model() -> LibraryModel:
    return LibraryModel.load()


def pairs_at(books: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many pairs of these lie so many bits apart, (129,)."""
    at = np.zeros(129, dtype=np.int64)
    for start in range(0, len(books), 500):
        words = books[start:].view(np.uint64)
        apart = np.bitwise_count(words[:500, None] ^ words[None]).sum(axis=2, dtype=np.uint8)
        later = np.arange(apart.shape[1]) > np.arange(apart.shape[0])[:, None]
        at += np.bincount(apart[later], minlength=129)
    return at


def strangers(
    model: LibraryModel, language: str, least: int, most: int, count: int = 3_000
) -> NDArray[np.int64]:
    """The distances of made works of one language with so many words."""
    rng = np.random.default_rng(least)
    words = np.exp(rng.uniform(np.log(least), np.log(most), count))
    return pairs_at(model.fingerprints(rng, np.full(count, model.languages.index(language)), words))


def moments(at: NDArray[np.int64]) -> tuple[float, float]:
    bits = np.arange(129)
    mean = float((at * bits).sum() / at.sum())
    return mean, float(np.sqrt((at * (bits - mean) ** 2).sum() / at.sum()))


@pytest.mark.parametrize(
    ("language", "least", "most", "mean"),
    [
        *[("en", 2_000, 10_000, 60.8), ("en", 10_000, 50_000, 56.6), ("en", 50_000, 200_000, 50.7)],
        *[("de", 50_000, 200_000, 52.5), ("ar", 50_000, 200_000, 52.6), ("zh", 50_000, 200_000, 60.8)],
    ],
)
def test_strangers_have_the_mean_of_real_ones(
    model: LibraryModel, language: str, least: int, most: int, mean: float
) -> None:
    assert moments(strangers(model, language, least, most))[0] == pytest.approx(mean, abs=1.5)
