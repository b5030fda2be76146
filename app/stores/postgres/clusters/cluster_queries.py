"""Reading clusters, each from one snapshot of the catalogue."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from app.core.clusters.best_copy import Copy
from app.core.clusters.clustering import By
from app.core.model import Member
from app.stores.postgres.connections import Connection, Database, rows
from app.stores.postgres.statements import SQL
from app.stores.postgres.texts import StoredText

_FIRST = UUID(int=0)

_READ_FOUNDER = SQL("""
    SELECT coalesce(m.founder_id, b.id) AS founder_id
    FROM books b LEFT JOIN cluster_members m ON (m.by, m.book_id) = ($by, b.id)
    WHERE b.id = coalesce(
        (SELECT heir_id FROM cluster_heirs h WHERE (h.by, h.book_id) = ($by, $name::uuid)), $name
    )
""")
_READ_BOOK = SQL("SELECT id FROM books WHERE id = $book")
_MEMBERS = """
    (
        SELECT book_id AS id FROM cluster_members WHERE by = $by AND founder_id = $founder
        UNION SELECT $founder::uuid
    ) AS members JOIN books b USING (id)
"""
_LIST_COPIES = SQL(f"SELECT id AS book_id, b.word_count, b.external_id, b.content_key FROM {_MEMBERS}")
_LIST_MEMBERS = SQL(f"""
    SELECT id AS book_id, b.external_id, b.title, b.volume, b.year, b.page_count, b.word_count FROM {_MEMBERS}
    WHERE id > $after ORDER BY id LIMIT $limit
""")
_READ_AGREEMENT = SQL("""
    SELECT own.book_id, avg((r.signals ->> 'page_similarity')::float8) AS agreement
    FROM cluster_members own
    JOIN LATERAL (
        SELECT right_id AS other_id, signals FROM relations WHERE left_id = own.book_id
        UNION ALL
        SELECT left_id, signals FROM relations WHERE right_id = own.book_id
    ) r ON true
    JOIN cluster_members other
        ON (other.by, other.book_id, other.founder_id) = (own.by, r.other_id, own.founder_id)
    WHERE own.by = $by AND own.book_id = ANY($books::uuid[]) AND r.signals IS NOT NULL
    GROUP BY own.book_id
""")
_READ_FOUNDERS = SQL("""
    SELECT book_id, founder_id FROM cluster_members WHERE by = $by AND book_id = ANY($books::uuid[])
""")
_LIST_WITH_TEXT = SQL("""
    SELECT id FROM books JOIN texts USING (entry_id) WHERE id = ANY($books::uuid[])
""")
_READ_TEXTS = SQL("""
    SELECT id AS book_id, page_labels, entry_id, page_count, codec, data
    FROM books JOIN texts USING (entry_id) WHERE id = ANY($books::uuid[])
""")
_SNAPSHOT = SQL("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


@dataclass(frozen=True, slots=True)
class CopyText:
    """The text of a copy, and what is printed on its pages."""

    text: StoredText
    page_labels: Sequence[str | None]  # empty where none is known


class Snapshot:
    """Clusters as they were at one moment. A book alone is a cluster of one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read_founder(self, by: By, name: UUID) -> UUID | None:
        """The founder of the cluster that a book is in, or was in when deleted; None: there is none."""
        for row in await rows(self._connection, _READ_FOUNDER, by=by, name=name):
            founder: UUID = row["founder_id"]
            return founder
        return None

    async def read_founders(self, by: By, books: Collection[UUID]) -> dict[UUID, UUID]:
        """The founder of the cluster that each of these books is in; a book alone is its own."""
        members = await rows(self._connection, _READ_FOUNDERS, by=by, books=list(books))
        return {book: book for book in books} | {row["book_id"]: row["founder_id"] for row in members}

    async def has_book(self, book_id: UUID) -> bool:
        """Whether there is a book with this id."""
        return bool(await rows(self._connection, _READ_BOOK, book=book_id))

    async def list_copies(self, by: By, founder: UUID) -> list[Copy]:
        """All members of a cluster, as copies."""
        copies = await rows(self._connection, _LIST_COPIES, by=by, founder=founder)
        return [Copy(**row) for row in copies]

    async def list_members(self, by: By, founder: UUID, after: UUID | None, limit: int) -> list[Member]:
        """Up to `limit` members of a cluster behind `after`, oldest first."""
        members = await rows(
            self._connection, _LIST_MEMBERS, by=by, founder=founder, after=after or _FIRST, limit=limit
        )
        return [Member(**row) for row in members]

    async def read_agreement(self, by: By, books: Collection[UUID]) -> dict[UUID, float]:
        """The mean similarity of the pages of each book and of its relatives in its cluster, 0 to 1.

        Books without such a relative are left out.
        """
        means = await rows(self._connection, _READ_AGREEMENT, by=by, books=list(books))
        return {row["book_id"]: row["agreement"] for row in means}

    async def list_with_text(self, books: Collection[UUID]) -> set[UUID]:
        """Those of the books of which the text is kept."""
        found = await rows(self._connection, _LIST_WITH_TEXT, books=list(books))
        return {row["id"] for row in found}

    async def read_texts(self, books: Collection[UUID]) -> dict[UUID, CopyText]:
        """The texts of those of the books of which they are kept."""
        texts = await rows(self._connection, _READ_TEXTS, books=list(books))
        return {
            row["book_id"]: CopyText(
                StoredText(row["entry_id"], row["page_count"], row["codec"], row["data"]),
                row["page_labels"] or (),
            )
            for row in texts
        }


class ClusterQueries:
    """Reads clusters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        """The clusters as they are now."""
        async with self._database.transaction() as connection:
            await rows(connection, _SNAPSHOT)
            yield Snapshot(connection)
