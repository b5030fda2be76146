"""The experiments on multi-reference cosine (Mohammadi and Nikoukaran 2018): by hand, and on real texts."""

import os
from hashlib import sha1

import numpy as np
import pytest

from research.cosine import cosine_table
from research.cosine.cosine_samples import errors, news_sample
from research.cosine.letter_grams import (
    SIMHASH_BITS,
    cosines,
    gram_counts,
    grams_of,
    simhash_similarities,
    symbols,
    unit,
    word_simhash,
)
from research.cosine.reference_strings import Reference, by_frequency


def numbers(*grams: str) -> list[int]:
    return [int(number) for gram in grams for number in grams_of(symbols(gram))]


def columns(*texts: str) -> np.ndarray:
    return np.ascontiguousarray(unit(gram_counts(texts)).T)


def test_signature_is_the_cosine_with_each_part() -> None:
    reference = Reference("two", np.array(numbers("abc", "abd")))
    text = columns("abc abd abc")  # nine 3-grams: abc and " ab" twice, five others once
    assert reference.signatures(text, 2)[0] == pytest.approx([2 / 13**0.5, 1 / 13**0.5])
    # In one part "abcabd" also has bca and cab.
    assert reference.signatures(text, 1)[0] == pytest.approx([3 / (2 * 13**0.5)])


def test_one_gram_a_part_gives_the_cosine_itself() -> None:
    texts = ("bookprint", "printbook", "fingerprint", "catalogue")
    units = columns(*texts)
    occurring = by_frequency(gram_counts(texts))
    similar = Reference("all", occurring).similarities(units, occurring.size)
    assert similar == pytest.approx(cosines(gram_counts(texts)), abs=1e-6)
    assert 0.2 < similar[0, 1] < 0.9


def test_simhash_of_one_word_is_its_sha1_and_a_tie_is_not_set() -> None:
    one, other = (
        np.unpackbits(np.frombuffer(sha1(word).digest()[:8], np.uint8)) == 1 for word in (b"book", b"page")
    )
    assert np.array_equal(word_simhash("BOOK!") > 0, one)
    assert np.array_equal(word_simhash("book page") > 0, one & other)
    assert np.array_equal(word_simhash("page book page") > 0, other)
    similar = simhash_similarities(["book", "page"])
    assert similar[0, 1] == pytest.approx(np.count_nonzero(one == other) / SIMHASH_BITS)


def test_errors_are_of_the_pairs_above_the_diagonal() -> None:
    truth = np.array([[1, 0.5, 0.5], [0, 1, 0.5], [0, 0, 1]], np.float32)
    similar = np.array([[0, 0.75, 0.25], [9, 0, 0.75], [9, 9, 0]], np.float32)
    found = errors(similar, truth)
    assert found.pairs == 3
    assert found.mean_absolute == pytest.approx(0.25)
    assert found.bias == pytest.approx(0.25 / 3)
    assert found.mean_squared == pytest.approx(0.0625)
    assert found.variance == pytest.approx(0.0625 - (0.25 / 3) ** 2)


WORDS = (
    *("the", "a", "of", "book", "page", "print", "copy"),
    *("text", "library", "hash", "letter", "reader", "shelf", "year"),
)


@pytest.mark.skipif("BOOKPRINT_NEWS20" not in os.environ, reason="BOOKPRINT_NEWS20 is not set")
def test_published_simhash_comes_out_on_news() -> None:
    found, _ = cosine_table.row_simhash(news_sample())
    assert found.mean_absolute == pytest.approx(0.18854, abs=0.02)
    assert found.mean_squared == pytest.approx(0.04173, abs=0.02)
