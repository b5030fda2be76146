"""DUPNIQ: words that occur once, their order, and the similarity of two books by them."""

from itertools import combinations
from math import log
from zlib import crc32

import numpy as np
import pytest

from research.comparison.unique_words import UniqueWords, its, longest_common_subsequence, unique_words
from tests.research.comparison.made_books import a_book, a_text


def test_words_that_occur_once_stay_in_their_order() -> None:
    words = unique_words("The cat, the dog. 1849! The cat's paw; don't")
    assert words.tolist() == [crc32(word.encode()) for word in ("cat", "the", "dog", "cats", "paw", "dont")]


def test_letters_of_every_script_count() -> None:
    assert unique_words("мир, Мир — мир 7").tolist() == [crc32("Мир".encode())]


@pytest.mark.parametrize(
    ("one", "other", "length"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 4),
        ([1, 2, 3, 4], [4, 3, 2, 1], 1),
        ([1, 2, 3, 4, 5], [3, 1, 9, 2, 5, 4], 3),
        ([1, 2], [3, 4], 0),
    ],
)
def test_longest_common_subsequence(one: list[int], other: list[int], length: int) -> None:
    assert longest_common_subsequence(np.array(one, np.uint32), np.array(other, np.uint32)) == length


def test_longest_common_subsequence_is_that_of_the_table_of_all_prefixes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        one, other = (rng.permutation(30)[:20].astype(np.uint32) for _ in range(2))
        table = np.zeros((21, 21), int)
        for i in range(20):
            for j in range(20):
                same = one[i] == other[j]
                table[i + 1, j + 1] = table[i, j] + 1 if same else max(table[i, j + 1], table[i + 1, j])
        assert longest_common_subsequence(one, other) == table[20, 20]


def test_similarity_is_the_share_of_logarithms() -> None:
    assert its(100, 1_000, 1_100) == pytest.approx(log(100) / log(2_000))
    assert its(1, 1, 1) == 1
    assert its(1, 5, 5) == 0


def test_scores_are_exact_from_the_threshold_on_and_0_below_it() -> None:
    text = a_text(1, 3_000)
    words = text.split()
    turned = " ".join(words[1_500:] + words[:1_500])
    method = UniqueWords("unique words")
    signatures = [method.sign(a_book(each)) for each in (text, turned, a_text(2, 3_000))]
    scores = method.scores(signatures, signatures)
    for row, column in combinations(range(3), 2):
        shared = longest_common_subsequence(signatures[row], signatures[column])
        exact = its(shared, signatures[row].size, signatures[column].size)
        common = np.intersect1d(signatures[row], signatures[column]).size
        bound = its(common, signatures[row].size, signatures[column].size)
        assert scores[row, column] == (exact if bound >= method.least else 0)
    assert scores[0, 0] == 1
    assert scores[0, 1] > 0.72
    assert scores[0, 2] < 0.72
