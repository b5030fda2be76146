"""The suites of recipes that are indexed: a small table that every write of the catalogue follows.

One suite serves: its fingerprints are what documents show and lookups use. Another one may be being built.
New entries enter both. A change of the table waits for the transactions that have read it in order to write,
and lets the next ones wait. So each entry was committed either before the change or under it. Lookups go on
all the while.
"""

import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, astuple

from app.core.recipe import Suite, Suites
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows

SERVING, BUILDING = "serving", "building"
"""The states of a suite."""

KNOWN_FOR = 1.0
"""Seconds for which a process relies on what it has read."""

_ALL = "SELECT fingerprint, minhash, sample, state FROM suites ORDER BY fingerprint"

_READ = SQL(_ALL)
_READ_LOCKED = SQL(f"{_ALL} FOR SHARE")
LOCKED_SUITES = "SELECT concat_ws(' ', fingerprint, minhash, sample, state) AS suite FROM suites FOR SHARE"
"""The suites as `suite_lines` writes them, which stay so until the transaction ends."""
# It conflicts with what FOR SHARE locks of the table, not with plain reads. A transaction that waited for it
# reads what was changed meanwhile, new rows too, which a lock on rows alone would not show.
_LOCK_TABLE = SQL("LOCK TABLE suites IN EXCLUSIVE MODE")
_INSERT = SQL(
    "INSERT INTO suites (fingerprint, minhash, sample, state)"
    " VALUES ($fingerprint, $minhash, $sample, 'building')"
)
_DELETE = SQL("DELETE FROM suites WHERE fingerprint = $recipe")
_LET_SERVE = SQL("UPDATE suites SET state = 'serving' WHERE state = 'building'")

LACKING = "NOT EXISTS (SELECT FROM signatures WHERE entry_id = books.entry_id AND recipe = $recipe)"
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
        self._known, self._read_at = _suites(await self._database.rows(_READ)), begun
        return self._known

    async def insert(self, suite: Suite) -> None:
        """Have every entry that is committed from now on enter this suite; no lookup is answered in it."""
        async with self._changing() as connection:
            await rows(connection, _DELETE, recipe=suite.fingerprint)
            await rows(connection, _INSERT, **asdict(suite))

    async def delete(self, suite: Suite) -> None:
        """Have no entry enter this suite any more."""
        async with self._changing() as connection:
            await rows(connection, _DELETE, recipe=suite.fingerprint)

    async def update_serving(self, suite: Suite, *, allow_missing: bool) -> int:
        """Let the suite that was being built serve; the one that served goes on taking entries.

        Returns how many entries have neither a text nor a fingerprint of it; unless such are allowed, one of
        them leaves everything as it is.
        """
        async with self._changing() as connection:
            missing = await count_textless(connection, suite.fingerprint)
            if allow_missing or not missing:
                serving = (await read_locked_suites(connection)).serving
                await rows(connection, _DELETE, recipe=serving.fingerprint)
                await rows(connection, _LET_SERVE)
                await rows(connection, _INSERT, **asdict(serving))
            return missing

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[Connection]:
        """A transaction in which no other changes the suites or stores entries."""
        async with self._database.transaction() as connection:
            await rows(connection, _LOCK_TABLE)
            yield connection
        await self.read()


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
