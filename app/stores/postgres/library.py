"""Numbers of books of each language, collection and year, counted in bounded time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from app.stores.postgres.connections import SQL, Database

# `grouping` sets a bit for each column by which a row is not grouped. A sample consists of whole pages of the
# table, and no other pages are read.
_COUNT = SQL("""
    WITH sample AS MATERIALIZED (
        SELECT language, collection, year FROM books TABLESAMPLE SYSTEM ($percent::real)
    ),
    counted AS (
        SELECT grouping(language, collection, year) AS columns, language, collection, year, count(*) AS count
        FROM sample GROUP BY GROUPING SETS ((language), (collection), (year), ())
    ),
    ranked AS (
        SELECT *, row_number() OVER (
            PARTITION BY columns ORDER BY count DESC, language, collection, year
        ) AS rank
        FROM counted
    )
    SELECT columns, language, collection, year, count FROM ranked WHERE rank <= $limit ORDER BY columns, rank
""")
_COUNT_COPIES = SQL("SELECT sum(size)::bigint AS books FROM clusters WHERE by = 'same_text' AND size > 1")
_READ_COPIES = SQL("""
    WITH members AS MATERIALIZED (
        SELECT book_id, founder_id FROM cluster_members
        WHERE by = 'same_text' AND book_id = ANY($books::uuid[])
    )
    SELECT book_id, size FROM members CROSS JOIN LATERAL (
        SELECT size FROM clusters WHERE by = 'same_text' AND founder_id = members.founder_id LIMIT 1
    ) AS cluster
    WHERE size > 1
""")
_LANGUAGE, _COLLECTION, _YEAR, _ALL = 0b011, 0b101, 0b110, 0b111


@dataclass(frozen=True, slots=True)
class ValueCount:
    """The number of books with a value."""

    value: Any  # None: books without a known value
    count: int


@dataclass(frozen=True, slots=True)
class Decade:
    """The number of books of ten years; `start` is None for books without a year."""

    start: int | None
    count: int
    years: Sequence[ValueCount]


@dataclass(frozen=True, slots=True)
class Holdings:
    """The numbers of books in the library, by value."""

    books: int
    estimated: bool  # from a sample of the books
    years: Sequence[ValueCount]
    languages: Sequence[ValueCount]
    collections: Sequence[ValueCount]
    copies: int = 0  # books whose text another book also has

    @property
    def decades(self) -> Sequence[Decade]:
        """The years by decade, oldest first; the books without a year are last."""
        known = sorted((each for each in self.years if each.value is not None), key=lambda each: each.value)
        return [
            *(
                _decade(start, list(years))
                for start, years in groupby(known, lambda each: each.value // 10 * 10)
            ),
            *(_decade(None, [each]) for each in self.years if each.value is None),
        ]


def _decade(start: int | None, years: Sequence[ValueCount]) -> Decade:
    return Decade(start, sum(each.count for each in years), years)


class LibraryQueries:
    """Queries that count books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count_copies(self) -> int:
        """Return the number of books whose text another book also has."""
        [row] = await self._database.rows(_COUNT_COPIES)
        return row["books"] or 0

    async def read_copies(self, books: Collection[UUID]) -> dict[UUID, int]:
        """Return the number of copies, itself included, of each of these books that has other copies."""
        found = await self._database.rows(_READ_COPIES, books=list(books))
        return {row["book_id"]: row["size"] for row in found}

    async def count_values(self, percent: float, limit: int) -> Holdings:
        """Return the most frequent values in `percent` of all books, at most `limit` of each kind."""
        found = await self._database.rows(_COUNT, percent=percent, limit=limit)

        def counts(columns: int, name: str) -> list[ValueCount]:
            return [ValueCount(row[name], row["count"]) for row in found if row["columns"] == columns]

        [size] = [row["count"] for row in found if row["columns"] == _ALL]
        return Holdings(
            size,
            estimated=False,
            years=counts(_YEAR, "year"),
            languages=counts(_LANGUAGE, "language"),
            collections=counts(_COLLECTION, "collection"),
        )
