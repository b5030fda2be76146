"""The experiments on the steps of Carpenter (2011), by hand and on made books."""

from dataclasses import replace

import numpy as np

from bench.harness.corpus import CorpusBook, Pair
from research.shingling.band_curves import found, strangers
from tests.api.library import prose, scanned


def book(work: int, copy: int = 0) -> CorpusBook:
    text = prose(work, 600) if copy == 0 else scanned(prose(work, 600), copy)
    return CorpusBook(f"{work}.{copy}", f"{work}", "", "", None, "en", text, None)


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


def a_text(seed: int, words: int = 4_000) -> str:
    return " ".join(f"w{number:x}" for number in np.random.default_rng(seed).integers(0, 5_000, words))


def a_book(seed: int) -> CorpusBook:
    return CorpusBook(str(seed), str(seed), "", "", None, "en", a_text(seed), None)
