"""Which suites of recipes are indexed: a small table that every write of the catalogue holds itself to.

One suite serves: its fingerprints are what documents show and lookups use. One may be being built; retired
ones have served before; in one that is closing, lookups have ended. New entries enter all of them. Whoever
changes the table waits for the transactions that have read it in order to write, and lets the next ones wait;
so each entry was committed either before the change or under it. Who only looks up goes on all the while.
"""

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, astuple
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.recipe import Suite, Suites
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.queries import Queries, Query
from app.stores.postgres.tables import suites

SERVING, BUILDING, RETIRED, CLOSING = "serving", "building", "retired", "closing"
"""The states of a suite."""

_KNOWN_FOR = 1.0
"""Seconds for which a process relies on what it has read."""


class SuitesChanged(Exception):
    """The suites are others than those that the caller went by. Read them again, and begin again."""


class SuiteStore:
    """The suites as this process knows them, and the way to change them."""

    def __init__(self, engine: AsyncEngine, queries: Queries) -> None:
        self._engine = engine
        self._queries = queries
        self._known = Suites()
        self._read_at = float("-inf")

    async def current(self) -> Suites:
        """The suites, as of a second ago at most."""
        if time.monotonic() - self._read_at > _KNOWN_FOR:
            return await self.read()
        return self._known

    async def read(self) -> Suites:
        """The suites as of now."""
        begun = time.monotonic()
        with postgres_outages():
            rows = await self._queries.rows(_READ)
        self._known, self._read_at = _suites(rows), begun
        return self._known

    async def build(self, suite: Suite) -> None:
        """Have every entry that is committed from now on enter this suite; no lookup is answered in it."""
        async with self.changing() as connection:
            await connection.execute(_DELETE, {"recipe": suite.fingerprint})
            await connection.execute(sa.insert(suites), asdict(suite) | {"state": BUILDING})

    async def close(self, suite: Suite) -> None:
        """Have no lookup be answered in this suite any more; entries go on entering it."""
        async with self.changing() as connection:
            await connection.execute(_CLOSE, {"recipe": suite.fingerprint})

    async def drop(self, suite: Suite) -> None:
        """Have no entry enter this suite any more."""
        async with self.changing() as connection:
            await connection.execute(_DELETE, {"recipe": suite.fingerprint})

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction in which no other changes the suites or stores entries."""
        with postgres_outages():
            async with self._engine.begin() as connection:
                await connection.execute(_LOCK)
                yield connection
        await self.read()


async def switch(connection: AsyncConnection) -> None:
    """Let the suite that was being built serve, and the one that serves retire."""
    for old, new in ((SERVING, RETIRED), (BUILDING, SERVING)):
        await connection.execute(_CHANGE, {"old": old, "new": new})


def told(suites: Suites) -> list[str]:
    """The suites as `HELD` tells them."""
    return [" ".join((*astuple(suite), state)) for suite, state in _states(suites)]


def _states(suites: Suites) -> Iterator[tuple[Suite, str]]:
    yield suites.serving, SERVING
    if suites.building is not None:
        yield suites.building, BUILDING
    if suites.closing is not None:
        yield suites.closing, CLOSING
    for suite in suites.retired:
        yield suite, RETIRED


async def hold(connection: AsyncConnection) -> Suites:
    """The suites, which stay so until the transaction ends."""
    return _suites((await connection.execute(_HOLD)).mappings().all())


def _suites(rows: Sequence[Mapping[str, Any] | sa.RowMapping]) -> Suites:
    by_state: dict[str, list[Suite]] = {SERVING: [], BUILDING: [], RETIRED: [], CLOSING: []}
    for row in rows:
        by_state[row["state"]].append(Suite(row["fingerprint"], row["minhash"], row["sample"]))
    [serving] = by_state[SERVING]
    building, closing = (next(iter(by_state[state]), None) for state in (BUILDING, CLOSING))
    return Suites(serving, building, tuple(by_state[RETIRED]), closing)


_ALL = sa.select(suites).order_by(suites.c.fingerprint)
_READ = Query(_ALL)
_HOLD = _ALL.with_for_update(read=True)
HELD = "SELECT concat_ws(' ', fingerprint, minhash, sample, state) AS suite FROM suites FOR SHARE"
"""In SQL: the suites, a line each, which stay so until the transaction ends."""
# It conflicts with what FOR SHARE locks of the table, not with plain reads. Who waited for it reads what was
# changed meanwhile, new rows too, which a lock on rows alone would not show.
_LOCK = sa.text("LOCK TABLE suites IN EXCLUSIVE MODE")
_DELETE = sa.delete(suites).where(suites.c.fingerprint == sa.bindparam("recipe"))
_CLOSE = sa.update(suites).where(suites.c.fingerprint == sa.bindparam("recipe")).values(state=CLOSING)
_CHANGE = sa.update(suites).where(suites.c.state == sa.bindparam("old")).values(state=sa.bindparam("new"))
