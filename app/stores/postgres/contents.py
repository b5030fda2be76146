"""The rows of a book's content: signatures, text and MARC record.

The compressed text is stored so that signatures of later recipes can be computed. The MARC record is stored
as it was sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import zstandard

from app.stores.postgres.changes import identifier_of
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.jobs import insert_relate_jobs_of
from app.stores.postgres.rows import (
    SIGNATURE_COLUMNS,
    SignatureRow,
    array_parameters,
    content_signature_values,
    content_values,
)
from app.stores.postgres.schema import signatures
from bookprint_core.model import CatalogRecord, Content, NewContent
from bookprint_core.recipe import PRESENT_RECIPES

CODEC = "zstd"
"""Name of the compression of new texts; stored with each text."""

_WITH_RECIPE = "EXISTS (SELECT FROM signatures WHERE entry_id = books.entry_id AND recipe"
_NEEDS = {
    "lacking": f"NOT {_WITH_RECIPE} = ANY($recipes::text[]))",
    "outdated": f"{_WITH_RECIPE} <> ALL($recipes::text[]))",
}
_COUNT = {
    kind: SQL(f"""
        SELECT count(*) FILTER (WHERE has_text) AS with_text, count(*) FILTER (WHERE NOT has_text) AS without
        FROM (
            SELECT EXISTS (SELECT FROM texts WHERE entry_id = books.entry_id) AS has_text
            FROM books WHERE {needs}
        ) AS needing
    """)
    for kind, needs in _NEEDS.items()
}
_LIST = {
    kind: SQL(f"""
        SELECT books.entry_id, books.page_count, texts.codec, texts.data
        FROM books JOIN texts ON texts.entry_id = books.entry_id
        WHERE books.entry_id > $after AND {needs}
        ORDER BY books.entry_id LIMIT $limit
    """)
    for kind, needs in _NEEDS.items()
}
_READ_TEXTS = SQL("""
    SELECT books.id, books.entry_id, books.page_count, texts.codec, texts.data,
        coalesce(books.page_labels, '{}') AS page_labels
    FROM books JOIN texts ON texts.entry_id = books.entry_id
    WHERE books.id = ANY($book_ids::uuid[])
""")
# The lock prevents the deletion of a book between reading and inserting.
_INSERT_SIGNATURES = SQL(f"""
    INSERT INTO signatures ({", ".join(SIGNATURE_COLUMNS)})
    SELECT computed.*
    FROM unnest({array_parameters(signatures, SIGNATURE_COLUMNS)})
        AS computed ({", ".join(SIGNATURE_COLUMNS)})
    JOIN books ON books.entry_id = computed.entry_id FOR KEY SHARE OF books
    ON CONFLICT DO NOTHING
""")
_DELETE_OUTDATED = SQL("""
    DELETE FROM signatures WHERE entry_id = ANY($entry_ids::bigint[]) AND recipe <> ALL($recipes::text[])
""")


def compress(text: str) -> bytes:
    """Return the text in its stored form."""
    return zstandard.ZstdCompressor(level=1).compress(text.encode())


def decompress(data: bytes, codec: str) -> str:
    """Return a text from its stored form."""
    if codec != CODEC:
        raise ValueError(f"A text was stored with the unknown codec {codec!r}; this version reads {CODEC!r}.")
    return zstandard.ZstdDecompressor().decompress(data).decode()


@dataclass(frozen=True, slots=True)
class StoredText:
    """The stored text of an entry."""

    entry_id: int
    page_count: int | None
    codec: str
    data: bytes
    page_labels: Sequence[str | None] = ()  # empty: no label is known

    def content(self) -> Content:
        return Content(decompress(self.data, self.codec), self.page_count)


class TextStore:
    """Store of the texts of books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, book_ids: Sequence[UUID]) -> dict[UUID, StoredText]:
        """Return the stored texts of these books, by id."""
        async with self._database.connection() as connection:
            return await read_texts(connection, book_ids)


async def read_texts(connection: Connection, book_ids: Iterable[UUID]) -> dict[UUID, StoredText]:
    """Return the stored texts of these books, by id."""
    found = await rows(connection, _READ_TEXTS, book_ids=list(book_ids))
    return {row.pop("id"): StoredText(**row) for row in map(dict, found)}


