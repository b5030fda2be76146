"""Pairs with many wrong letters: their errors and their truth."""

from collections import Counter

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from app.synthesis.library import synthetic_library
from bench.data.misreading import misread
from bench.harness.corpus import CorpusBook
from bench.quality.noise import PAIRS, reprints

WORKS = 12


@pytest.fixture(scope="module")
def works() -> list[CorpusBook]:
    library = synthetic_library(3, WORKS, copies=(0, 0), characters=(160_000,) * 2)
    return [
        CorpusBook(each.id, str(each.work), each.title, each.author, None, "en", each.text, each.pages)
        for each in library
    ]


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.10, 0.15])
def test_as_many_letters_are_wrong_as_asked_for(works: list[CorpusBook], rate: float) -> None:
    text = works[0].text[:20_000]
    read = misread(text, rate, np.random.default_rng(1))
    assert Levenshtein.distance(text, read) / len(text) == pytest.approx(rate, abs=0.005)


def test_pairs_are_of_the_four_relations_alike(works: list[CorpusBook]) -> None:
    cases = list(reprints(works, 0.0, 1))
    kinds = Counter(kind for case in cases for kind in case.kinds)
    assert len(cases) == PAIRS
    assert max(kinds.values()) - min(kinds.values()) <= 2
    assert len(kinds) == 4
    directed = {kind for case in cases if case.direction for kind in case.kinds}
    assert directed == {"CONTIGUOUS_SUBSET"}
