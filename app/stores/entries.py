"""Entries: what the band index points to, as Postgres knows it.

The band index may be late, early or stale; only what is read here counts.
"""

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.errors import Unavailable
from app.core.model import Brief
from app.stores.outages import postgres_outages
from app.stores.reading import Query, Reader
from app.stores.rows import select_briefs, to_brief
from app.stores.tables import books

PENDING_LIMIT = 10_000
"""Entries that wait for the band index and are compared straight from Postgres; beyond it lookups refuse."""


class Entries:
    """The current entries of all books."""

    def __init__(self, engine: AsyncEngine, reader: Reader) -> None:
        self._engine = engine
        self._reader = reader

    async def found_and_pending(self, entry_ids: Sequence[int]) -> list[Brief]:
        """Those of the entries that are current, and every entry that is not in the band index yet."""
        briefs = await self._briefs(_FOUND_AND_PENDING, entry_ids=list(entry_ids), most=PENDING_LIMIT + 1)
        if sum(not brief.indexed for brief in briefs) > PENDING_LIMIT:
            raise Unavailable(
                f"More than {PENDING_LIMIT} books wait to be indexed, so an answer could be incomplete. "
                "Check that workers run and that Redis can be reached.",
                retry_after=10,
            )
        return briefs

    async def briefs(self, entry_ids: Sequence[int]) -> list[Brief]:
        """Those of the entries that are current, in no order."""
        return await self._briefs(_FOUND, entry_ids=list(entry_ids))

    async def current(self, entry_ids: Sequence[int]) -> NDArray[np.uint64]:
        """The ids of those entries that are current, ascending."""
        with postgres_outages():
            rows = await self._reader.rows(_CURRENT, entry_ids=list(entry_ids))
        return np.array([row["entry_id"] for row in rows], dtype=np.uint64)

    async def after(self, entry_id: int, limit: int) -> list[Brief]:
        """The next `limit` entries by id, for walking over all of them."""
        return await self._briefs(_AFTER, entry_id=entry_id, most=limit)

    async def count(self) -> int:
        """How many books there are."""
        with postgres_outages():
            [row] = await self._reader.rows(_COUNT)
        return int(row["count"])

    async def count_pending(self) -> int:
        """How many books are not in the band index yet."""
        with postgres_outages():
            [row] = await self._reader.rows(_COUNT_PENDING)
        return int(row["count"])

    async def mark_indexed(self, entry_ids: Sequence[int]) -> None:
        """Note that the band index holds these entries."""
        with postgres_outages():
            async with self._engine.begin() as connection:
                await connection.execute(_MARK_INDEXED, {"entry_ids": list(entry_ids)})

    async def _briefs(self, query: Query, **parameters: object) -> list[Brief]:
        with postgres_outages():
            return [to_brief(row) for row in await self._reader.rows(query, **parameters)]


_ANY_OF = books.c.entry_id == sa.any_(sa.bindparam("entry_ids", type_=ARRAY(sa.BigInteger)))
_MOST: sa.BindParameter[int] = sa.bindparam("most", type_=sa.BigInteger)

_FOUND = Query(select_briefs().where(_ANY_OF))
# Two queries in one: joined by OR, Postgres would read the whole table. In order, it walks the index of
# pending books and marks those that no longer are; a bitmap would meet them again until a vacuum.
_FOUND_AND_PENDING = Query(
    sa.union_all(
        select_briefs().where(_ANY_OF, books.c.indexed_at.is_not(None)),
        sa.select(
            select_briefs()
            .where(books.c.indexed_at.is_(None))
            .order_by(books.c.entry_id)
            .limit(_MOST)
            .subquery()
        ),
    )
)
_AFTER = Query(
    select_briefs().where(books.c.entry_id > sa.bindparam("entry_id")).order_by(books.c.entry_id).limit(_MOST)
)
_CURRENT = Query(sa.select(books.c.entry_id).where(_ANY_OF).order_by(books.c.entry_id))
_COUNT = Query(sa.select(sa.func.count().label("count")).select_from(books))
_COUNT_PENDING = Query(
    sa.select(sa.func.count().label("count")).select_from(books).where(books.c.indexed_at.is_(None))
)
_MARK_INDEXED = sa.update(books).where(_ANY_OF, books.c.indexed_at.is_(None)).values(indexed_at=sa.func.now())


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