class UnsignedBooks:
    """Store of the books whose signatures must be computed, with their texts."""

    def __init__(self, database: Database, lacking: str | None) -> None:
        """Select the books that lack a signature of the recipe `lacking`.

        None: select books with signatures of recipes that this version of Bookprint does not use.
        """
        self._database = database
        kind = "outdated" if lacking is None else "lacking"
        self._count, self._list = _COUNT[kind], _LIST[kind]
        self._recipes = list(PRESENT_RECIPES) if lacking is None else [lacking]

    async def count(self) -> tuple[int, int]:
        """Return the number of these books with a text, and without a text.

        The count includes books whose text is too short for the signature.
        """
        async with self._database.transaction() as connection:
            [row] = await rows(connection, self._count, recipes=self._recipes)
        return int(row["with_text"]), int(row["without"])

    async def list_texts(self, after: int, limit: int) -> list[StoredText]:
        """Return at most `limit` texts of these books after the entry `after`, by ascending entry id."""
        async with self._database.transaction() as connection:
            texts = await rows(connection, self._list, recipes=self._recipes, after=after, limit=limit)
        return [StoredText(**row) for row in texts]

    async def sign(self, signed: Mapping[int, Sequence[SignatureRow]]) -> None:
        """Store signatures and delete those of outdated recipes; deleted entries are skipped."""
        new = [{"entry_id": entry_id} | row for entry_id, each in signed.items() for row in each]
        columns = {name: [row[name] for row in new] for name in SIGNATURE_COLUMNS}
        async with self._database.transaction() as connection:
            entry_ids, recipes = list(signed), list(PRESENT_RECIPES)
            await rows(connection, _DELETE_OUTDATED, entry_ids=entry_ids, recipes=recipes)
            await rows(connection, _INSERT_SIGNATURES, **columns)


_OF_SIGNATURE = SIGNATURE_COLUMNS[1:]  # without the entry

STORE_CONTENT = f"""
    signed AS (
        INSERT INTO signatures ({", ".join(SIGNATURE_COLUMNS)})
        SELECT entry_id, signature.*
        FROM stored, unnest({array_parameters(signatures, _OF_SIGNATURE)}) AS signature
    ),
    kept AS (
        INSERT INTO texts (entry_id, codec, data)
        SELECT entry_id, $codec, $text::bytea FROM stored WHERE $text::bytea IS NOT NULL
    ),
    deferred AS MATERIALIZED ({insert_relate_jobs_of("stored")})
    SELECT entry_id FROM stored LEFT JOIN deferred ON true
"""
"""SQL that writes the signatures, the text and the relate job of the entry in `stored`."""


def stored_values(content: NewContent) -> dict[str, Any]:
    """Return a content as the parameters of `STORE_CONTENT`."""
    made = content_signature_values(content)
    return content_values(content) | {
        "identifier": identifier_of(content.sketch.fingerprint, content.sketch.word_count),
        **{name: [row[name] for row in made] for name in _OF_SIGNATURE},
        "codec": CODEC,
        "text": content.compressed_text,
    }


INSERT_RECORD_OF = """
    INSERT INTO marc_records (book_id, format, data, changed)
    SELECT id, $record_format, $record_data::bytea, $record_changed::text[]
    FROM stored WHERE $record_data::bytea IS NOT NULL
"""
"""SQL that writes the record of the book in `stored`; `record_values` returns its parameters."""

_UPSERT = SQL("""
    INSERT INTO marc_records (book_id, format, data, changed)
    VALUES ($book_id, $record_format, $record_data, $record_changed)
    ON CONFLICT (book_id) DO UPDATE
    SET format = excluded.format, data = excluded.data, changed = excluded.changed
""")
_DELETE_RECORD = SQL("DELETE FROM marc_records WHERE book_id = $book_id")
_UPDATE_CHANGED = SQL("""
    UPDATE marc_records
    SET changed = ARRAY(SELECT DISTINCT name FROM unnest(changed || $names::text[]) AS name ORDER BY name)
    WHERE book_id = $book_id
""")
_READ_RECORDS = SQL(
    "SELECT book_id, format, data, changed FROM marc_records WHERE book_id = ANY($book_ids::uuid[])"
)


class MarcRecordStore:
    """Store of the MARC records of books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_records(self, book_ids: Sequence[UUID]) -> dict[UUID, CatalogRecord]:
        """Return the stored records of these books, by id."""
        found = await self._database.rows(_READ_RECORDS, book_ids=list(book_ids))
        return {row["book_id"]: _to_record(row) for row in found}


async def update_record(connection: Connection, book_id: UUID, record: CatalogRecord | None) -> None:
    """Replace the record of a book, or delete it."""
    if record is None:
        await rows(connection, _DELETE_RECORD, book_id=book_id)
    else:
        await rows(connection, _UPSERT, book_id=book_id, **record_values(record))


async def update_changed(connection: Connection, book_id: UUID, names: Iterable[str]) -> None:
    """Note that a client has changed these metadata fields of a book since its record was sent."""
    await rows(connection, _UPDATE_CHANGED, book_id=book_id, names=list(names))


def record_values(record: CatalogRecord | None) -> dict[str, Any]:
    """Return the values of a record's columns; all are None without a record."""
    return {
        "record_format": None if record is None else record.format,
        "record_data": None if record is None else record.data,
        "record_changed": None if record is None else list(record.changed),
    }


def _to_record(row: Row) -> CatalogRecord:
    return CatalogRecord(row["format"], row["data"], tuple(row["changed"]))
