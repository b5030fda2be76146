"""What two identifiers say about their books."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import RecipeMismatch
from bookprint_core.matching.identifier_comparison import (
    LEAST_CHANCE,
    SAME,
    SAME_WITH_ISBN,
    UNSURE,
    IsbnComparison,
    Verdict,
    compare,
    expected_distance,
    expected_distances,
    reach,
    stranger_chance,
    verdict,
)
from bookprint_core.model import Fingerprint, MinHashBits
from bookprint_core.recipe import DEFAULT_MINHASH
from bookprint_core.signatures.identifier import Identifier

GAP = "gap-simhash128-v1"
ORDER: list[Verdict] = ["same", "unsure", "different"]


def of(ones: int, words: int = 50_000, bits: int | None = None, isbn: str | None = None) -> Identifier:
    """An identifier whose fingerprint, and MinHash bits, begin with so many ones."""
    minhash = None if bits is None else MinHashBits(DEFAULT_MINHASH, _ones(bits), words)
    return Identifier(Fingerprint(GAP, _ones(ones)), words, minhash, isbn)


def _ones(count: int) -> bytes:
    return ((1 << 128) - (1 << 128 - count)).to_bytes(16)


def test_bounds_are_a_stranger_in_a_million_in_30_000_and_in_a_thousand() -> None:
    chances = [NormalDist().cdf(bound) for bound in (SAME, UNSURE, SAME_WITH_ISBN)]
    assert chances == pytest.approx([1e-6, 1e-3, 1 / 30_000], rel=0.06)


@given(st.integers(0, 128), st.integers(1, 40_000_000))
def test_chance_of_a_stranger_grows_with_distance_and_is_a_share(distance: int, words: int) -> None:
    chance = stranger_chance(distance, None, words)
    assert LEAST_CHANCE <= chance <= stranger_chance(distance + 1, None, words) <= 1
    assert stranger_chance(distance, 30, words) <= stranger_chance(distance, 31, words)


@given(st.integers(0, 127), st.none() | st.integers(0, 127), st.integers(1, 10**7), st.booleans())
def test_verdict_never_grows_surer_with_distance(
    distance: int, unequal: int | None, words: int, equal_isbn: bool
) -> None:
    isbn: IsbnComparison = "same" if equal_isbn else "absent"
    here = ORDER.index(verdict(distance, unequal, words, isbn))
    assert here <= ORDER.index(verdict(distance + 1, unequal, words, isbn))
    if unequal is not None:
        assert here <= ORDER.index(verdict(distance, unequal + 1, words, isbn))


@given(st.integers(0, 128), st.none() | st.integers(0, 128), st.integers(1, 10**7), st.integers(1, 10**7))
def test_books_that_are_the_same_without_an_isbn_lie_within_reach(
    distance: int, unequal: int | None, words: int, fewer: int
) -> None:
    if verdict(distance, unequal, words) == "same":
        numbers = np.array([words, min(words, fewer)])
        [most, farther] = reach(numbers, with_minhash=unequal is not None)
        assert distance <= most <= farther


def test_same_isbn_decides_only_where_the_content_does_not() -> None:
    near, doubtful, far = of(15), of(29), of(60)
    one, two = "9780141439600", "9780486284736"
    for other, verdicts in (
        (near, ("same", "same", "same")),
        (doubtful, ("unsure", "same", "unsure")),
        (far, ("different", "different", "different")),
    ):
        compared = [
            compare(of(0, isbn=mine), Identifier(other.fingerprint, 50_000, None, theirs))
            for mine, theirs in ((None, one), (one, one), (one, two))
        ]
        assert tuple(each.verdict for each in compared) == verdicts
        assert [each.isbn for each in compared] == ["absent", "same", "different"]


def test_minhash_bits_confirm_what_the_fingerprint_leaves_in_doubt() -> None:
    assert compare(of(0), of(30)).verdict == "unsure"
    assert compare(of(0, bits=0), of(30, bits=35)).verdict == "same"
    assert compare(of(0, bits=0), of(30)) == compare(of(0), of(30, bits=35)) == compare(of(0), of(30))


def test_length_decides_how_near_is_near() -> None:
    assert compare(of(0, 2_000), of(30, 2_000)).verdict == "same"
    assert compare(of(0, 150_000), of(30, 150_000)).verdict == "unsure"
    assert compare(of(0, 2_000), of(30, 150_000)).verdict == "same"  # the shorter one counts


def test_lengths_exclude_a_similarity_that_the_shorter_book_is_too_short_for() -> None:
    small, large = of(0, 1_000, bits=0), of(20, 100_000, bits=10)
    assert compare(small, large).lengths_exclude
    assert not compare(of(0, 1_000, bits=0), of(20, 100_000, bits=60)).lengths_exclude
    assert not compare(of(0, 90_000, bits=0), of(20, 100_000, bits=10)).lengths_exclude
    assert compare(small, large).length_ratio == 0.01


def test_comparison_of_two_recipes_is_refused() -> None:
    with pytest.raises(RecipeMismatch):
        compare(of(0), Identifier(Fingerprint("tf-simhash128-v1", bytes(16)), 50_000))


def test_expected_distances_are_those_of_each() -> None:
    words = np.array([1, 4_096, 8_192, 65_536, 300_000])
    assert expected_distances(words).tolist() == [63, 63, 60.5, 53, 49]
    assert [expected_distance(each) for each in words.tolist()] == expected_distances(words).tolist()
