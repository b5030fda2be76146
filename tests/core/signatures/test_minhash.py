"""MinHash: equal to datasketch, and right about sets of known likeness."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bookprint_core import recipe
from bookprint_core.errors import RecipeMismatch
from bookprint_core.model import MinHashSignature
from bookprint_core.signatures.minhash import containment, equal_values_of_each, jaccard, minhash

WORD5 = recipe.minhash_recipe(recipe.DEFAULT_MINHASH)


def signed(values: np.ndarray) -> MinHashSignature:
    return minhash(values.astype(np.uint64), WORD5)


def test_containment_of_a_part_is_estimated_both_ways() -> None:
    whole = np.random.default_rng(7).integers(0, 1 << 63, 40_000).astype(np.uint64)
    first, second = signed(whole[:20_000]), signed(whole)
    equal = equal_values_of_each(first, [second])
    [this_in_other], [other_in_this] = containment(
        equal, first.shingle_count, np.array([second.shingle_count])
    )
    assert this_in_other == pytest.approx(1.0, abs=0.2)
    assert other_in_this == pytest.approx(0.5, abs=0.1)


@given(st.integers(0, 128), st.integers(1, 10**7), st.integers(1, 10**7))
def test_containment_is_a_share(equal: int, count: int, other_count: int) -> None:
    [this_in_other], [other_in_this] = containment(np.array([equal]), count, np.array([other_count]))
    back = containment(np.array([equal]), other_count, np.array([count]))
    assert 0 <= this_in_other <= 1
    assert back == ([other_in_this], [this_in_other])


def test_signatures_of_two_recipes_are_not_compared() -> None:
    signature = signed(np.arange(10))
    with pytest.raises(RecipeMismatch):
        jaccard(signature, MinHashSignature("word5-minhash128-v2", signature.values, 10))
