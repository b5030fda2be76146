"""Vectors in Postgres, and their books.

A reader follows writers by the numbers of their transactions (Postgres, `pg_current_snapshot`). All
transactions below the oldest running transaction have ended. The next read therefore begins with that
transaction and misses no vector, in whatever order transactions commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.stores.postgres.connections import SQL, Database, Row, rows
from app.stores.postgres.rows import FOUNDER, IS_VECTOR, select_summaries, to_summary
from bookprint_core.errors import UnknownBook
from bookprint_core.model import BookSummary
from bookprint_core.vectors import BYTES, EntryVectors, Vector

_READ_AT_ONCE = 50_000
"""Number of vectors read at a time."""

_OWN_VECTOR = f"(SELECT data FROM signatures WHERE entry_id = books.entry_id AND {IS_VECTOR})"

# A restored database may contain rows with transaction numbers above its own counter. The first read returns
# these rows. Later reads skip them until the counter has reached their numbers.
_READ_WRITTEN = SQL(f"""
    SELECT
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next,
        written.*
    FROM (
        SELECT
            max(written_by) AS last, string_agg(int8send(entry_id), '') AS entries,
            string_agg(data, '') AS vectors
        FROM (
            SELECT written_by, entry_id, data FROM signatures
            WHERE {IS_VECTOR} AND (written_by, entry_id) > ($since::bigint, $entry_id::bigint)
                AND ($all OR written_by < pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
            ORDER BY written_by, entry_id LIMIT $limit
        ) AS part
    ) AS written
""")
_ARE_LACKING = SQL(f"""
    SELECT EXISTS (SELECT FROM books) AND NOT EXISTS (SELECT FROM signatures WHERE {IS_VECTOR}) AS lacking
""")
_READ_BOOK = SQL(
    select_summaries(
        "books.authors",
        f"{FOUNDER} AS founder_id",
        f"{_OWN_VECTOR} AS vector",
        "EXISTS (SELECT FROM texts WHERE entry_id = books.entry_id) AS has_text",
        with_sample=True,
    )
    + " WHERE books.id = $book_id"
)
_READ_BOOKS = SQL(
    select_summaries("books.authors", f"{FOUNDER} AS founder_id", with_sample=True)
    + " WHERE books.entry_id = ANY($entry_ids::bigint[])"
)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """Vectors written since a transaction."""

    vectors: EntryVectors
    since: int  # the transaction with which the next read begins
    is_all: bool  # all current vectors; others are deleted


@dataclass(frozen=True, slots=True, eq=False)
class ShownBook:
    """A book in a list of similar books, with the data that identify its copies."""

    summary: BookSummary
    authors: tuple[str, ...]
    founder_id: UUID  # of its cluster of the same text


@dataclass(frozen=True, slots=True, eq=False)
class QueryVector:
    """The vector of a query, and its book."""

    book: ShownBook
    vector: Vector | None  # None: the book has no vector
    has_text: bool  # a vector can be computed


class VectorQueries:
    """Queries for the vectors of the current entries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_written(self, since: int | None) -> Written:
        """Return the vectors written by the transaction `since` and later transactions; None: all vectors."""
        parts: list[Row] = []
        place = {"since": since or 0, "entry_id": 0}
        async with self._database.connection() as connection:
            while True:
                asked = place | {"all": since is None, "limit": _READ_AT_ONCE}
                [part] = await rows(connection, _READ_WRITTEN, **asked)
                if since is not None and part["next"] < since:
                    # An older state of the database has been restored.
                    return await self.read_written(None)
                parts.append(part)
                entries = _entries(part)
                if entries.size < _READ_AT_ONCE:
                    break
                place = {"since": part["last"], "entry_id": int(entries[-1])}
        data = b"".join(part["vectors"] or b"" for part in parts)
        vectors = EntryVectors(np.concatenate([_entries(part) for part in parts]), _vectors(data))
        return Written(vectors, parts[0]["oldest"], is_all=since is None)

    async def are_lacking(self) -> bool:
        """Return whether books exist but none has a vector."""
        [row] = await self._database.rows(_ARE_LACKING)
        return bool(row["lacking"])

    async def read_book(self, book_id: UUID) -> QueryVector:
        """Return a book with its vector and its signatures; raises `UnknownBook`."""
        for row in await self._database.rows(_READ_BOOK, book_id=book_id):
            vector = None if row["vector"] is None else _vectors(row["vector"])[0]
            return QueryVector(_described(row), vector, row["has_text"])
        raise UnknownBook(book_id)

    async def read_books(self, entry_ids: Sequence[int]) -> dict[int, ShownBook]:
        """Return the current books with these entries, by entry."""
        found = await self._database.rows(_READ_BOOKS, entry_ids=list(entry_ids))
        return {row["entry_id"]: _described(row) for row in found}


def _entries(row: Row) -> NDArray[np.uint64]:
    return np.frombuffer(row["entries"] or b"", dtype=">i8").astype(np.uint64)


def _vectors(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, BYTES)


def _described(row: Row) -> ShownBook:
    return ShownBook(to_summary(row), tuple(row["authors"]), row["founder_id"])
