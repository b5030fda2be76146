"""Titles, authors and years for simulated books, and rows of tables that name them in other ways.

Words come from the made-up language, so a few are in most titles and most in few. One title in twelve is of
the kind that hundreds of books have ("Poems"). Editions of a work differ in year, subtitle and form of name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psycopg
import sqlalchemy as sa
from numpy.typing import NDArray

from app.core.model import Metadata
from app.core.text.names import folded, name_keys
from app.stores.postgres.rows import title_words
from app.synthesis.language import language, word
from bench.data.bulk_load import book_id
from bench.data.simulated_books import simulate

_SEED = 20261122
_GENERIC_TITLES, _GENERIC = 60, 1 / 12
_AUTHORS, _AUTHOR_TAIL = 20_000, 0.4
_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")

_CREATE = """
    CREATE TEMPORARY TABLE named (
        id uuid, title text, title_words text[], folded_title text, authors text[], year integer,
        name_keys integer[]
    )
"""
_UPDATE = """
    UPDATE books SET title = named.title, title_words = named.title_words,
        folded_title = named.folded_title, authors = named.authors, year = named.year,
        name_keys = named.name_keys
    FROM named WHERE books.id = named.id
"""
_COPY_TYPES = ("uuid", "text", "text[]", "text", "text[]", "int4", "int4[]")


@dataclass(frozen=True, slots=True)
class NamedBook:
    """A simulated book and how the catalogue names it."""

    entry: int
    work: int
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Row:
    """A row of somebody's table, and the book that it means."""

    book: NamedBook
    kind: str  # what is different in it
    title: str
    author: str | None
    year: int | None


def named_books(n: int) -> Iterator[NamedBook]:
    """The simulated library of n books, in order of entries, with names."""
    tongue = language()
    cumulative = tongue.likelihoods.mean(axis=0).cumsum()
    rng = np.random.default_rng(_SEED)
    authors = [_author(rng, tongue.words) for _ in range(_AUTHORS)]
    generic = [tongue.words[rank].capitalize() for rank in rng.integers(300, 6_000, _GENERIC_TITLES)]
    entry = 0
    for books in simulate(n, texts=False):
        for work in books.works.tolist():
            entry += 1
            yield NamedBook(entry, work, _edition(work, rng, tongue.words, cumulative, authors, generic))


def name(database_url: str, books: Sequence[NamedBook]) -> None:
    """Write the names into the simulated library of this database."""
    engine = sa.create_engine(database_url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        driver.execute(_CREATE)
        with driver.cursor() as cursor, cursor.copy("COPY named FROM STDIN BINARY") as copy:
            copy.set_types(_COPY_TYPES)
            for book in books:
                copy.write_row(_columns(book))
        driver.execute(_UPDATE)
        driver.commit()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("VACUUM ANALYZE books"))
        connection.execute(sa.text("CHECKPOINT"))
    engine.dispose()


def rows(books: Sequence[NamedBook], count: int) -> list[Row]:
    """Rows that mean some of the books: a fifth each as catalogued, misspelt, shortened, undated, bare."""
    rng = np.random.default_rng([_SEED, 1])
    chosen = [books[place] for place in rng.choice(len(books), count, replace=False)]
    kinds = (_same, _misspelt, _shortened, _undated, _bare)
    return [kinds[number % len(kinds)](book, rng) for number, book in enumerate(chosen)]


def _same(book: NamedBook, _: np.random.Generator) -> Row:
    metadata = book.metadata
    return Row(book, "as catalogued", str(metadata.title), metadata.authors[0], metadata.year)


def _misspelt(book: NamedBook, rng: np.random.Generator) -> Row:
    letters = list(str(book.metadata.title))
    for place in rng.choice(len(letters), max(1, len(letters) // 20), replace=False):
        letters[place] = str(rng.choice(_LETTERS))
    return replace(_same(book, rng), kind="one letter in twenty wrong", title="".join(letters))


def _shortened(book: NamedBook, rng: np.random.Generator) -> Row:
    family, _, given = book.metadata.authors[0].partition(", ")
    title = str(book.metadata.title).partition(" : ")[0]
    return replace(
        _same(book, rng), kind="initials, no subtitle", title=title, author=f"{given[:1]}. {family}"
    )


def _undated(book: NamedBook, rng: np.random.Generator) -> Row:
    return replace(_same(book, rng), kind="title and author", year=None)


def _bare(book: NamedBook, rng: np.random.Generator) -> Row:
    return replace(_same(book, rng), kind="title alone", author=None, year=None)


def _author(rng: np.random.Generator, words: Sequence[str]) -> str:
    given = words[int(rng.integers(200, 500))].capitalize()
    return f"{word(rng, 2).capitalize()}, {given}"


def _edition(
    work: int,
    rng: np.random.Generator,
    words: Sequence[str],
    cumulative: NDArray[np.float64],
    authors: Sequence[str],
    generic: Sequence[str],
) -> Metadata:
    own = np.random.default_rng([_SEED, 2, work])
    if own.random() < _GENERIC:
        title = generic[int(_GENERIC_TITLES * own.random() ** 2)]
    else:
        ranks = np.searchsorted(cumulative, own.random(int(own.integers(2, 8))))
        title = " ".join(words[min(rank, len(words) - 1)] for rank in ranks.tolist()).capitalize()
    author = authors[int(_AUTHORS * own.random() ** (1 / _AUTHOR_TAIL))]
    year = int(own.integers(1750, 1930)) + int(rng.integers(0, 40))
    if rng.random() < 0.2:
        title = f"{title} : {words[int(rng.integers(0, 2_000))]} {words[int(rng.integers(0, 200))]}"
    return Metadata(title=title, authors=(author,), year=year)


def _columns(book: NamedBook) -> tuple[Any, ...]:
    title = str(book.metadata.title)
    return (
        book_id(book.entry),
        title,
        title_words(title),
        folded(title),
        list(book.metadata.authors),
        book.metadata.year,
        name_keys(book.metadata),
    )
