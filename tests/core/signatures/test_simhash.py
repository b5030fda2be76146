"""Fingerprints: weights, votes and distances."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import RecipeMismatch
from bookprint_core.signatures import kernels
from bookprint_core.signatures.simhash import hamming
from tests.core import reference


def packed(count: int, near: int) -> np.ndarray:
    return np.array([0, (count << 20) | near], dtype=np.uint64)


@given(count=st.integers(3, 500_000), share=st.floats(0, 1), length=st.integers(10, 10**8))
def test_weight_is_that_of_the_formula(count: int, share: float, length: int) -> None:
    near = round(share * (count - 1))
    features, weights = np.empty(3, dtype=np.uint32), np.empty(2, dtype=np.int64)
    assert kernels.weigh(packed(count, near), True, 3, 1000, length, features, weights) == 1
    assert features[0] == 1
    assert weights[0] == reference.gap_weight(count, near, 1000, length)
    q = -math.expm1(-count * 1000 / length)
    expected = (count - 1) * q
    exact = (near - expected) / math.sqrt(expected * (1 - q) + 1)
    assert weights[0] / 1024 == pytest.approx(exact, abs=0.01 + 1e-9 * count)


@given(
    st.lists(st.tuples(st.integers(0, (1 << 18) - 1), st.integers(-(1 << 30), 1 << 30)), max_size=40),
    st.sampled_from([64, 96, 128, 256]),
)
def test_votes_are_sums_of_signed_weights(chosen: list[tuple[int, int]], bits: int) -> None:
    features = np.array([cell for cell, _ in chosen], dtype=np.uint32)
    weights = np.array([weight for _, weight in chosen], dtype=np.int64)
    votes = np.empty(bits, dtype=np.int64)
    kernels.vote(features, weights, votes)
    expected = [0] * bits
    for cell, weight in chosen:
        words = [reference.mix64(((cell + 1) * reference.SIGN_STEP + w) % (1 << 64)) for w in range(4)]
        sign = "".join(f"{word:064b}" for word in words)
        expected = [
            vote + (weight if bit == "1" else -weight) for vote, bit in zip(expected, sign, strict=False)
        ]
    assert votes.tolist() == expected[:bits]


def test_signs_of_all_cells_are_balanced() -> None:
    cells = np.arange(1 << 18, dtype=np.uint32)
    votes = np.empty(256, dtype=np.int64)
    kernels.vote(cells, np.ones(cells.size, dtype=np.int64), votes)
    assert abs(votes).max() < 5 * math.sqrt(cells.size)


def test_fingerprints_of_two_lengths_are_not_compared() -> None:
    with pytest.raises(RecipeMismatch):
        hamming(bytes(16), bytes(8))
