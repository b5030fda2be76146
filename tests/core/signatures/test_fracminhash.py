"""The shingle sample against its definition."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from app.core.errors import RecipeMismatch
from app.core.model import FracMinHash
from app.core.recipe import DEFAULT_SAMPLE, sample_recipe
from app.core.signatures.fracminhash import fracminhash, shared_hashes, shared_shingles

RECIPE = sample_recipe(DEFAULT_SAMPLE)


def by_definition(hashes: set[int]) -> tuple[int, list[int]]:
    level = 64
    while sum(value < 1 << level for value in hashes) > RECIPE.most:
        level -= 1
    return level, sorted(value for value in hashes if value < 1 << level)


@given(st.integers(0, 2**32), st.integers(1, 3000), st.integers(1, 40), st.integers(0, 50))
def test_sample_is_what_the_definition_says(seed: int, size: int, repeats: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    distinct = rng.integers(0, 2**64, size, dtype=np.uint64) >> np.uint64(shift)
    made = fracminhash(rng.permutation(np.repeat(distinct, repeats)), RECIPE)
    assert made is not None
    assert (made.level, made.hashes.tolist()) == by_definition(set(distinct.tolist()))
    assert made.recipe == RECIPE.name


def test_nothing_has_no_sample() -> None:
    assert fracminhash(np.zeros(0, dtype=np.uint64), RECIPE) is None


def test_shared_part_is_estimated_at_any_sizes() -> None:
    rng = np.random.default_rng(4)
    whole = rng.integers(0, 2**64, 200_000, dtype=np.uint64)
    for part, foreign in ((10_000, 90_000), (40_000, 0), (150_000, 300_000)):
        other = np.concatenate([whole[:part], rng.integers(0, 2**64, foreign, dtype=np.uint64)])
        first, second = fracminhash(whole, RECIPE), fracminhash(other, RECIPE)
        assert first is not None
        assert second is not None
        shared = shared_hashes(first, second)
        expected = part / (1 << (64 - min(first.level, second.level)))
        assert abs(shared - expected) < 4 * np.sqrt(expected) + 1
        assert shared_shingles(shared, first.level, second.level) == shared << (
            64 - min(first.level, second.level)
        )


def test_samples_of_two_recipes_are_never_compared() -> None:
    sample = FracMinHash(RECIPE.name, np.zeros(1, dtype=np.uint64), 64)
    with pytest.raises(RecipeMismatch):
        shared_hashes(sample, FracMinHash("another", sample.hashes, 64))
