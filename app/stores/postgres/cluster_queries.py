"""Reading clusters, each from one snapshot of the catalogue."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.clusters.best_copy import Copy
from app.core.clusters.clustering import By
from app.core.model import Member
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.statements import with_lists


class Snapshot:
    """Clusters as they were at one moment. A book alone is a cluster of one."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def founder(self, by: By, name: UUID) -> UUID | None:
        """The founder of the cluster that a book is in, or was in when deleted; None: there is none."""
        founder: UUID | None = await self._connection.scalar(_FOUNDER, {"by": by, "name": name})
        return founder

    async def has(self, book_id: UUID) -> bool:
        """Whether there is a book with this id."""
        return bool(await self._connection.scalar(_HAS, {"book": book_id}))

    async def copies(self, by: By, founder: UUID) -> list[Copy]:
        """All members of a cluster, as copies."""
        rows = await self._connection.execute(_COPIES, {"by": by, "founder": founder})
        return [Copy(row[0], row[1]) for row in rows]

    async def members(self, by: By, founder: UUID, after: UUID | None, limit: int) -> list[Member]:
        """Up to `limit` members of a cluster behind `after`, oldest first."""
        values = {"by": by, "founder": founder, "after": after or _FIRST, "limit": limit}
        return [Member(*row) for row in await self._connection.execute(_PAGE, values)]

    async def agreement(self, by: By, books: Collection[UUID]) -> dict[UUID, float]:
        """How alike the pages of each book and of its relatives in its cluster are, 0 to 1: the mean.

        Books without such a relative are left out.
        """
        rows = await self._connection.execute(_AGREEMENT, {"by": by, "books": list(books)})
        return {row[0]: row[1] for row in rows}


class ClusterQueries:
    """Clusters in Postgres."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        """The clusters as they are now."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                await connection.execution_options(isolation_level="REPEATABLE READ")
                yield Snapshot(connection)


_FIRST = UUID(int=0)

_FOUNDER = sa.text("""
    SELECT coalesce(m.founder_id, b.id)
    FROM books b LEFT JOIN cluster_members m ON (m.by, m.book_id) = (:by, b.id)
    WHERE b.id = coalesce(
        (SELECT heir_id FROM cluster_heirs h WHERE (h.by, h.book_id) = (:by, :name)), :name
    )
""")
_HAS = sa.text("SELECT true FROM books WHERE id = :book")
_MEMBERS = """
    (
        SELECT book_id AS id FROM cluster_members WHERE by = :by AND founder_id = :founder
        UNION SELECT :founder
    ) AS members JOIN books b USING (id)
"""
_COPIES = sa.text(f"SELECT id, b.word_count FROM {_MEMBERS}")
_PAGE = sa.text(f"""
    SELECT id, b.title, b.volume, b.year, b.page_count, b.word_count FROM {_MEMBERS}
    WHERE id > :after ORDER BY id LIMIT :limit
""")
_AGREEMENT = with_lists("""
    SELECT own.book_id, avg((r.signals ->> 'page_similarity')::float8)
    FROM cluster_members own
    JOIN LATERAL (
        SELECT right_id AS other_id, signals FROM relations WHERE left_id = own.book_id
        UNION ALL
        SELECT left_id, signals FROM relations WHERE right_id = own.book_id
    ) r ON true
    JOIN cluster_members other
        ON (other.by, other.book_id, other.founder_id) = (own.by, r.other_id, own.founder_id)
    WHERE own.by = :by AND own.book_id = ANY(:books) AND r.signals IS NOT NULL
    GROUP BY own.book_id
""")
