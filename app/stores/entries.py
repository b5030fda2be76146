"""Entries: what the band index points to, as Postgres knows it.

The band index may be late, early or stale; only what is read here counts.
"""

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.errors import Unavailable
from app.core.model import Brief
from app.stores.outages import postgres_outages
from app.stores.rows import select_briefs, to_brief
from app.stores.tables import books

PENDING_LIMIT = 10_000
"""Entries that wait for the band index and are compared straight from Postgres; beyond it lookups refuse."""


class Entries:
    """The current entries of all books."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def found_and_pending(self, entry_ids: Sequence[int]) -> list[Brief]:
        """Those of the entries that are current, and every entry that is not in the band index yet."""
        query = select_briefs().where(sa.or_(_any_of(entry_ids), books.c.indexed_at.is_(None)))
        briefs = await self._briefs(query.limit(len(entry_ids) + PENDING_LIMIT + 1))
        if sum(not brief.indexed for brief in briefs) > PENDING_LIMIT:
            raise Unavailable(
                f"More than {PENDING_LIMIT} books wait to be indexed, so an answer could be incomplete. "
                "Check that workers run and that Redis can be reached.",
                retry_after=10,
            )
        return briefs

    async def briefs(self, entry_ids: Sequence[int]) -> list[Brief]:
        """Those of the entries that are current, in no order."""
        return await self._briefs(select_briefs().where(_any_of(entry_ids)))

    async def current(self, entry_ids: Sequence[int]) -> NDArray[np.uint64]:
        """The ids of those entries that are current, ascending."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                rows = await connection.scalars(
                    sa.select(books.c.entry_id).where(_any_of(entry_ids)).order_by(books.c.entry_id)
                )
                return np.array(rows.all(), dtype=np.uint64)

    async def after(self, entry_id: int, limit: int) -> list[Brief]:
        """The next `limit` entries by id, for walking over all of them."""
        return await self._briefs(
            select_briefs().where(books.c.entry_id > entry_id).order_by(books.c.entry_id).limit(limit)
        )

    async def count(self) -> int:
        """How many books there are."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                return await connection.scalar(sa.select(sa.func.count()).select_from(books)) or 0

    async def count_pending(self) -> int:
        """How many books are not in the band index yet."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                query = sa.select(sa.func.count()).select_from(books).where(books.c.indexed_at.is_(None))
                return await connection.scalar(query) or 0

    async def mark_indexed(self, entry_ids: Sequence[int]) -> None:
        """Note that the band index holds these entries."""
        with postgres_outages():
            async with self._engine.begin() as connection:
                await connection.execute(
                    sa.update(books)
                    .where(_any_of(entry_ids), books.c.indexed_at.is_(None))
                    .values(indexed_at=sa.func.now())
                )

    async def _briefs(self, query: sa.Select[tuple[object, ...]]) -> list[Brief]:
        with postgres_outages():
            async with self._engine.connect() as connection:
                return [to_brief(row) for row in (await connection.execute(query)).mappings()]


class ReconcileLock:
    """Lets one process at a time reconcile the band index; held by a session, so a crash frees it."""

    _KEY = 7_236_502

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._connection: AsyncConnection | None = None

    async def __aenter__(self) -> bool:
        """Whether the lock could be had; False: another process holds it."""
        with postgres_outages():
            self._connection = await self._engine.connect()
            return bool(
                await self._connection.scalar(
                    sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": self._KEY}
                )
            )

    async def __aexit__(self, *_: object) -> None:
        # The session's end frees the lock whatever state the connection is in.
        if self._connection is not None:
            await self._connection.invalidate()
            await self._connection.close()


def _any_of(entry_ids: Sequence[int]) -> sa.ColumnElement[bool]:
    return books.c.entry_id == sa.any_(sa.literal(list(entry_ids), sa.ARRAY(sa.BigInteger)))
