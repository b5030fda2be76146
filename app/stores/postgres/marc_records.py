"""The MARC records of books, as their catalogues sent them: one for each book, deleted with it."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from app.core.model import Book, CatalogRecord
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.rows import SELECT_BOOKS, to_book

INSERT_RECORD_OF = """
    INSERT INTO marc_records (book_id, format, data, changed)
    SELECT id, $record_format, $record_data::bytea, $record_changed::text[]
    FROM stored WHERE $record_data::bytea IS NOT NULL
"""
"""The record of the book in `stored`, with the values of `record_values`."""

_UPSERT = SQL("""
    INSERT INTO marc_records (book_id, format, data, changed)
    VALUES ($book_id, $record_format, $record_data, $record_changed)
    ON CONFLICT (book_id) DO UPDATE
    SET format = excluded.format, data = excluded.data, changed = excluded.changed
""")
_DELETE = SQL("DELETE FROM marc_records WHERE book_id = $book_id")
_UPDATE_CHANGED = SQL("""
    UPDATE marc_records
    SET changed = ARRAY(SELECT DISTINCT name FROM unnest(changed || $names::text[]) AS name ORDER BY name)
    WHERE book_id = $book_id
""")
_READ = SQL("SELECT book_id, format, data, changed FROM marc_records WHERE book_id = ANY($book_ids::uuid[])")
_READ_BOOKS = SQL(f"{SELECT_BOOKS} WHERE books.id = ANY($book_ids::uuid[])")


class MarcRecordStore:
    """Reads the records of books, and the books that they are of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_records(self, book_ids: Sequence[UUID]) -> dict[UUID, CatalogRecord]:
        """The records of those of the books that have one, by their ids."""
        found = await self._database.rows(_READ, book_ids=list(book_ids))
        return {row["book_id"]: _to_record(row) for row in found}

    async def read_books(self, book_ids: Sequence[UUID]) -> dict[UUID, Book]:
        """The books with these ids, as far as there are any."""
        found = await self._database.rows(_READ_BOOKS, book_ids=list(book_ids))
        return {row["id"]: to_book(row) for row in found}


async def update_record(connection: Connection, book_id: UUID, record: CatalogRecord | None) -> None:
    """Replace the record of a book, or delete it."""
    if record is None:
        await rows(connection, _DELETE, book_id=book_id)
    else:
        await rows(connection, _UPSERT, book_id=book_id, **record_values(record))


async def update_changed(connection: Connection, book_id: UUID, names: Iterable[str]) -> None:
    """Note that a client has said otherwise than the record of a book about these fields."""
    await rows(connection, _UPDATE_CHANGED, book_id=book_id, names=list(names))


def record_values(record: CatalogRecord | None) -> dict[str, Any]:
    """The values of a record's columns, all None where there is no record."""
    return {
        "record_format": None if record is None else record.format,
        "record_data": None if record is None else record.data,
        "record_changed": None if record is None else list(record.changed),
    }


def _to_record(row: Row) -> CatalogRecord:
    return CatalogRecord(row["format"], row["data"], tuple(row["changed"]))
