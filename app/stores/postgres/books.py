"""The catalogue in Postgres, the authoritative data of every book.

Every method is one transaction. A book's signatures belong to its entry. New content creates a new entry, so
records of the old entry in the band index no longer count.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from asyncpg import UniqueViolationError
from sqlalchemy import any_, bindparam, func, select, text

from app.stores.postgres.audit import Actor, actor_values, insert_entries
from app.stores.postgres.changes import TOLD, identifier_of_book, insert_book_changes
from app.stores.postgres.clusters import delete_from_clusters, update_clusters
from app.stores.postgres.connections import SQL, ConditionalSQL, Connection, Database, Row, rows
from app.stores.postgres.contents import (
    INSERT_RECORD_OF,
    STORE_CONTENT,
    record_values,
    stored_values,
    update_changed,
    update_record,
)
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.pairs.relations import delete_relations, repeat_cut_searches
from app.stores.postgres.rows import (
    BOOKS,
    CONTENT_COLUMNS,
    IS_DIGEST,
    METADATA_COLUMNS,
    assignments,
    content_values,
    metadata_values,
    parameters,
    select_summaries,
    title_words,
    to_book,
    to_summary,
)
from app.stores.postgres.schema import books, signatures
from bookprint_core.errors import Conflict, InvalidInput, OtherContent, StaleVersion, UnknownBook
from bookprint_core.model import Book, CatalogRecord, Digest, Entry, Metadata, NewContent, StoredBook
from bookprint_core.signatures.identifier import minhash_bits
from bookprint_core.text.names import author_keys, year_key


@dataclass(frozen=True, slots=True)
class BookFilter:
    """The books to list; None means any value."""

    identifier: str | None = None  # "scheme:value", exactly
    external_id: str | None = None
    title: str | None = None  # all its words occur in the title
    author: str | None = None  # all its names are names of authors
    language: str | None = None
    year: int | None = None
    digest: Digest | None = None
    collection: str | None = None


_RELATED_BY = frozenset({"title", "year", "volume"})
"""Metadata on which relations depend."""

_WRITTEN = ("id", *METADATA_COLUMNS, *CONTENT_COLUMNS)

# One statement is one transaction; with several statements a post would need three times as long.
_INSERT = SQL(f"""
    WITH stored AS (
        INSERT INTO books ({", ".join(_WRITTEN)}) SELECT {parameters(books, _WRITTEN)}
        ON CONFLICT DO NOTHING
        RETURNING entry_id, {TOLD}
    ),
    recorded AS ({INSERT_RECORD_OF}),
    told AS ({insert_book_changes("book.created", "stored")}),
    audited AS ({insert_entries("book.created", "stored")}),
    {STORE_CONTENT}
""")
_UPDATE_CONTENT = SQL(f"""
    WITH stored AS (
        UPDATE books SET
            entry_id = nextval('entry_ids'), indexed_at = NULL, version = version + 1, updated_at = now(),
            {assignments(books, CONTENT_COLUMNS)}
        WHERE id = $id
        RETURNING entry_id, {TOLD}
    ),
    told AS ({insert_book_changes("book.content_replaced", "stored")}),
    audited AS ({insert_entries("book.content_replaced", "stored")}),
    {STORE_CONTENT}
""")
_UPDATE_METADATA = SQL(f"""
    WITH changed AS (
        UPDATE books
        SET version = version + 1, updated_at = now(), {assignments(books, METADATA_COLUMNS)}
        WHERE id = $id
        RETURNING {TOLD}, $former_collection::text AS former_collection
    ),
    audited AS ({insert_entries("book.changed", "changed")})
    {insert_book_changes("book.changed", "changed", "former_collection")}
""")
_UPDATE_PAGE_LABELS = SQL(f"""
    WITH changed AS (
        UPDATE books SET page_labels = $page_labels::text[], version = version + 1, updated_at = now()
        WHERE id = $book_id AND page_labels IS DISTINCT FROM $page_labels::text[]
        RETURNING {TOLD}
    ),
    audited AS ({insert_entries("book.changed", "changed")})
    {insert_book_changes("book.changed", "changed")}
""")
_DELETE_CONTENT = SQL("""
    WITH signed AS (DELETE FROM signatures WHERE entry_id = $entry_id),
    kept AS (DELETE FROM texts WHERE entry_id = $entry_id),
    searched AS (DELETE FROM related_entries WHERE entry_id = $entry_id)
    INSERT INTO tombstones (entry_id) VALUES ($entry_id)
""")
_INSERT_TOMBSTONE = SQL("INSERT INTO tombstones (entry_id) VALUES ($entry_id)")
_DELETE = SQL(f"""
    WITH deleted AS (DELETE FROM books WHERE id = $book_id RETURNING {TOLD}),
    audited AS ({insert_entries("book.deleted", "deleted")})
    {insert_book_changes("book.deleted", "deleted")}
