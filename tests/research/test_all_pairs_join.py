import numpy as np
import pytest
from numpy.typing import NDArray

from research.identifiers.all_pairs_join import (
    OURS,
    banded_pairs,
    brute_pairs,
    same,
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


@pytest.mark.parametrize("d", [3, 7, 15, 23])
def test_bands_with_the_flips_that_the_bound_requires_find_every_pair(
    words: NDArray[np.uint64], d: int
) -> None:
    assert same(banded_pairs(words, d, OURS[d // 8]), brute_pairs(words, d))
