"""Finders of candidates, on texts of which it is known what they share."""

import numpy as np
import pytest

from app.core.text.content import content_from_text
from bench.harness.corpus import CorpusBook
from research.shingling.candidate_finders import FINDERS, Shelf, overlaps, real_pairs, sign, simulated


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


def test_labelled_pairs_and_unrelated_books_are_counted() -> None:
    texts = [a_text(1), a_text(1), a_text(2)]
    kinds = np.array(["same_work", "unrelated", "series"])
    asked, others = simulated(300, 5)
    table = real_pairs([sign(content_from_text(text)) for text in texts], kinds, asked, others)
    assert table.rows[0][1:8] == [1, 0, 0, 1, 0, 0, 1]
    for row in table.rows[1:]:
        assert row[1:8] == [1, 0, 0, 0, 0, 0, 0]
    values, *_ = (row for row in table.rows if row[0] == "values, ≥ 3 equal")
    assert values[8] == 512
    assert len(asked) == 5
    assert len(others) > 200
