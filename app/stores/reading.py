"""Single queries without the cost of a session.

A lookup is two queries, and each takes longer on its way through SQLAlchemy's connection than in Postgres.
The statements are still written with SQLAlchemy; they are compiled once and run on connections of the driver.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy.dialects import registry

_WAIT_SECONDS = 3.0
"""How long a query waits for a free connection."""


_DIALECT: sa.Dialect = registry.load("postgresql.psycopg")()


_PARAMETER = re.compile(r"%(?:%|\((\w+)\)s)")


class Query:
    """A statement in Postgres's own words, with $1, $2, … for its parameters."""

    def __init__(self, statement: sa.SelectBase) -> None:
        compiled = statement.compile(dialect=_DIALECT)
        self._defaults = compiled.params
        self._names: list[str] = []
        self.text = _PARAMETER.sub(self._numbered, str(compiled)).encode()

    def values(self, parameters: Mapping[str, object]) -> list[object]:
        """The values of $1, $2, …"""
        return [parameters[name] if name in parameters else self._defaults[name] for name in self._names]

    def _numbered(self, found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "%"
        if name not in self._names:
            self._names.append(name)
        return f"${self._names.index(name) + 1}"


class Reader:
    """Runs queries, each by itself, outside of any transaction."""

    def __init__(self, pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]) -> None:
        self._pool = pool

    async def rows(self, query: Query, **parameters: object) -> list[dict[str, Any]]:
        """All rows of the answer, as dictionaries by column."""
        values = query.values(parameters)
        try:
            return await self._rows(query, values)
        except PoolTimeout:
            raise
        except psycopg.OperationalError:
            # One lost connection is seldom alone: a restart of Postgres ends all of them.
            await self._pool.check()
            return await self._rows(query, values)

    async def _rows(self, query: Query, values: Sequence[object]) -> list[dict[str, Any]]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query.text, values, binary=True)
            return await cursor.fetchall()


@asynccontextmanager
async def open_reader(url: sa.URL, connections: int) -> AsyncIterator[Reader]:
    """A reader with up to so many connections, which are made when they are needed."""
    pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]] = AsyncConnectionPool(
        url.set(drivername="postgresql").render_as_string(hide_password=False),
        min_size=0,
        max_size=connections,
        timeout=_WAIT_SECONDS,
        open=False,
        reconnect_timeout=1.0,
        kwargs={
            "autocommit": True,
            "row_factory": dict_row,
            "cursor_factory": psycopg.AsyncRawCursor,
            "connect_timeout": 5,
            # Planning a lookup's query anew takes longer than running it.
            "options": "-c plan_cache_mode=force_generic_plan",
        },
    )
    async with pool:
        yield Reader(pool)
