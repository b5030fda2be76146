"""What is stored of a book's content, and the suites of recipes that it is signed and indexed under.

Beside the signatures that is the text, compressed so that a later recipe can be computed from it, and the
MARC record that was sent.
"""

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, astuple, dataclass
from typing import Any
from uuid import UUID

import zstandard

from app.core.model import Book, CatalogRecord, Content, NewContent
from app.core.recipe import Suite, Suites
from app.stores.postgres.changes import identifier_of
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.jobs import insert_relate_jobs_of
from app.stores.postgres.rows import (
    SELECT_BOOKS,
    SIGNATURE_COLUMNS,
    array_parameters,
    content_signature_values,
    content_values,
    to_book,
)
from app.stores.postgres.schema import signatures

SERVING, BUILDING = "serving", "building"
"""The states of a suite."""

KNOWN_FOR = 1.0
"""Seconds for which a process relies on what it has read."""

_ALL = "SELECT fingerprint, minhash, sample, state FROM suites ORDER BY fingerprint"

_READ_SUITES = SQL(_ALL)
_READ_LOCKED = SQL(f"{_ALL} FOR SHARE")
LOCKED_SUITES = "SELECT concat_ws(' ', fingerprint, minhash, sample, state) AS suite FROM suites FOR SHARE"
"""The suites as `suite_lines` writes them, which stay so until the transaction ends."""
# It conflicts with what FOR SHARE locks of the table, not with plain reads. A transaction that waited for it
# reads what was changed meanwhile, new rows too, which a lock on rows alone would not show.
_LOCK_TABLE = SQL("LOCK TABLE suites IN EXCLUSIVE MODE")
_INSERT_SUITE = SQL(
    "INSERT INTO suites (fingerprint, minhash, sample, state)"
    " VALUES ($fingerprint, $minhash, $sample, 'building')"
)
_DELETE_SUITE = SQL("DELETE FROM suites WHERE fingerprint = $fingerprint AND sample = $sample")
_LET_SERVE = SQL("UPDATE suites SET state = 'serving' WHERE state = 'building'")

LACKING = """NOT EXISTS (
    SELECT FROM signatures
    WHERE entry_id = books.entry_id AND recipe IN ($recipe, replace($recipe, '-v', '-folded-v'))
)"""
HAS_TEXT = "EXISTS (SELECT FROM texts WHERE entry_id = books.entry_id)"
_COUNT_TEXTLESS = SQL(f"SELECT count(*) FROM books WHERE NOT {HAS_TEXT} AND {LACKING}")


class SuitesChanged(Exception):
    """The suites are others than those that the caller went by. Read them again, and begin again."""


class SuiteStore:
    """The suites as this process knows them, and the way to change them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known = Suites()
        self._read_at = float("-inf")

    async def current(self) -> Suites:
        """The suites, as of a second ago at most."""
        if time.monotonic() - self._read_at > KNOWN_FOR:
            return await self.read()
        return self._known

    async def read(self) -> Suites:
        """The suites as of now."""
        begun = time.monotonic()
        self._known, self._read_at = _suites(await self._database.rows(_READ_SUITES)), begun
        return self._known

    async def insert(self, suite: Suite) -> None:
        """Have every entry that is committed from now on enter this suite; no lookup is answered in it."""
        async with self._changing() as connection:
            await _delete(connection, suite)
            await rows(connection, _INSERT_SUITE, **asdict(suite))

    async def delete(self, suite: Suite) -> None:
        """Have no entry enter this suite any more."""
        async with self._changing() as connection:
            await _delete(connection, suite)

    async def update_serving(self, recipe: str, *, allow_missing: bool) -> int:
        """Let the suite that was being built serve; the one that served goes on taking entries.

        Returns how many entries have neither a text nor a signature of the recipe that is new in it; unless
        such are allowed, one of them leaves everything as it is.
        """
        async with self._changing() as connection:
            missing = await count_textless(connection, recipe)
            if allow_missing or not missing:
                serving = (await read_locked_suites(connection)).serving
                await _delete(connection, serving)
                await rows(connection, _LET_SERVE)
                await rows(connection, _INSERT_SUITE, **asdict(serving))
            return missing

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[Connection]:
        """A transaction in which no other changes the suites or stores entries."""
        async with self._database.transaction() as connection:
            await rows(connection, _LOCK_TABLE)
            yield connection
        await self.read()


async def _delete(connection: Connection, suite: Suite) -> None:
    await rows(connection, _DELETE_SUITE, fingerprint=suite.fingerprint, sample=suite.sample)


async def read_locked_suites(connection: Connection) -> Suites:
    """The suites, which stay so until the transaction ends."""
    return _suites(await rows(connection, _READ_LOCKED))


def suite_lines(suites: Suites) -> list[str]:
    """The suites, a line each, as `LOCKED_SUITES` reads them."""
    states = zip(suites.indexed, (SERVING, BUILDING), strict=False)
    return [" ".join((*astuple(suite), state)) for suite, state in states]


def _suites(rows: Iterable[Row]) -> Suites:
    by_state = {row["state"]: Suite(row["fingerprint"], row["minhash"], row["sample"]) for row in rows}
    return Suites(by_state[SERVING], by_state.get(BUILDING))


async def count_textless(connection: Connection, recipe: str) -> int:
    """The number of entries with neither a text nor a signature of the recipe."""
    [row] = await rows(connection, _COUNT_TEXTLESS, recipe=recipe)
    return int(row["count"])


CODEC = "zstd"
"""Name of the compression that new texts get; stored with each text."""

_COUNT = SQL(f"SELECT count(*) FROM books WHERE {HAS_TEXT} AND {LACKING}")
_LIST = SQL(f"""
    SELECT books.entry_id, books.page_count, texts.codec, texts.data
    FROM books JOIN texts ON texts.entry_id = books.entry_id
    WHERE {LACKING} AND books.entry_id > $after
    ORDER BY books.entry_id LIMIT $limit
