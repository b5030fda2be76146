"""Fingerprints: weights, votes and distances."""

import pytest

from bookprint_core.errors import RecipeMismatch
from bookprint_core.signatures.simhash import hamming


def test_fingerprints_of_two_lengths_are_not_compared() -> None:
    with pytest.raises(RecipeMismatch):
        hamming(bytes(16), bytes(8))
