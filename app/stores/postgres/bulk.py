"""Storing many books in one transaction by COPY, with the same outcome as single inserts.

Entry ids are drawn first, so that signatures and texts, most of the bytes, are copied directly into their
tables. Books are copied into a temporary table, because COPY does not support ON CONFLICT.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.stores.postgres.audit import INSERT_CREATED_BOOKS, Actor, actor_values
from app.stores.postgres.changes import identifier_of, insert_created
from app.stores.postgres.clusters import update_clusters
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.contents import CODEC
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.pairs.relations import insert_relations, joining
from app.stores.postgres.rows import (
    CONTENT_COLUMNS,
    METADATA_COLUMNS,
    SIGNATURE_COLUMNS,
    columns,
    content_signature_values,
    content_values,
    metadata_values,
)
from app.stores.postgres.schema import marc_records
from bookprint_core.errors import Conflict, OtherContent
from bookprint_core.model import NewBook

_AT_ONCE = 2_000
"""Number of pairs in a statement; a pair has about 5 kB."""

_INSERT_SEARCHES = SQL("""
    INSERT INTO related_entries (entry_id, passed_over)
    SELECT * FROM unnest($entry_ids::bigint[], $passed_over::integer[])
""")
_READ_CUT_SEARCHES = SQL("SELECT entry_id FROM related_entries WHERE passed_over > 0 ORDER BY entry_id")


@dataclass(frozen=True, slots=True)
class FoundPair:
    """Two books that were compared elsewhere, and the columns of their relation, JSON as text."""

    left: UUID
    left_entry: int | None  # None: stored together with the right book
    right: UUID
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FoundRelations:
    """Pairs found elsewhere for books to be stored."""

    pairs: Sequence[FoundPair]
    passed_over: Mapping[UUID, int]  # number of candidates not compared; 0 for other books
    complete: bool  # the search covered all stored books; else jobs search again


async def insert_found(connection: Connection, created: Mapping[UUID, int], found: FoundRelations) -> None:
    """Store the relations found for the books created in this transaction; `created` maps their entries.

    Must be called last. Pairs whose right book was not created here are left out.
    """
    pairs = sorted(
        (values for pair in found.pairs if (values := _values(pair, created)) is not None),
        key=lambda values: (values["left_id"], values["right_id"]),
    )
    written: list[Row] = []
    for start in range(0, len(pairs), _AT_ONCE):
        written += await insert_relations(connection, pairs[start : start + _AT_ONCE])
    if found.complete:
        passed_over = [found.passed_over.get(book_id, 0) for book_id in created]
        await rows(connection, _INSERT_SEARCHES, entry_ids=list(created.values()), passed_over=passed_over)
    else:
        await insert_relate_jobs(connection, list(created.values()))
    await update_clusters(connection, joining(written))


def _values(pair: FoundPair, created: Mapping[UUID, int]) -> dict[str, Any] | None:
    """Return the columns of a pair; None if one of its books is not stored."""
    left_entry = created.get(pair.left) if pair.left_entry is None else pair.left_entry
    right_entry = created.get(pair.right)
    if left_entry is None or right_entry is None:
        return None
    ids = {"left_id": pair.left, "right_id": pair.right}
    return ids | {"left_entry": left_entry, "right_entry": right_entry} | dict(pair.values)


_BOOK_COLUMNS = ("id", "entry_id", *METADATA_COLUMNS, *CONTENT_COLUMNS)

_NEXT_ENTRY_IDS = SQL("SELECT nextval('entry_ids') AS entry_id FROM generate_series(1, $count::integer)")
_CREATE_NEW_BOOKS = SQL(f"""
    CREATE TEMPORARY TABLE IF NOT EXISTS new_books ON COMMIT DELETE ROWS
    AS SELECT {", ".join(_BOOK_COLUMNS)} FROM books WITH NO DATA
""")
# All transactions insert in the same order of the unique columns, so no two transactions wait for each other.
# Books with equal keys stay in their order.
_INSERT = SQL(f"""
    INSERT INTO books ({", ".join(_BOOK_COLUMNS)})
    SELECT {", ".join(_BOOK_COLUMNS)} FROM new_books
    ORDER BY external_id NULLS FIRST, CASE WHEN external_id IS NULL THEN content_key END, entry_id
    ON CONFLICT DO NOTHING
    RETURNING entry_id
""")
_EXISTING = "SELECT id, entry_id, external_id, content_key, title, year, volume FROM books"
_READ_EXISTING = SQL(f"""
    {_EXISTING} WHERE content_key = ANY($keys::bytea[]) AND external_id IS NULL
    UNION ALL {_EXISTING} WHERE external_id = ANY($external_ids::text[])
