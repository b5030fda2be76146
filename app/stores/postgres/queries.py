"""Single queries without the cost of a session.

A lookup is two queries, a post one, and each takes longer on its way through SQLAlchemy's connection than in
Postgres. The statements are still written with SQLAlchemy; they are compiled once and run on connections of
the driver.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects import registry

from app.stores.postgres.prepared import Prepared

_WAIT_SECONDS = 3.0
"""How long a query waits for a free connection."""

_CONNECT_SECONDS = 5

_OPTIONS = (
    # Planning a lookup's query anew takes longer than running it.
    "-c plan_cache_mode=force_generic_plan "
    # A reconciliation that reads all entries on all cores makes lookups wait.
    "-c max_parallel_workers_per_gather=0 "
    # None is worth compiling.
    "-c jit=off"
)

_BY_INDEX = " -c enable_seqscan=off"

_DIALECT: sa.Dialect = registry.load("postgresql.psycopg")()

_PARAMETER = re.compile(r"%(?:%|\((\w+)\)s)")


class Query:
    """A statement in Postgres's own words, with $1, $2, … for its parameters."""

    def __init__(self, statement: sa.ClauseElement) -> None:
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


def value_of(column: sa.Column[Any]) -> str:
    """In SQL: the parameter that is called like a column, as a value of the column's type."""
    return f"CAST(:{column.name} AS {column.type.compile(_DIALECT)})"


def as_array(ids: Iterable[int | UUID]) -> str:
    """The ids as Postgres writes an array, which the driver would take ten times as long for."""
    return f"{{{','.join(map(str, ids))}}}"


class Queries:
    """Runs queries, each by itself, outside of any transaction.

    The connection that was free last is used first: the caches of its server process are warm.
    """

    def __init__(self, connect: Callable[[], Awaitable[Prepared]], connections: int) -> None:
        self._connect = connect
        self._places = asyncio.Semaphore(connections)
        self._free: list[Prepared] = []
        self._closed = False

    async def rows(self, query: Query, **parameters: object) -> list[dict[str, Any]]:
        """All rows of the answer, as dictionaries by column; none where the query answers no rows."""
        values = query.values(parameters)
        await self._take_place()
        try:
            return await self._rows(await self._connection(), query, values)
        finally:
            self._places.release()

    async def close(self) -> None:
        """Close all connections; those in use when they are free."""
        self._closed = True
        while self._free:
            await self._free.pop().close()

    async def _take_place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._places.acquire()
        except TimeoutError as exc:
            raise psycopg.OperationalError("Every connection is busy.") from exc

    async def _connection(self) -> Prepared:
        while self._free:
            connection = self._free.pop()
            if connection.is_open:
                return connection
            await connection.close()
        return await self._connect()

    async def _rows(
        self, connection: Prepared, query: Query, values: Sequence[object]
    ) -> list[dict[str, Any]]:
        whole = False
        try:
            rows = await connection.rows(query.text, values)
            whole = True
            return rows
        finally:
            if whole and not self._closed:
                self._free.append(connection)
            else:
                await connection.close()


@asynccontextmanager
async def open_queries(
    url: sa.URL, connections: int, *, whole_tables: bool = False
) -> AsyncIterator[Queries]:
    """A queries with up to so many connections, which are made when they are needed.

    Without `whole_tables` rows are looked up by their keys wherever there is an index: a plan made while a
    table is empty would read all of it, and is kept when the table has grown.
    """
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)

    async def connect() -> Prepared:
        return Prepared(
            await psycopg.AsyncConnection.connect(
                address,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                options=_OPTIONS + ("" if whole_tables else _BY_INDEX),
            )
        )

    queries = Queries(connect, connections)
    try:
        yield queries
    finally:
        await queries.close()
