"""How methods are judged: by thresholds fitted on the other half of the works, and pairs by their labels."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from bench.harness.corpus import CorpusBook
from research.identifiers.institutional_books import Volume, says_same, simhash
from research.identifiers.method import BitDistance, Method
from research.identifiers.methods import compared_methods
from research.identifiers.pair_figures import (
    Pairs,
    accepted,
    least_scores,
    pair_scores,
)
from tests.research.made_books import a_book, a_text

METHODS = [method for method in compared_methods() if method.name != "multi-reference cosine"]
"""Those without references learnt from News20, which is not at hand."""


def bits_method(most: int | None) -> BitDistance:
    return BitDistance("bits", 8, lambda book: bytes([int(book.text)]), most)


def bit_books(values: Sequence[int]) -> list[CorpusBook]:
    return [a_book(str(value), work=f"w{number}") for number, value in enumerate(values)]


@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
def test_a_copy_is_told_from_another_book(method: Method[Any]) -> None:
    books = [
        a_book(a_text(1), "a", title="Emma", author="Austen, Jane"),
        a_book(a_text(1), "a", title="Emma", author="Austen, Jane"),
        a_book(a_text(2, 3_000), "b", title="Leviathan", author="Hobbes"),
    ]
    signatures = [method.sign(book) for book in books]
    scores = method.scores(signatures, signatures)
    assert scores.shape == (3, 3)
    assert scores == pytest.approx(scores.T)
    least = scores[0, 1] if method.least is None else method.least
    assert scores[0, 1] >= least > scores[0, 2]
    assert all(method.size(signature) > 0 for signature in signatures)
    assert method.rule(least)


def test_thresholds_are_fitted_on_the_other_half() -> None:
    # In half 0 copies differ in 1 bit and others in 4; in half 1 copies differ in 3 bits and others in 7.
    books = bit_books([0b0, 0b1, 0b1111, 0b0, 0b111, 0b111_1111])
    halves = np.array([0, 0, 0, 1, 1, 1])
    labels = np.array(
        ["same_work" if pair in {(0, 1), (3, 4)} else "unrelated" for pair in combinations(range(6), 2)]
    )
    pairs = Pairs(labels, halves)
    method = bits_method(None)
    scores = pair_scores(method, [method.sign(book) for book in books])
    assert least_scores(method, scores, pairs) == (-3.5, -2)
    judged = accepted(scores, (-3.5, -2), pairs)
    places = list(combinations(range(6), 2))
    assert judged[places.index((0, 1))]
    assert not judged[places.index((3, 4))]
    assert judged[places.index((1, 2))]  # 3 bits apart, judged by what was fitted on half 1


# Made with the package `simhash` 2.1.2 from the shingles of the pipeline's own function.
PUBLISHED = {
    "The quick brown fox jumps over the lazy dog.": "be8badd583342f3b",
    "It was the best of times, it was the worst of times; it was the age of wisdom.": "fb672492dcd97abe",
    "Мороз и солнце; день чудесный!": "b6a043f43a8880b8",
    "春はあけぼの。やうやう白くなりゆく山際": "82096538cb50900e",
    "a b c": "d6963f7d28e17f72",
    "ab" * 400: "201012808403006c",
}


@pytest.mark.parametrize("text", PUBLISHED)
def test_simhash_is_that_of_the_package(text: str) -> None:
    assert simhash(text).hex() == PUBLISHED[text]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Volume(b"12345678", "en", 1_000), True),
        (Volume(b"12345679", "en", 1_000), False),
        (Volume(b"12345678", "de", 1_000), False),
        # The median of 1,000 and 1,290 is 1,145, of which 1.15 parts are 995; of 1,310 they are 1,004.
        (Volume(b"12345678", "en", 1_290), True),
        (Volume(b"12345678", "en", 1_310), False),
        (Volume(b"12345678", "en", 770), True),
        (Volume(b"12345678", "en", 760), False),
    ],
)
def test_volumes_have_one_simhash_one_language_and_like_lengths(other: Volume, same: bool) -> None:
    assert says_same(Volume(b"12345678", "en", 1_000), other) is same