""")
_READ_TEXTS = SQL("""
    SELECT books.id, books.entry_id, books.page_count, texts.codec, texts.data
    FROM books JOIN texts ON texts.entry_id = books.entry_id
    WHERE books.id = ANY($book_ids::uuid[])
""")
# The lock keeps each book from leaving between the look and the insert.
_INSERT_SIGNATURES = SQL("""
    INSERT INTO signatures (entry_id, recipe, data)
    SELECT books.entry_id, $recipe, computed.data
    FROM unnest($entry_ids::bigint[], $data::bytea[]) AS computed (entry_id, data)
    JOIN books ON books.entry_id = computed.entry_id FOR KEY SHARE OF books
    ON CONFLICT DO NOTHING
""")


def compress(text: str) -> bytes:
    """The text as it is stored."""
    return zstandard.ZstdCompressor(level=1).compress(text.encode())


def decompress(data: bytes, codec: str) -> str:
    """The text back from how it is stored."""
    if codec != CODEC:
        raise ValueError(f"A text was stored with the unknown codec {codec!r}; this version knows {CODEC!r}.")
    return zstandard.ZstdDecompressor().decompress(data).decode()


@dataclass(frozen=True, slots=True)
class StoredText:
    """The text of an entry, as it is kept."""

    entry_id: int
    page_count: int | None
    codec: str
    data: bytes

    def content(self) -> Content:
        return Content(decompress(self.data, self.codec), self.page_count)


class TextStore:
    """The texts of books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, book_ids: Sequence[UUID]) -> dict[UUID, StoredText]:
        """The texts of those of the books that have one, by their ids."""
        rows = await self._database.rows(_READ_TEXTS, book_ids=list(book_ids))
        return {row.pop("id"): StoredText(**row) for row in map(dict, rows)}


class MissingSignatureStore:
    """Entries that lack the signature of a recipe, and the texts from which it can be computed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, recipe: str) -> int:
        """The number of them with a text. Those too short for the signature will always be among them."""
        async with self._database.transaction() as connection:
            [row] = await rows(connection, _COUNT, recipe=recipe)
        return int(row["count"])

    async def count_textless(self, recipe: str) -> int:
        async with self._database.transaction() as connection:
            return await count_textless(connection, recipe)

    async def list_texts(self, recipe: str, after: int, limit: int) -> list[StoredText]:
        """Texts of up to `limit` of them behind the entry `after`, by ascending entry id."""
        async with self._database.transaction() as connection:
            texts = await rows(connection, _LIST, recipe=recipe, after=after, limit=limit)
        return [StoredText(**row) for row in texts]

    async def insert(self, recipe: str, signatures: Sequence[tuple[int, bytes]]) -> None:
        """Store the bytes of signatures of the recipe, each with its entry; deleted ones are passed over."""
        entry_ids, data = [entry_id for entry_id, _ in signatures], [value for _, value in signatures]
        async with self._database.transaction() as connection:
            await rows(connection, _INSERT_SIGNATURES, recipe=recipe, entry_ids=entry_ids, data=data)


LOCK_SUITES = f"""
    held AS MATERIALIZED ({LOCKED_SUITES}),
    agreed AS MATERIALIZED (
        SELECT count(*) = cardinality($suites::text[]) AND bool_and(suite = ANY($suites::text[]))
            AS agreed
        FROM held
    )
"""
"""Whether the content was computed for the suites that are indexed, which stay so until the end."""

_OF_SIGNATURE = SIGNATURE_COLUMNS[1:]  # but for the entry

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
    SELECT agreed, entry_id FROM agreed LEFT JOIN stored ON true LEFT JOIN deferred ON true
"""
"""The signatures, the text and the relate job of the entry in `stored`."""


def stored_values(content: NewContent) -> dict[str, Any]:
    """The content as parameters of a statement that stores it."""
    made = content_signature_values(content)
    return content_values(content) | {
        "suites": suite_lines(content.suites),
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
"""The record of the book in `stored`, with the values of `record_values`."""

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
_READ_BOOKS = SQL(f"{SELECT_BOOKS} WHERE books.id = ANY($book_ids::uuid[])")


class MarcRecordStore:
    """Reads the records of books, and the books that they are of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_records(self, book_ids: Sequence[UUID]) -> dict[UUID, CatalogRecord]:
        """The records of those of the books that have one, by their ids."""
        found = await self._database.rows(_READ_RECORDS, book_ids=list(book_ids))
        return {row["book_id"]: _to_record(row) for row in found}

    async def read_books(self, book_ids: Sequence[UUID]) -> dict[UUID, Book]:
        """The books with these ids, as far as there are any."""
        found = await self._database.rows(_READ_BOOKS, book_ids=list(book_ids))
        return {row["id"]: to_book(row) for row in found}


async def update_record(connection: Connection, book_id: UUID, record: CatalogRecord | None) -> None:
    """Replace the record of a book, or delete it."""
    if record is None:
        await rows(connection, _DELETE_RECORD, book_id=book_id)
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
