"""The experiments on the steps of Carpenter (2011), by hand and on made books."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from bench.harness.corpus import CorpusBook, Pair
from bookprint_core.text.content import content_from_text
from research.shingling.band_curves import found, strangers
from research.shingling.candidate_finders import FINDERS, Shelf, overlaps, sign
from research.shingling.shingle_choices import (
    Score,
    cross_fitted,
    signatures,
)
from tests.api.library import prose, scanned


def book(work: int, copy: int = 0) -> CorpusBook:
    text = prose(work, 600) if copy == 0 else scanned(prose(work, 600), copy)
    return CorpusBook(f"{work}.{copy}", f"{work}", "", "", None, "en", text, None)


def labels_of(works: list[str]) -> np.ndarray:
    return np.array(["same_work" if this == other else "unrelated" for this, other in combinations(works, 2)])


def test_strangers_meet_by_a_passage_that_both_have_and_not_once_words_are_shuffled() -> None:
    books = [replace(book(work), text=prose(9, 300) + prose(work, 600)) for work in range(3)]
    labelled = [Pair(books[0].id, books[1].id, "series", 0.0)]
    as_they_are, shuffled = strangers(books, labelled).rows

    assert as_they_are[:3] == ["as they are", 2, 2]
    assert shuffled[2:] == [0] * 4


def test_a_band_is_found_only_where_all_of_its_values_are_equal() -> None:
    equal = np.zeros((2, 128), dtype=bool)
    equal[0, [0, 1, 4]] = equal[1, [1, 2, 5]] = True

    assert found(equal, 64, 2).tolist() == [True, False]
    assert found(equal, 42, 3).tolist() == [False, False]


def test_threshold_of_one_half_judges_the_other() -> None:
    works = [f"{number // 2}" for number in range(16)]
    hashes = [np.random.default_rng(int(work)).integers(0, 1 << 63, 300, dtype=np.uint64) for work in works]
    kinds = labels_of(works)
    values, seconds = signatures(hashes, 64)

    assert values.shape == (16, 64)
    assert seconds > 0
    assert cross_fitted(values, kinds, works) == Score(8, 0, 0)


def a_text(seed: int, words: int = 4_000) -> str:
    return " ".join(f"w{number:x}" for number in np.random.default_rng(seed).integers(0, 5_000, words))


def a_book(seed: int) -> CorpusBook:
    return CorpusBook(str(seed), str(seed), "", "", None, "en", a_text(seed), None)


@pytest.mark.parametrize("finder", FINDERS, ids=[finder.name for finder in FINDERS])
def test_a_copy_is_proposed_and_an_unrelated_or_empty_book_is_not(finder: object) -> None:
    shelf = Shelf([sign(content_from_text(text)) for text in (a_text(1), a_text(2), "too short", a_text(1))])
    assert finder.proposes(sign(content_from_text(a_text(1))), shelf).tolist() == [True, False, False, True]


def test_large_overlaps_are_found_and_small_ones_by_samples_alone() -> None:
    tables = overlaps([a_book(1), a_book(2)], places=10, shares=(0.05, 0.5), rates=(0.0,))
    by_passage, by_book = ({str(row[0]): row[1:] for row in table.rows} for table in tables)
    assert all(recalls[1] == 1 for recalls in by_passage.values())
    assert by_book["letter samples of 256, ≥ 2 shared"][0] > by_book["32 bands of 4 values"][0]
