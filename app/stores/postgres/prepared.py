"""Queries by libpq itself, which psycopg wraps.

psycopg's cursors take longer with a short query than Postgres does. What they do for any query is not needed
here: each is prepared once for a connection, its parameters go as text (bytes as they are), and its rows come
all at once.
"""

import asyncio
import select
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result


class Prepared:
    """A connection that runs one query at a time; after any error it is good for nothing but `close`."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection
        self._libpq = connection.pgconn
        self._adapting = Transformer(connection)
        self._names: dict[bytes, bytes] = {}
        self._columns: dict[bytes, list[str]] = {}
        self._heard = select.poll()
        self._heard.register(self._libpq.socket, select.POLLIN)

    async def rows(self, query: bytes, values: Sequence[object]) -> list[dict[str, Any]]:
        """All rows of the answer, as dictionaries by column; `values` are those of $1, $2, …

        None where the query answers no rows.
        """
        name = self._names.get(query)
        if name is None:
            name = b"bookprint-%d" % len(self._names)
            self._libpq.send_prepare(name, query)
            await self._answer(pq.ExecStatus.COMMAND_OK)
            self._names[query] = name
        told = self._adapting.dump_sequence(values, list(map(_format, values)))
        self._libpq.send_query_prepared(name, told, self._adapting.formats, result_format=pq.Format.BINARY)
        answer = await self._answer(pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
        columns = self._columns.get(query)
        if columns is None:
            columns = [(answer.fname(column) or b"").decode() for column in range(answer.nfields)]
            self._columns[query] = columns
        self._adapting.set_pgresult(answer)
        return self._adapting.load_rows(0, answer.ntuples, lambda row: dict(zip(columns, row, strict=True)))

    @property
    def is_open(self) -> bool:
        """Whether a connection that runs no query can run one; a server that hung up would have said so."""
        return not self._heard.poll(0)

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    async def _answer(self, *expected: pq.ExecStatus) -> "pq.abc.PGresult":
        loop = asyncio.get_running_loop()
        while self._libpq.flush():
            await self._ready(loop.add_writer, loop.remove_writer)
        answer = None
        while True:
            while self._libpq.is_busy():
                await self._ready(loop.add_reader, loop.remove_reader)
                self._libpq.consume_input()
            found = self._libpq.get_result()
            if found is None:
                break
            answer = answer or found
        assert answer is not None
        if answer.status not in expected:
            raise error_from_result(answer)
        return answer

    async def _ready(self, watch: Callable[..., object], unwatch: Callable[[int], object]) -> None:
        """Wait until the socket can be written to, or read from."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watch(self._libpq.socket, _wake, ready)
        try:
            await ready
        finally:
            unwatch(self._libpq.socket)


def _format(value: object) -> PyFormat:
    """Bytes, one or a list of them, would double as text."""
    one = value[0] if isinstance(value, list) and value else value
    return PyFormat.BINARY if isinstance(one, bytes) else PyFormat.TEXT


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)
