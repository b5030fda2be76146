"""Connections to Postgres: one pool for single statements, one for transactions.

Statements are written in Postgres's own SQL with named parameters, as psycopg takes them. A transaction may
wait for a lock; on a pool of their own transactions never make lookups wait for a connection.
"""

import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed
from psycopg_pool import AsyncConnectionPool

from app.stores.postgres.errors import postgres_errors

Row = dict[str, Any]
Statement = SQL | Composed
Connection = psycopg.AsyncConnection[Row]

_STATEMENT_WAIT = 1.5
_TRANSACTION_WAIT = 10.0
"""Seconds that a statement or a transaction waits for a free connection."""

_OPTIONS = (
    # A reconciliation that reads all entries on all cores makes lookups wait.
    "-c max_parallel_workers_per_gather=0 "
    # No statement is worth compiling.
    "-c jit=off"
)

_BY_KEY = (
    # Planning a lookup's statement anew takes longer than running it.
    " -c plan_cache_mode=force_generic_plan"
    # A plan made while a table is empty would read all of it, and is kept when the table has grown.
    " -c enable_seqscan=off"
)


async def rows(connection: Connection, statement: Statement, **parameters: object) -> list[Row]:
    """All rows of the answer as dictionaries by column; none where the statement answers no rows."""
    cursor = await connection.execute(statement, parameters, binary=True)
    return [] if cursor.description is None else await cursor.fetchall()


class Database:
    """Runs statements on the catalogue; raises `Unavailable` while Postgres cannot be reached."""

    def __init__(
        self, statements: AsyncConnectionPool[Connection], transactions: AsyncConnectionPool[Connection]
    ) -> None:
        self._statements = statements
        self._transactions = transactions

    async def rows(self, statement: Statement, **parameters: object) -> list[Row]:
        """All rows of one statement, which finds them by key and is a transaction of its own."""
        async with self.connection() as connection:
            return await rows(connection, statement, **parameters)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for statements that find rows by key, each a transaction of its own."""
        with postgres_errors():
            async with self._statements.connection() as connection:
                yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection in a transaction, committed at the end; its statements may read whole tables."""
        with postgres_errors():
            async with self._transactions.connection() as connection:
                yield connection


@asynccontextmanager
async def open_database(url: str, connections: int) -> AsyncIterator[Database]:
    """Two pools of at most `connections` each, which connect when they are asked."""
    async with (
        _pool(url, connections, _STATEMENT_WAIT, _OPTIONS + _BY_KEY, autocommit=True) as statements,
        _pool(url, connections, _TRANSACTION_WAIT, _OPTIONS, autocommit=False) as transactions,
    ):
        yield Database(statements, transactions)


def _pool(
    url: str, size: int, wait: float, options: str, *, autocommit: bool
) -> AsyncConnectionPool[Connection]:
    async def check(connection: Connection) -> None:
        if _is_lost(connection):
            await connection.close()
            await pool.check()  # a server that restarts closes them all
            raise psycopg.OperationalError("The server has closed the connection.")

    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        url.replace("+psycopg", "", 1),
        min_size=0,
        max_size=size,
        timeout=wait,
        reconnect_timeout=1.0,
        check=check,
        open=False,
        kwargs={
            "autocommit": autocommit,
            "connect_timeout": 5,
            "options": options,
            "prepare_threshold": 0,
            "row_factory": dict_row,
        },
    )
    return pool


def _is_lost(connection: Connection) -> bool:
    """Whether the server has closed an idle connection, known without a round trip: it is else silent."""
    silent = select.poll()
    silent.register(connection.fileno(), select.POLLIN)
    return bool(silent.poll(0))