""")

_WITH_ID = BOOKS.where(books.c.id == bindparam("book_id"))
_READ = SQL(_WITH_ID)
_READ_LOCKED = SQL(_WITH_ID.with_for_update(of=books))
_READ_BY_EXTERNAL_ID = SQL(BOOKS.where(books.c.external_id == bindparam("external_id")))
_READ_BY_CONTENT = SQL(
    BOOKS.where(books.c.content_key == bindparam("content_key"), books.c.external_id.is_(None))
)
_READ_SUMMARY = SQL(select_summaries(with_sample=True) + "WHERE books.id = $book_id")
_READ_RIVAL = SQL("""
    SELECT id FROM books
    WHERE id <> $book_id AND (
        external_id = $external_id
        OR content_key = coalesce(
            $content_key::bytea, (SELECT content_key FROM books WHERE id = $book_id)
        ) AND external_id IS NULL AND $external_id IS NULL
    )
""")

_WITH_ISCC = books.c.iscc == bindparam("iscc")
_WITH_DIGEST = select(signatures.c.entry_id).where(
    signatures.c.recipe == bindparam("recipe"), signatures.c.data == bindparam("digest"), text(IS_DIGEST)
)
_LIST = ConditionalSQL(
    BOOKS.order_by(books.c.id).limit(bindparam("limit")),
    {
        "after": books.c.id > bindparam("after"),
        "identifiers": books.c.identifiers.contains(bindparam("identifiers")),
        "iscc": _WITH_ISCC | books.c.identifiers.contains(bindparam("isccs")),
        "external_id": books.c.external_id == bindparam("external_id"),
        "collection": books.c.collection == bindparam("collection"),
        "words": books.c.title_words.contains(bindparam("words")),
        "keys": books.c.name_keys.contains(bindparam("keys")),
        "language": books.c.language == bindparam("language"),
        "year": books.c.year == bindparam("year"),
        "digest": books.c.entry_id == any_(func.array(_WITH_DIGEST.scalar_subquery())),
    },
)


class BookStore:
    """Store of books in Postgres."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self,
        book_id: UUID,
        metadata: Metadata,
        content: NewContent,
        record: CatalogRecord | None = None,
        *,
        actor: Actor,
    ) -> StoredBook:
        """Store a new book with its record, or return the equal book that is stored already.

        Raises `Conflict` if the external id belongs to a book with other content.
        """
        columns = await asyncio.to_thread(metadata_values, metadata)  # slow for a thousand authors
        values = columns | stored_values(content) | record_values(record) | actor_values(actor)
        while True:
            for row in await self._database.rows(_INSERT, id=book_id, **values):
                return StoredBook(_new_book(book_id, row["entry_id"], metadata, content), created=True)
            existing = await self._read_existing(metadata, content)
            if existing is not None:
                return existing

    async def _read_existing(self, metadata: Metadata, content: NewContent) -> StoredBook | None:
        """Return the stored book that equals a new book; None if it has been deleted since."""
        if metadata.external_id is None:
            existing = await self._database.rows(_READ_BY_CONTENT, content_key=content.key)
        else:
            existing = await self._database.rows(_READ_BY_EXTERNAL_ID, external_id=metadata.external_id)
        for row in existing:
            if row["content_key"] != content.key:
                raise OtherContent(row["id"], metadata.external_id)
            return StoredBook(to_book(row), created=False)
        return None

    async def update_content(
        self, book_id: UUID, content: NewContent, if_version: int | None, *, actor: Actor
    ) -> StoredBook:
        """Replace a book's content and entry; if the content is the same, replace only the page labels.

        Equal content counts as new if its stored fingerprint is of a recipe that did not fold its script.
        """
        async with self._database.transaction() as connection:
            row = await _read_locked(connection, book_id, if_version)
            old = to_book(row)
            actor.require(old.metadata.collection)
            replaced = await _read_entry(connection, book_id)
            if row["content_key"] == content.key and old.fingerprint == content.sketch.fingerprint:
                await rows(
                    connection,
                    _UPDATE_PAGE_LABELS,
                    book_id=book_id,
                    page_labels=content_values(content)["page_labels"],
                    identifier=identifier_of_book(old),
                    **actor_values(actor),
                )
                await update_clusters(connection, [], [book_id])
                return StoredBook(await _read(connection, book_id), created=False)
            await rows(connection, _DELETE_CONTENT, entry_id=old.entry_id)
            values = stored_values(content) | actor_values(actor)
            await _update(connection, _UPDATE_CONTENT, book_id, **values, external_id=None)
            await delete_relations(connection, book_id)
            return StoredBook(await _read(connection, book_id), created=True, replaced=replaced)

    async def update_metadata(
        self, book_id: UUID, changes: Mapping[str, object], if_version: int | None, *, actor: Actor
    ) -> Book:
        """Set the named metadata fields, and the `record` if it is named; other fields stay.

        The transaction deletes relations that depend on these fields, and a job finds them again.
        """
        named: dict[str, Any] = dict(changes)
        record = cast(CatalogRecord | None, named.pop("record", None))
        async with self._database.transaction() as connection:
            book = to_book(await _read_locked(connection, book_id, if_version))
            actor.require(book.metadata.collection)
            if changes:
                metadata = replace(book.metadata, **named)
                actor.require(metadata.collection)
                values = await asyncio.to_thread(metadata_values, metadata)
                values |= {"identifier": identifier_of_book(book)} | actor_values(actor)
                values["former_collection"] = book.metadata.collection
                await _update(connection, _UPDATE_METADATA, book_id, **values, content_key=None)
            if "record" in changes:
                await update_record(connection, book_id, record)
            elif changes:
                await update_changed(connection, book_id, named)
            if _RELATED_BY & named.keys():
                await delete_relations(connection, book_id)
                await insert_relate_jobs(connection, [book.entry_id])
            return await _read(connection, book_id)

    async def delete(self, book_id: UUID, if_version: int | None, *, actor: Actor) -> Entry:
        """Delete a book; return its entry, which the caller removes from the band index."""
        async with self._database.transaction() as connection:
            book = to_book(await _read_locked(connection, book_id, if_version))
            actor.require(book.metadata.collection)
            entry = await _read_entry(connection, book_id)
            await repeat_cut_searches(connection, book_id)
            await delete_from_clusters(connection, book_id)
            told = {"identifier": identifier_of_book(book)} | actor_values(actor)
            await rows(connection, _DELETE, book_id=book_id, **told)
            await rows(connection, _INSERT_TOMBSTONE, entry_id=book.entry_id)
            return entry

    async def get(self, book_id: UUID) -> Book:
        """Return the book with this id; raises `UnknownBook`."""
        async with self._database.connection() as connection:
            return await _read(connection, book_id)

    async def list_books(self, wanted: BookFilter, after: UUID | None, limit: int) -> list[Book]:
        """Return at most `limit` books after `after`, oldest first, because ids ascend with time.

        Raises `InvalidInput` for a title or an author without a word.
        """
        words = None if wanted.title is None else title_words(wanted.title)
        if words == []:
            raise InvalidInput("The title contains no word. Send a word of the title.", "title")
        keys = None if wanted.author is None else author_keys(wanted.author)
        if keys == []:
            raise InvalidInput("The author contains no name. Send a name of the author.", "author")
        if wanted.year is not None:
            keys = [*(keys or ()), year_key(wanted.year)]
        values: dict[str, object] = {
            "after": after or UUID(int=0),
            "external_id": wanted.external_id,
            "collection": wanted.collection,
            "words": words,
            "keys": keys,
            "language": wanted.language,
            "year": wanted.year,
            "limit": limit,
        }
        if wanted.identifier is not None and wanted.identifier.startswith("iscc:"):
            values |= {"iscc": f"ISCC:{wanted.identifier[5:]}", "isccs": [wanted.identifier]}
        elif wanted.identifier is not None:
            values["identifiers"] = [wanted.identifier]
        if wanted.digest is not None:
            values |= {"recipe": wanted.digest.recipe, "digest": wanted.digest.value}
        return [to_book(row) for row in await self._database.rows(_LIST.given(values), **values)]


