"""Clusters without their number, n-grams of words, and what identifiers do not tell."""

import numpy as np
import pypdfium2
import pytest

from app.core.recipe import DEFAULT_FINGERPRINT, FINGERPRINT_RECIPES, FingerprintRecipe
from app.core.signatures.simhash import simhash
from app.core.text.content import content_from_text
from app.core.text.normal_form import NormalText, normalise
from bench.harness.corpus import CorpusBook, Pair
from bench.papers.identifiers.identifiers_clusters import METHODS, Method, fitted, joined_at, pairs_f1
from bench.papers.identifiers.identifiers_ngrams import Feature, fingerprint, repeats, word_simhash
from bench.service.identifiers_limits import pictures, translation_table

TF, GAP = FINGERPRINT_RECIPES["tf-simhash128-v1"], FINGERPRINT_RECIPES[DEFAULT_FINGERPRINT]


def a_text(words: int, seed: int = 1) -> str:
    rng = np.random.default_rng(seed)
    known = ["".join(rng.choice(list("abcdefghij"), 5)) for _ in range(300)]
    return " ".join(known[int(word)] for word in rng.integers(0, 300, words))


def normal(text: str) -> NormalText:
    return normalise(content_from_text(text))


def bits_of(*rows: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.array([[int(bit) for bit in row] for row in rows], dtype=np.uint8)


def test_threshold_graph_connects_the_ends_of_a_chain() -> None:
    steps = joined_at(bits_of("00000000", "00000011", "00001111", "11110000"), "single")
    # pairs 0-1, 0-2, 0-3, 1-2, 1-3, 2-3: the last text is 4 bits from the first
    assert steps.tolist() == [2, 2, 4, 2, 4, 4]


def test_average_linkage_asks_for_nearness_to_all_of_a_cluster() -> None:
    steps = joined_at(bits_of("00000000", "00000011", "00001111"), "average")
    # the third is 4 bits from the first and 2 from the second
    assert steps.tolist() == [2, 3, 3]


def test_f1_of_pairs_by_d() -> None:
    steps, same = np.array([2, 2, 4, 3]), np.array([True, True, False, True])
    f1 = pairs_f1(steps, same)
    assert f1[[1, 2, 3, 4]].tolist() == pytest.approx([0, 4 / 5, 1, 6 / 7])


@pytest.mark.parametrize("method", METHODS)
def test_well_separated_books_are_found_without_their_number(method: Method) -> None:
    rng = np.random.default_rng(2)
    books = rng.integers(0, 2, (12, 128), dtype=np.uint8)
    texts = np.repeat(books, 5, axis=0) ^ (rng.random((60, 128)) < 0.04).astype(np.uint8)
    classes = np.repeat(np.arange(12), 5)
    f1, d = fitted(texts, classes, method)
    assert f1 == 1
    assert 10 < d < 50
    assert fitted(texts, rng.permutation(classes), method)[0] < 0.3


def test_repeats_are_counted_within_the_window() -> None:
    cells = np.array([3, 1, 3, 1, 1, 3], dtype=np.uint64)
    counts, near = repeats(cells, 2, 4)
    assert counts.tolist() == [0, 3, 0, 3]
    assert near.tolist() == [0, 2, 0, 1]


@pytest.mark.parametrize("recipe", [TF, GAP])
def test_four_characters_are_the_recipe_in_use(recipe: FingerprintRecipe) -> None:
    text = normal(a_text(4000))
    made = simhash(text, recipe)
    assert made is not None
    assert fingerprint(text, Feature("characters", 4), recipe).tobytes() == made.bits


@pytest.mark.parametrize(("recipe", "count"), [(TF, 1), (TF, 2), (TF, 3), (GAP, 1)])
def test_words_are_told_by_their_letters_alone(recipe: FingerprintRecipe, count: int) -> None:
    text = a_text(3000)
    same = word_simhash(normal(text.upper().replace(" ", ",\n")), count, recipe)
    other = word_simhash(normal(a_text(3000, seed=2)), count, recipe)
    mine = word_simhash(normal(text), count, recipe)
    assert mine.tolist() == same.tolist()
    assert 30 < np.bitwise_count(mine ^ other).sum() < 98


def test_order_of_words_matters_to_pairs_of_them_alone() -> None:
    text = a_text(3000)
    turned = " ".join(reversed(text.split()))
    one, two = ([word_simhash(normal(each), count, TF) for each in (text, turned)] for count in (1, 2))
    assert one[0].tolist() == one[1].tolist()
    assert two[0].tolist() != two[1].tolist()


def test_pictures_hold_no_text() -> None:
    document = pypdfium2.PdfDocument(pictures(2))
    assert [page.get_textpage().count_chars() for page in document] == [0, 0]
    assert [len(list(page.get_objects())) for page in document] == [1, 1]


def test_translations_found_are_counted() -> None:
    texts = {"a": a_text(3000), "b": a_text(3000) + " end", "c": a_text(3000, seed=5)}
    books = [CorpusBook(name, name, name, "", None, "en", text, None) for name, text in texts.items()]
    pairs = [
        Pair("a", "b", "translation", 0.0),
        Pair("a", "c", "translation", 0.0),
        Pair("b", "c", "series", 0.0),
    ]
    table = translation_table(books, pairs)
    assert table.caption == "1 of 2 translations found"
    assert [row[-1] for row in table.rows] == ["yes", "no"]
