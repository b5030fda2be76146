"""The catalogue in Postgres: the truth about every book.

Every method is one transaction. A book's signatures belong to its entry; new content makes a new entry, so
what the band index still holds of the old one no longer counts.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.errors import Conflict, InvalidInput, StaleVersion, UnknownBook
from app.core.model import Book, BookFilter, Entry, Fingerprint, Metadata, Sketch, StoredBook, Versions
from app.core.recipe import Suite, Suites
from app.stores.postgres.clusters import book_leaves
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.jobs import defer_relate, deferring
from app.stores.postgres.queries import Queries, Query, value_of
from app.stores.postgres.relations import drop_relations, look_again
from app.stores.postgres.rows import (
    fingerprint_values,
    metadata_values,
    of_suite,
    select_books,
    select_briefs,
    signature_values,
    title_words,
    to_book,
    to_brief,
    to_columns,
)
from app.stores.postgres.suites import HELD, SuitesChanged, hold, told
from app.stores.postgres.tables import books, entry_ids, related_entries, signatures, texts, tombstones
from app.stores.postgres.texts import CODEC


@dataclass(frozen=True, slots=True, eq=False)
class NewContent:
    """Content ready to be stored: its key, its sketch, and the compressed text where texts are kept."""

    key: bytes  # 32 bytes
    sketch: Sketch  # under the suite that serves
    compressed_text: bytes | None  # None: the text is not kept
    others: tuple[Fingerprint, ...] = ()  # under the other suites, as far as they could be computed
    suites: Suites = field(default_factory=Suites)  # for which all this was computed

    def entry(self, entry_id: int, suite: Suite) -> Entry:
        """What the index of one of the suites holds of it."""
        entry = self.sketch.to_entry(entry_id)
        if suite == self.suites.serving:
            return entry
        found = (one for one in self.others if one.recipe == suite.fingerprint)
        return replace(entry, fingerprint=next(found, None))


_TOLD_BY = frozenset({"title", "year", "volume"})
"""Metadata on which relations depend."""


class BookStore:
    """Books in Postgres."""

    def __init__(self, engine: AsyncEngine, queries: Queries) -> None:
        self._engine = engine
        self._queries = queries

    async def add(self, book_id: UUID, metadata: Metadata, content: NewContent) -> StoredBook:
        """Store a new book, or find the one that it repeats.

        Raises `Conflict` where the external id belongs to a book with other content, and `SuitesChanged`
        where the content was computed for other suites than are indexed.
        """
        with postgres_outages():
            while True:
                stored = await self._insert(book_id, metadata, content)
                stored = stored or await self._existing(metadata, content)
                if stored is not None:
                    return stored

    async def _insert(self, book_id: UUID, metadata: Metadata, content: NewContent) -> StoredBook | None:
        """The new book; None where another one stands in its way."""
        [row] = await self._queries.rows(
            _ADD,
            id=book_id,
            suites=told(content.suites),
            codec=CODEC,
            text=content.compressed_text,
            **metadata_values(metadata),
            **_content_values(content),
            **_signature_lists(content),
        )
        if not row["agreed"]:
            raise SuitesChanged
        if row["entry_id"] is None:
            return None
        book = Book(
            id=book_id,
            entry_id=row["entry_id"],
            version=1,
            metadata=metadata,
            page_count=content.sketch.page_count,
            word_count=content.sketch.word_count,
            fingerprint=content.sketch.fingerprint,
            indexed=False,
        )
        return StoredBook(book, created=True)

    async def _existing(self, metadata: Metadata, content: NewContent) -> StoredBook | None:
        """The book that stood in the way of an insert; None if it has vanished since."""
        query = _BY_CONTENT if metadata.external_id is None else _BY_EXTERNAL_ID
        for row in await self._queries.rows(query, content_key=content.key, external_id=metadata.external_id):
            if row["content_key"] != content.key:
                raise Conflict(
                    f"Book {row['id']} has the external_id {metadata.external_id!r} and other content. "
                    f"Replace its content with PUT /v1/books/{row['id']}/content, or post under another "
                    "external_id.",
                    row["id"],
                )
            return StoredBook(to_book(row), created=False)
        return None

    async def replace_content(self, book_id: UUID, content: NewContent, if_version: int | None) -> StoredBook:
        """Give a book new content, and with it a new entry. The same content again changes nothing.

        Raises `SuitesChanged` where the content was computed for other suites than are indexed.
        """
        with postgres_outages():
            async with self._engine.begin() as connection:
                await _hold(connection, content)
                book = await _locked(connection, book_id, if_version)
                replaced = await _versions(connection, book_id, content.suites)
                held = await connection.scalar(sa.select(books.c.content_key).where(books.c.id == book_id))
                if held == content.key:
                    return StoredBook(book, created=False)
                entry_id = await connection.scalar(sa.select(entry_ids.next_value()))
                assert entry_id is not None
                await connection.execute(sa.delete(signatures).where(signatures.c.entry_id == book.entry_id))
                await connection.execute(sa.delete(texts).where(texts.c.entry_id == book.entry_id))
                await connection.execute(_FORGET_SEARCH, {"entry": book.entry_id})
                await connection.execute(_INSERT_DEPARTURE, {"entry_id": book.entry_id})
                await _update(
                    connection,
                    book_id,
                    {"entry_id": entry_id, "indexed_at": None} | _content_values(content),
                    content_key=content.key,
                )
                await _insert_signatures(connection, entry_id, content)
                await drop_relations(connection, book_id)
                await defer_relate(connection, entry_id)
                new = await _get(connection, book_id)
                return StoredBook(new, created=True, replaced=replaced)

    async def change_metadata(
        self, book_id: UUID, changes: Mapping[str, object], if_version: int | None
    ) -> Book:
        """Set the named metadata fields; the others stay as they are.

        Where relations depend on them, these go in the same transaction and are found anew.
        """
        with postgres_outages():
            async with self._engine.begin() as connection:
                book = await _locked(connection, book_id, if_version)
                if changes:
                    external_id = changes.get("external_id")
                    await _update(connection, book_id, to_columns(changes), external_id=external_id)
                if _TOLD_BY & changes.keys():
                    await drop_relations(connection, book_id)
                    await defer_relate(connection, book.entry_id)
                return await _get(connection, book_id)

    async def delete(self, book_id: UUID, if_version: int | None) -> Versions:
        """Forget a book; returns what the band index has to forget too."""
        with postgres_outages():
            async with self._engine.begin() as connection:
                suites = await hold(connection)
                book = await _locked(connection, book_id, if_version)
                versions = await _versions(connection, book_id, suites)
                await look_again(connection, book_id)
                await book_leaves(connection, book_id)
                await connection.execute(sa.delete(books).where(books.c.id == book_id))
                await connection.execute(_INSERT_DEPARTURE, {"entry_id": book.entry_id})
                return versions

    async def get(self, book_id: UUID) -> Book:
        """The book with this id."""
        with postgres_outages():
            for row in await self._queries.rows(_READ_BOOK, book_id=book_id):
                return to_book(row)
        raise UnknownBook(book_id)

    async def search(self, wanted: BookFilter, after: UUID | None, limit: int) -> list[Book]:
        """Up to `limit` books behind `after`, oldest first (ids grow with time).

        Raises `InvalidInput` for a title without a word.
        """
        query = select_books().order_by(books.c.id).limit(limit)
        if wanted.identifier is not None:
            query = query.where(books.c.identifiers.contains([wanted.identifier]))
        if wanted.external_id is not None:
            query = query.where(books.c.external_id == wanted.external_id)
        if wanted.title is not None:
            words = title_words(wanted.title)
            if not words:
                raise InvalidInput("There is no word in it to search for. Send a word of the title.", "title")
            query = query.where(books.c.title_words.contains(words))
        if after is not None:
            query = query.where(books.c.id > after)
        with postgres_outages():
            return [to_book(row) for row in await self._queries.rows(Query(query))]


_ADDED = ("id", *to_columns(asdict(Metadata())), "content_key", "page_count", "word_count", "character_count")

# One statement is a transaction of its own; on its way through several a post would take thrice as long.
_ADD = Query(
    sa.text(f"""
        WITH held AS MATERIALIZED ({HELD}),
        agreed AS MATERIALIZED (
            SELECT count(*) = cardinality(CAST(:suites AS text[]))
                AND bool_and(suite = ANY(CAST(:suites AS text[]))) AS agreed
            FROM held
        ),
        added AS (
            INSERT INTO books ({", ".join(_ADDED)})
            SELECT {", ".join(value_of(books.c[name]) for name in _ADDED)} FROM agreed WHERE agreed
            ON CONFLICT DO NOTHING
            RETURNING entry_id
        ),
        signed AS (
            INSERT INTO signatures (entry_id, recipe, data, shingle_count, unit)
            SELECT entry_id, signature.*
            FROM added, unnest(
                CAST(:recipes AS text[]), CAST(:signatures AS bytea[]), CAST(:counts AS integer[]),
                CAST(:units AS text[])
            ) AS signature
        ),
        kept AS (
            INSERT INTO texts (entry_id, codec, data)
            SELECT entry_id, CAST(:codec AS text), CAST(:text AS bytea)
            FROM added WHERE CAST(:text AS bytea) IS NOT NULL
        ),
        deferred AS MATERIALIZED ({deferring("added")})
        SELECT agreed, entry_id FROM agreed LEFT JOIN added ON true LEFT JOIN deferred ON true
    """)
)
_INSERT_SIGNATURES = sa.insert(signatures)
_INSERT_TEXT = sa.insert(texts)
_INSERT_DEPARTURE = sa.insert(tombstones)
_BOOK_BY_ID = select_books().where(books.c.id == sa.bindparam("book_id"))
_BRIEF_BY_ID = select_briefs(with_sample=True).where(books.c.id == sa.bindparam("book_id"))
_READ_BOOK = Query(_BOOK_BY_ID)
_BY_EXTERNAL_ID = Query(select_books().where(books.c.external_id == sa.bindparam("external_id")))
_BY_CONTENT = Query(
    select_books().where(books.c.content_key == sa.bindparam("content_key"), books.c.external_id.is_(None))
)
_FORGET_SEARCH = sa.delete(related_entries).where(related_entries.c.entry_id == sa.bindparam("entry"))


async def _hold(connection: AsyncConnection, content: NewContent) -> None:
    if await hold(connection) != content.suites:
        raise SuitesChanged


def _signature_lists(content: NewContent) -> dict[str, list[Any]]:
    rows = _signature_rows(content)
    names = {"recipes": "recipe", "signatures": "data", "counts": "shingle_count", "units": "unit"}
    return {parameter: [row[name] for row in rows] for parameter, name in names.items()}


async def _insert_signatures(connection: AsyncConnection, entry_id: int, content: NewContent) -> None:
    rows = _signature_rows(content)
    if rows:
        await connection.execute(_INSERT_SIGNATURES, [{"entry_id": entry_id} | row for row in rows])
    if content.compressed_text is not None:
        text = {"entry_id": entry_id, "codec": CODEC, "data": content.compressed_text}
        await connection.execute(_INSERT_TEXT, text)


def _signature_rows(content: NewContent) -> list[dict[str, Any]]:
    return [*signature_values(content.sketch), *map(fingerprint_values, content.others)]


def _content_values(content: NewContent) -> dict[str, Any]:
    return {
        "content_key": content.key,
        "page_count": content.sketch.page_count,
        "word_count": content.sketch.word_count,
        "character_count": content.sketch.character_count,
    }


async def _locked(connection: AsyncConnection, book_id: UUID, if_version: int | None) -> Book:
    """The book, held against other changes until the transaction ends."""
    row = (
        (await connection.execute(select_books().where(books.c.id == book_id).with_for_update(of=books)))
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise UnknownBook(book_id)
    if if_version is not None and row["version"] != if_version:
        raise StaleVersion(book_id, row["version"])
    return to_book(row)


async def _update(
    connection: AsyncConnection,
    book_id: UUID,
    values: Mapping[str, object],
    *,
    content_key: bytes | None = None,
    external_id: object = None,
) -> None:
    """Change a book's row; `Conflict` where another book already has its external id or content."""
    change = (
        sa.update(books)
        .where(books.c.id == book_id)
        .values(dict(values) | {"version": books.c.version + 1, "updated_at": sa.func.now()})
    )
    try:
        async with connection.begin_nested():
            await connection.execute(change)
    except sa.exc.IntegrityError as exc:
        if content_key is None:
            content_key = await connection.scalar(sa.select(books.c.content_key).where(books.c.id == book_id))
        same = sa.and_(books.c.content_key == content_key, books.c.external_id.is_(None))
        if external_id is not None:
            same = books.c.external_id == external_id
        other = await connection.scalar(sa.select(books.c.id).where(books.c.id != book_id, same))
        if other is None:
            raise
        raise Conflict(
            f"Book {other} already has this external_id or, without an external_id, this content. "
            "Change that book, or delete it first.",
            other,
        ) from exc


async def _get(connection: AsyncConnection, book_id: UUID) -> Book:
    row = (await connection.execute(_BOOK_BY_ID, {"book_id": book_id})).mappings().one_or_none()
    if row is None:
        raise UnknownBook(book_id)
    return to_book(row)


async def _versions(connection: AsyncConnection, book_id: UUID, suites: Suites) -> Versions:
    """The book's entry under every suite."""
    versions = {}
    for suite in suites.kept:
        rows = await connection.execute(_BRIEF_BY_ID, {"book_id": book_id, **of_suite(suite)})
        versions[suite] = to_brief(rows.mappings().one(), suite).entry
    return versions
