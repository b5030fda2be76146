"""Books with word counts: one book of each work of the corpus, and the works of Reeve (2017)."""

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, corpus_pairs, gutenberg_books
from bench.harness.report import CannotMeasure
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import NormalText, normalise
from bookprint_core.vectors import WordCounts, word_counts

UNCLEAR_LICENCE = ("oiti-", "kr-", "cis-")
"""Prefixes of books without a free licence of the digital edition: measured, but not for learning."""


@dataclass(frozen=True, slots=True, eq=False)
class Book:
    """A book with its word counts, as input of the methods."""

    id: str
    work: str
    title: str
    author: str  # surname, in lower case
    language: str
    text: NormalText
    words: WordCounts

    @property
    def free(self) -> bool:
        """Return whether the book's licence allows learning weights from it."""
        return not self.id.startswith(UNCLEAR_LICENCE)


def corpus_works() -> list[Book]:
    """Return one book of each work, and every book of a series pair; raises CannotMeasure without corpus."""
    folder = corpus_folder()
    in_series = {
        end for pair in corpus_pairs(folder) if pair.relation == "series" for end in (pair.a, pair.b)
    }
    every = list(corpus_books(folder))
    met = {book.work for book in every if book.id in in_series}
    return [_counted(book) for book in every if book.id in in_series or _first(book.work, met)]


def _first(work: str, met: set[str]) -> bool:
    new = work not in met
    met.add(work)
    return new


def _counted(book: CorpusBook) -> Book:
    text = normalise(content_from_text(book.text))
    return Book(book.id, book.work, book.title, surname(book.author), book.language, text, word_counts(text))


def surname(author: str) -> str:
    """Return the part before the comma, else the last word, in lower case.

    >>> surname("Doyle, Arthur Conan"), surname("Anthony Trollope")
    ('doyle', 'trollope')
    """
    parts = author.split(",")[0].split() if "," in author else author.split()[-1:]
    return " ".join(parts).lower()


@dataclass(frozen=True, slots=True, eq=False)
class GutenbergPair:
    """A pair of rows of Reeve's table: a duplicate, of one series, or a false pair of his list."""

    a: int
    b: int
    kind: str  # duplicate, series, false; our label
    listed: bool  # among the 19 of his list


def gutenberg_folder() -> Path:
    """Return the folder; raises CannotMeasure if there is none."""
    folder = os.environ.get("BOOKPRINT_GUTENBERG")
    if not folder or not (Path(folder) / "works.jsonl.gz").exists():
        raise CannotMeasure("Set BOOKPRINT_GUTENBERG to a folder with works.jsonl.gz and pairs.csv.")
    return Path(folder)


def gutenberg_pairs(folder: Path) -> list[GutenbergPair]:
    """Return the duplicates and series pairs of Reeve's table, and the false pairs of his list."""
    with (folder / "pairs.csv").open(encoding="utf-8", newline="") as rows:
        next(rows)
        return [
            GutenbergPair(int(a), int(b), kind, listed == "1")
            for a, b, _, _, kind, listed, *_ in csv.reader(rows)
        ]


def gutenberg_works() -> dict[int, Book]:
    """Return the works by row of Reeve's table."""
    return {row: _counted(book) for row, book in gutenberg_books().items()}


def without_authors(books: Sequence[Book], others: Sequence[Book]) -> list[Book]:
    """Return the books that share no author and no title with the others."""
    authors = {book.author for book in others} - {""}
    titles = {book.title.lower() for book in others}
    return [book for book in books if book.author not in authors and book.title.lower() not in titles]
