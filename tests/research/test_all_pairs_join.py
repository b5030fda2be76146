import numpy as np
import pytest
from numpy.typing import NDArray

from research.identifiers.all_pairs_join import (
    OURS,
    PAPER_24,
    PAPER_32,
    Banding,
    banded_pairs,
    brute_pairs,
    same,
    tallies,
)

TEXTS, VERSIONS = 300, 4


@pytest.fixture(scope="module")
def words() -> NDArray[np.uint64]:
    """Fingerprints of texts with versions up to some 30 bits away, row by row another text."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 2**64, (TEXTS, 2), dtype=np.uint64)
    noise = rng.random((VERSIONS - 1, TEXTS, 128)) < rng.random((VERSIONS - 1, TEXTS, 1)) / 5
    flips = np.packbits(noise, axis=2).view(np.uint64)
    return np.concatenate([first, *(first ^ flips)])


BOOKS = np.tile(np.arange(TEXTS), VERSIONS)


@pytest.mark.parametrize("d", [7, 23])
def test_brute_force_finds_what_a_plain_comparison_finds(words: NDArray[np.uint64], d: int) -> None:
    distances = np.bitwise_count(words[:, None] ^ words[None]).sum(axis=2)
    left, right = np.nonzero(np.triu(distances <= d, 1))
    pairs = brute_pairs(words, d)
    assert pairs.left.tolist() == left.tolist()
    assert pairs.right.tolist() == right.tolist()
    assert pairs.distances.tolist() == distances[left, right].tolist()


@pytest.mark.parametrize("d", [3, 7, 15, 23])
def test_bands_with_the_flips_that_the_bound_requires_find_every_pair(
    words: NDArray[np.uint64], d: int
) -> None:
    assert same(banded_pairs(words, d, OURS[d // 8]), brute_pairs(words, d))


@pytest.mark.parametrize("banding", [PAPER_24, PAPER_32, *OURS])
def test_tallies_count_the_pairs_that_a_join_finds(words: NDArray[np.uint64], banding: Banding) -> None:
    counts, right = tallies(words, BOOKS, np.arange(len(words)), banding)
    within = counts[: banding.flips + 1, :, :24].sum()
    pairs = banded_pairs(words, 23, banding)
    assert within == 2 * pairs.left.size
    correct = BOOKS[pairs.left] == BOOKS[pairs.right]
    assert right[: banding.flips + 1, :, :24].sum() == 2 * np.count_nonzero(correct)
