"""The best of two copies, of made pairs and of the corpus."""

from pathlib import Path

import pytest

from bench.harness.corpus import CorpusBook, corpus_books
from bench.quality.best_copy import PREFIX, RATES, furnished, made_rows, pages_of, real_rows
from tests.core.printed_pages import book


def test_a_book_without_pages_is_cut() -> None:
    whole = CorpusBook("b", "w", "", "", None, "en", "abc" * 1000, None)
    assert [len(page) for page in pages_of(whole)] == [1800, 1200]
    assert furnished(["one", "two"]) == ["1 CHAPTER 1.\none", "2 CHAPTER 1.\ntwo"]


def test_of_made_pairs_the_cleaner_is_counted() -> None:
    pages = book(60, seed=3)
    rows = list(made_rows([CorpusBook("b", "w", "", "", None, "en", " ".join(pages), pages)]))
    assert len(rows) == 3 * len(RATES)
    assert all(row[2] == 1 and sum(map(float, row[3:])) == 1 for row in rows)  # type: ignore[arg-type]
    assert sum(float(row[4]) for row in rows) == 0  # type: ignore[arg-type]


@pytest.mark.corpus
def test_the_cleaner_of_two_copies_of_real_books_is_named(corpus: Path) -> None:
    books = {each.work: each for each in corpus_books(corpus)}
    some = list(books.values())[::13]
    for _, _, _, named, *_ in made_rows(some, seed=7):
        assert isinstance(named, float)
        assert named >= 0.95


@pytest.mark.corpus
def test_the_cleaner_of_two_engines_is_named_unless_the_other_has_more_pages(corpus: Path) -> None:
    scans = [each for each in corpus_books(corpus) if each.id.startswith(PREFIX)]
    wrong = [(row[0], row[-1]) for row in real_rows(scans) if row[1] != row[5]]
    assert wrong == [
        (
            "1870-Zonaras-Epitome-3",
            "It alone is complete: 139,385 characters, where the fullest of 2 copies has 139,385.",
        )
    ]
