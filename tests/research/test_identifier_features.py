"""Fingerprints of n-grams of characters and of words."""

import numpy as np
import pytest

from app.core.recipe import DEFAULT_FINGERPRINT, FINGERPRINT_RECIPES, FingerprintRecipe
from app.core.signatures.simhash import simhash
from app.core.text.content import content_from_text
from app.core.text.normal_form import NormalText, normalise
from research.identifiers.identifiers_ngrams import Feature, fingerprint, repeats, word_simhash

TF, GAP = FINGERPRINT_RECIPES["tf-simhash128-v1"], FINGERPRINT_RECIPES[DEFAULT_FINGERPRINT]


def a_text(words: int, seed: int = 1) -> str:
    rng = np.random.default_rng(seed)
    known = ["".join(rng.choice(list("abcdefghij"), 5)) for _ in range(300)]
    return " ".join(known[int(word)] for word in rng.integers(0, 300, words))


def normal(text: str) -> NormalText:
    return normalise(content_from_text(text))


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
