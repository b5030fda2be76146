"""Locks that one process at a time holds, as sessions of Postgres: a crash frees them."""

from contextlib import AsyncExitStack

from app.stores.postgres.connections import Database, rows
from app.stores.postgres.statements import SQL

_LOCK = SQL("SELECT pg_try_advisory_lock($key) AS locked")


class SessionLock:
    """A lock that one process at a time holds."""

    _KEY: int

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = AsyncExitStack()

    async def __aenter__(self) -> bool:
        """Whether the lock could be had; False: another process holds it."""
        connection = await self._held.enter_async_context(self._database.session())
        # The session's end frees the lock in any state of the connection.
        self._held.push_async_callback(connection.close)
        [row] = await rows(connection, _LOCK, key=self._KEY)
        return bool(row["locked"])

    async def __aexit__(self, *_: object) -> None:
        await self._held.aclose()


class ReconcileLock(SessionLock):
    """Lets one process at a time reconcile the band index."""

    _KEY = 7_236_502


class RecipesLock(SessionLock):
    """Lets one process at a time change which recipes are indexed."""

    _KEY = 7_236_503
