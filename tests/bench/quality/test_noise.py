"""Pairs with many wrong letters: their errors and their truth."""

from collections import Counter

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from app.synthesis.library import synthetic_library
from bench.data.misreading import misread, misread_pages
from bench.harness.corpus import CorpusBook
from bench.quality.noise import PAIRS, reprints, tenths

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


def test_pages_stay_and_the_seed_alone_decides(works: list[CorpusBook]) -> None:
    pages = ["", *(works[0].pages or ())[:5], "m"]
    read = misread_pages(pages, 0.1, (1, 2))
    assert len(read) == len(pages)
    assert read == misread_pages(pages, 0.1, (1, 2))
    assert read != misread_pages(pages, 0.1, (1, 3))


def test_two_letters_are_read_as_one_and_one_as_two() -> None:
    rng = np.random.default_rng(2)
    assert {"m", "d"} & {misread("rn cl " * 20, 0.2, rng)[place] for place in range(60)}
    assert "rn" in misread("m" * 100, 0.5, rng)


def test_pairs_are_of_the_four_relations_alike(works: list[CorpusBook]) -> None:
    cases = list(reprints(works, 0.0, 1))
    kinds = Counter(kind for case in cases for kind in case.kinds)
    assert len(cases) == PAIRS
    assert max(kinds.values()) - min(kinds.values()) <= 2
    assert len(kinds) == 4
    directed = {kind for case in cases if case.direction for kind in case.kinds}
    assert directed == {"CONTIGUOUS_SUBSET"}


def test_a_tenth_is_a_part_of_its_work(works: list[CorpusBook]) -> None:
    for case in tenths(works, 0.0):
        assert "\f".join(case.right) in "\f".join(case.left)
        assert len(case.right) == round(0.1 * len(case.left))
