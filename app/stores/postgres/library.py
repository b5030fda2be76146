"""How many books there are of each language, collection and year, counted in bounded time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.stores.postgres.connections import SQL, Database

# `grouping` has a bit for each column by which a row is not grouped. A sample is made of whole pages of the
# table, and no others are read.
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
_LANGUAGE, _COLLECTION, _YEAR, _ALL = 0b011, 0b101, 0b110, 0b111


@dataclass(frozen=True, slots=True)
class ValueCount:
    """The number of books with a value."""

    value: Any  # None: it is not known of them
    count: int


@dataclass(frozen=True, slots=True)
class SampledBooks:
    """How many books of a sample have each value, the most frequent values first."""

    size: int  # books of the sample
    languages: Sequence[ValueCount]
    collections: Sequence[ValueCount]
    years: Sequence[ValueCount]


class LibraryQueries:
    """Counts books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count_values(self, percent: float, limit: int) -> SampledBooks:
        """The most frequent values of so much of all books, at most `limit` of each kind."""
        found = await self._database.rows(_COUNT, percent=percent, limit=limit)

        def counts(columns: int, name: str) -> list[ValueCount]:
            return [ValueCount(row[name], row["count"]) for row in found if row["columns"] == columns]

        [size] = [row["count"] for row in found if row["columns"] == _ALL]
        return SampledBooks(
            size,
            counts(_LANGUAGE, "language"),
            counts(_COLLECTION, "collection"),
            counts(_YEAR, "year"),
        )
