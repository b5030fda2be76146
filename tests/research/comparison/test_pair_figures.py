"""How methods are judged: by thresholds fitted on the other half of the works, and pairs by their labels."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from bench.harness.corpus import CorpusBook
from research.comparison.compared_methods import compared_methods
from research.comparison.method import BitDistance, CosineOfVectors, EqualKeys, EqualValues, Method
from research.comparison.pair_figures import (
    UNSIGNED,
    Pairs,
    accepted,
    best_threshold,
    found_again,
    halves_of,
    least_scores,
    noisy_copies,
    pair_scores,
)
from research.comparison.published_methods import middle_terms_md5
from tests.research.comparison.made_books import a_book, a_text

OF_LETTERS = ("multi-reference cosine", "learned references")
"""Methods with references learnt from News20, which is not at hand."""
METHODS = [method for method in compared_methods() if method.name not in OF_LETTERS]


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


def test_bits_are_compared_by_their_distance() -> None:
    method = bits_method(2)
    assert method.scores([bytes([0b1111_0000])], [bytes([0b1111_0011]), bytes([0])]).tolist() == [[-2, -4]]
    assert method.least == -2
    assert method.rule(-2) == method.rule(-2.5) == "≤ 2 of 8 bits"


def test_values_are_compared_place_by_place() -> None:
    one, other = np.array([1, 2, 3, 4], np.uint32), np.array([4, 2, 3, 1], np.uint32)
    assert EqualValues("values", lambda _: None).scores([one], [one, other]).tolist() == [[1, 0.5]]


def test_cosine_of_a_zero_vector_is_0() -> None:
    vectors = [np.array(each, np.float32) for each in ([3, 4], [4, 3], [0, 0])]
    scores = CosineOfVectors("cosine", lambda _: None, 8).scores(vectors[:1], vectors)
    assert scores[0] == pytest.approx([1, 0.96, 0])


def test_books_without_a_signature_are_never_copies() -> None:
    method = EqualKeys("keys", lambda book: book.text.encode() or None)
    scores = pair_scores(method, [b"a", None, b"a", None])
    assert scores.tolist() == [UNSIGNED, 1, UNSIGNED, UNSIGNED, UNSIGNED, UNSIGNED]
    pairs = Pairs(np.array(["same_work"] * 6), np.zeros(4, np.intp))
    assert accepted(scores, (1.0, 1.0), pairs).tolist() == [False, True, False, False, False, False]


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


def test_pairs_are_counted_by_what_they_are() -> None:
    labels = np.array(["same_work", "contains", "overlaps", "series", "different", "unrelated", "", "series"])
    pairs = Pairs(labels, np.zeros(0, np.intp))
    assert pairs.counts(np.ones(8, np.bool_)) == [1, 1, 1, 2, 2]
    assert pairs.counts(np.array([0, 1, 0, 0, 0, 1, 1, 1], np.bool_)) == [0, 1, 0, 1, 1]


def test_books_of_a_work_are_in_one_half() -> None:
    halves = halves_of([a_book("x", f"w{number // 3}") for number in range(30)]).reshape(10, 3)
    assert (halves == halves[:, :1]).all()
    assert halves[:, 0].sum() == 5


def test_copies_are_found_by_the_threshold_of_their_half() -> None:
    method = bits_method(None)
    originals, copies = ([bytes([value]) for value in values] for values in ((0, 0, 0), (1, 3, 3)))
    assert found_again(method, originals, copies, (-1.0, -2.0), np.array([0, 0, 1])) == 2


def test_noise_is_the_same_at_each_run_and_grows_with_the_rate() -> None:
    books = [a_book(a_text(1)), a_book(a_text(2))]
    once, again, more = ([copy.text for copy in noisy_copies(books, rate)] for rate in (0.01, 0.01, 0.1))
    assert once == again
    for book, few, many in zip(books, once, more, strict=True):
        wrong, wronger = (len(set(text.split()) - set(book.text.split())) for text in (few, many))
        assert 0 < wrong < wronger


def test_middle_terms_leave_out_the_most_frequent_and_the_rarest() -> None:
    words = [f"{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    text = " ".join(word for number, word in enumerate(words) for _ in range(100 - number))
    frequent = text + f" {words[0]}" * 7
    renamed = text.replace(words[99], "zzz")
    assert middle_terms_md5(a_book(text)) == middle_terms_md5(a_book(frequent))
    assert middle_terms_md5(a_book(text)) == middle_terms_md5(a_book(renamed))
    assert middle_terms_md5(a_book(text)) != middle_terms_md5(a_book(text.replace(words[50], "zzz")))


def test_best_threshold_counts_neither_parts_nor_unlabelled_pairs() -> None:
    labels = np.array(["same_work", "different", "contains", "different", "different", ""])
    scores = np.array([0.5, 0.1, 0.9, 0.7, 0.2, 0.8])
    assert best_threshold(scores, labels) == 0.5  # one pair of other works lies above the one of one work
