"""Samples of hashes against their definition."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import RecipeMismatch
from bookprint_core.model import Content, FracMinHash
from bookprint_core.recipe import DEFAULT_SAMPLE, sample_recipe
from bookprint_core.signatures.fracminhash import (
    fracminhash,
    gram_sample,
    kept_shares,
    limit_of,
    shared_hashes,
)
from bookprint_core.text.normal_form import normalise
from tests.core import reference
from tests.core.tricky_texts import tricky_texts

LETTERS = sample_recipe(DEFAULT_SAMPLE)


def by_definition(hashes: set[int]) -> tuple[int, list[int]]:
    recipe = LETTERS
    level = recipe.top_level
    while sum(value < limit_of(level, recipe) for value in hashes) > recipe.most:
        level -= 1
    return level, sorted(value for value in hashes if value < limit_of(level, recipe))


@given(st.integers(0, 2**32), st.integers(1, 1500), st.integers(1, 40), st.integers(0, 20))
def test_sample_is_what_the_definition_says(seed: int, size: int, repeats: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    distinct = rng.integers(0, 2**64, size, dtype=np.uint64) >> np.uint64(shift)
    made = fracminhash(rng.permutation(np.repeat(distinct, repeats)), LETTERS)
    level, kept = by_definition(set(distinct.tolist()))
    assert made is not None or not kept
    if made is not None:
        assert (made.level, made.hashes.tolist()) == (level, kept)
        assert made.recipe == LETTERS.name


@given(tricky_texts(400))
def test_sample_of_any_text_is_that_of_the_plain_implementation(text: str) -> None:
    normal = normalise(Content(text, None))
    made = gram_sample(normal, LETTERS)
    level, hashes = reference.gram_sample(str(normal))
    assert ([] if made is None else made.hashes.tolist()) == hashes
    assert made is None or made.level == level
    if made is not None:
        grams, length = reference.grams(str(normal)), len(reference.symbols(str(normal)))
        assert made.places is not None
        assert made.places.tolist() == [grams.index(value) * 65_536 // length for value in hashes]


def test_levels_are_eighths_of_octaves() -> None:
    limits = [limit_of(level, LETTERS) for level in range(255)]
    assert limits[0] == 2**32
    assert limits[-1] == 14 << 60
    assert all(low < high <= low * 9 / 8 for low, high in pairwise(limits))
    assert kept_shares(np.arange(255), LETTERS) == pytest.approx([limit / 2**64 for limit in limits])


def test_nothing_has_no_sample() -> None:
    assert fracminhash(np.zeros(0, dtype=np.uint64), LETTERS) is None
    assert gram_sample(normalise(Content("nineteen letters", None)), LETTERS) is None


def test_samples_of_two_recipes_are_never_compared() -> None:
    sample = FracMinHash(LETTERS.name, np.zeros(1, dtype=np.uint64), 64)
    with pytest.raises(RecipeMismatch):
        shared_hashes(sample, FracMinHash("another", sample.hashes, 64))