def _new_book(book_id: UUID, entry_id: int, metadata: Metadata, content: NewContent) -> Book:
    sketch = content.sketch
    return Book(
        id=book_id,
        entry_id=entry_id,
        version=1,
        metadata=metadata,
        page_count=sketch.page_count,
        word_count=sketch.word_count,
        fingerprint=sketch.fingerprint,
        minhash=minhash_bits(sketch),
        iscc=content.iscc,
        digests=sketch.digests,
        has_vector=content.vector is not None,
        indexed=False,
        founder_id=book_id,
    )


async def _read(connection: Connection, book_id: UUID) -> Book:
    for row in await rows(connection, _READ, book_id=book_id):
        return to_book(row)
    raise UnknownBook(book_id)


async def _read_locked(connection: Connection, book_id: UUID, if_version: int | None) -> Row:
    """Return the book's row, locked against changes until the transaction ends."""
    for row in await rows(connection, _READ_LOCKED, book_id=book_id):
        if if_version is not None and row["version"] != if_version:
            raise StaleVersion(book_id, row["version"])
        return row
    raise UnknownBook(book_id)


async def _read_entry(connection: Connection, book_id: UUID) -> Entry:
    """Return the book's entry as it is in the band index."""
    [row] = await rows(connection, _READ_SUMMARY, book_id=book_id)
    return to_summary(row).entry


async def _update(
    connection: Connection,
    statement: SQL,
    book_id: UUID,
    *,
    external_id: object,
    content_key: object,
    **values: object,
) -> None:
    """Change a book's row; raises `Conflict` if another book has its external id or content."""
    given = {"external_id": external_id, "content_key": content_key}
    try:
        async with connection.transaction():
            await rows(connection, statement, id=book_id, **given, **values)
    except UniqueViolationError as exc:
        rivals = await rows(connection, _READ_RIVAL, book_id=book_id, **given)
        if not rivals:
            raise
        rival = rivals[0]["id"]
        raise Conflict(
            f"Book {rival} already has this external_id or, without an external_id, this content. "
            "Change that book, or delete it first.",
            rival,
        ) from exc