""")


@dataclass(frozen=True, slots=True)
class ExistingBook:
    """A stored book, with the metadata on which its relations depend."""

    id: UUID
    entry_id: int
    title: str | None
    year: int | None
    volume: str | None


Stored = int | UUID | Conflict
"""Outcome of a book: its entry if it is new, else the id of the equal book, or the reason of a refusal."""


class BulkStore:
    """Store for many books at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self, books: Mapping[UUID, NewBook], *, actor: Actor, found: FoundRelations | None = None
    ) -> list[Stored]:
        """Store the new books in one transaction; return an outcome for each book.

        The keys are the ids of the books. Only the first of several equal books is stored. Relations in
        `found` are stored with the books; without `found`, jobs find the relations.
        """
        outcomes: dict[UUID, Stored] = {}
        left = dict(books)
        while left:
            async with self._database.transaction() as connection:
                outcomes |= await _insert(connection, left, actor, found)
                left = {book_id: book for book_id, book in left.items() if book_id not in outcomes}
                if left:
                    outcomes |= await _read_existing(connection, left)
            # A conflicting book may have been deleted since.
            left = {book_id: book for book_id, book in left.items() if book_id not in outcomes}
        return [outcomes[book_id] for book_id in books]

    async def list_existing(
        self, wanted: Sequence[tuple[bytes, str | None]]
    ) -> list[ExistingBook | Conflict | None]:
        """Return the predicted outcome of each book by its content key and external id; None if it is new."""
        async with self._database.connection() as connection:
            return await _list_existing(connection, wanted)

    async def repeat_cut_searches(self) -> None:
        """Create jobs that repeat the searches of all books that had too many candidates."""
        async with self._database.transaction() as connection:
            searches = await rows(connection, _READ_CUT_SEARCHES)
            await insert_relate_jobs(connection, [row["entry_id"] for row in searches])


async def _insert(
    connection: Connection, books: Mapping[UUID, NewBook], actor: Actor, found: FoundRelations | None
) -> dict[UUID, int]:
    """Store the new books with their signatures, texts, records and relations; return their entries."""
    drawn = sorted(row["entry_id"] for row in await rows(connection, _NEXT_ENTRY_IDS, count=len(books)))
    by_entry = dict(zip(drawn, books.items(), strict=True))
    await rows(connection, _CREATE_NEW_BOOKS)
    await connection.copy_records_to_table(
        "new_books",
        records=[_book_row(entry_id, *book) for entry_id, book in by_entry.items()],
        columns=_BOOK_COLUMNS,
    )
    inserted = {
        by_entry[entry_id][0]: entry_id
        for entry_id in sorted(row["entry_id"] for row in await rows(connection, _INSERT))
    }
    new = [(book_id, entry_id, books[book_id]) for book_id, entry_id in inserted.items()]
    await connection.copy_records_to_table(
        "signatures",
        records=[
            (entry_id, *(row[name] for name in SIGNATURE_COLUMNS[1:]))
            for _, entry_id, book in new
            for row in content_signature_values(book.content)
        ],
        columns=SIGNATURE_COLUMNS,
    )
    await connection.copy_records_to_table(
        "texts",
        records=[
            (entry_id, CODEC, text)
            for _, entry_id, book in new
            if (text := book.content.compressed_text) is not None
        ],
        columns=("entry_id", "codec", "data"),
    )
    await connection.copy_records_to_table(
        "marc_records",
        records=[
            (book_id, record.format, record.data, list(record.changed))
            for book_id, _, book in new
            if (record := book.record) is not None
        ],
        columns=columns(marc_records),
    )
    if new:
        await insert_created(connection, {book_id: _told(book) for book_id, _, book in new})
        await rows(connection, INSERT_CREATED_BOOKS, book_ids=list(inserted), **actor_values(actor))
    if found is not None:
        await insert_found(connection, inserted, found)
    elif new:
        await insert_relate_jobs(connection, list(inserted.values()))
    return inserted


async def _read_existing(connection: Connection, books: Mapping[UUID, NewBook]) -> dict[UUID, Stored]:
    wanted = [(book.content.key, book.metadata.external_id) for book in books.values()]
    existing = zip(books, await _list_existing(connection, wanted), strict=True)
    return {
        book_id: outcome.id if isinstance(outcome, ExistingBook) else outcome
        for book_id, outcome in existing
        if outcome is not None
    }


async def _list_existing(
    connection: Connection, wanted: Sequence[tuple[bytes, str | None]]
) -> list[ExistingBook | Conflict | None]:
    """Return the predicted outcome of each book, for `BulkStore.list_existing`."""
    found = await rows(
        connection,
        _READ_EXISTING,
        keys=[key for key, external_id in wanted if external_id is None],
        external_ids=[external_id for _, external_id in wanted if external_id is not None],
    )
    by_id = {row["external_id"]: row for row in found if row["external_id"] is not None}
    by_key = {row["content_key"]: row for row in found if row["external_id"] is None}
    outcomes: list[ExistingBook | Conflict | None] = []
    for key, external_id in wanted:
        row = by_key.get(key) if external_id is None else by_id.get(external_id)
        if row is None:
            outcomes.append(None)
        elif row["content_key"] != key:
            outcomes.append(OtherContent(row["id"], external_id))
        else:
            outcomes.append(
                ExistingBook(row["id"], row["entry_id"], row["title"], row["year"], row["volume"])
            )
    return outcomes


def _book_row(entry_id: int, book_id: UUID, book: NewBook) -> tuple[object, ...]:
    values = metadata_values(book.metadata) | content_values(book.content)
    values |= {"id": book_id, "entry_id": entry_id}
    return tuple(values[column] for column in _BOOK_COLUMNS)


def _told(book: NewBook) -> tuple[str | None, str | None, str | None]:
    sketch, metadata = book.content.sketch, book.metadata
    return metadata.external_id, metadata.collection, identifier_of(sketch.fingerprint, sketch.word_count)
