"""The connection to Postgres: statements, pools, locks, and the migration to the newest schema.

One pool of connections is for single statements, the other for transactions.

A transaction may wait for a lock. With a separate pool, lookups never wait for its connection. Several
processes may migrate the schema at once.
"""

import json
import re
from asyncio import get_running_loop
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from uuid import UUID

import asyncpg
from sqlalchemy import ClauseElement, ColumnElement, Select
from sqlalchemy.sql.compiler import SQLCompiler

import migrations
from app.stores.postgres.schema import DIALECT
from bookprint_core.errors import BookprintError, Busy, Unavailable
from migrations import NEWEST

if TYPE_CHECKING:  # services and workers never migrate and need no Alembic
    from alembic.config import Config

_PARAMETER = re.compile(r"\$([a-z]\w*)")


class SQL:
    """A statement: text with parameters `$name`, or an SQLAlchemy clause with `bindparam(name)`."""

    def __init__(self, statement: str | ClauseElement) -> None:
        if isinstance(statement, str):
            names = list(dict.fromkeys(_PARAMETER.findall(statement)))
            text = _PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", statement)
        else:
            compiled = cast(SQLCompiler, statement.compile(dialect=DIALECT))
            names, text = list(compiled.positiontup or ()), compiled.string
        self._names = names
        self.text = text
        """The statement with `$1`, `$2`, … for its parameters."""

    def values(self, parameters: Mapping[str, Any]) -> list[Any]:
        return [parameters[name] for name in self._names]


class ConditionalSQL:
    """A query with optional conditions, compiled once for each set of conditions."""

    def __init__(self, query: Select[Any], conditions: Mapping[str, ColumnElement[bool]]) -> None:
        self._query = query
        self.conditions = conditions
        self._compiled: dict[frozenset[str], SQL] = {}

    def given(self, values: Mapping[str, object]) -> SQL:
        """Return the query with the conditions whose values are not None."""
        names = frozenset(name for name in self.conditions if values.get(name) is not None)
        if names not in self._compiled:
            wanted = (condition for name, condition in self.conditions.items() if name in names)
            self._compiled[names] = SQL(self._query.where(*wanted))
        return self._compiled[names]


to_json = partial(json.dumps, default=str, allow_nan=False)
"""Function that returns a value as JSON text."""

Row = asyncpg.Record
Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[Row]"
Session: TypeAlias = "asyncpg.Connection[Row]"
Pool: TypeAlias = "asyncpg.Pool[Row]"

_STATEMENT_WAIT = 5.0
_TRANSACTION_WAIT = 10.0
"""Maximum seconds that a statement or a transaction waits for a free connection."""

_STATEMENT_SECONDS = 20.0
"""Maximum duration of a single statement in seconds. Statements of lookups need milliseconds."""

_KEPT_SECONDS = 60.0
"""Seconds after which an unused connection is closed, because a firewall may have dropped it."""

_CONNECT_WAIT = 5.0
"""Maximum seconds that a server needs to accept a connection."""

_SETTINGS = {
    # A reconciliation that reads all entries on all cores would delay lookups.
    "max_parallel_workers_per_gather": "0",
    # Compiling a statement takes longer than it saves.
    "jit": "off",
}

_TRANSACTION_SETTINGS = _SETTINGS | {
    "lock_timeout": "15s",
    # A process that hangs in a transaction would hold its locks for ever.
    "idle_in_transaction_session_timeout": "120s",
}

_BY_KEY = {
    # Planning a lookup's statement again takes longer than running it.
    "plan_cache_mode": "force_generic_plan",
    # A plan made for an empty table would read the whole table, and stays when the table has grown.
    "enable_seqscan": "off",
}

_LOST = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # connection lost while cancelling a statement
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""Errors of a lost or refused connection; the statement can be sent again."""

_LATE = (TimeoutError, asyncpg.TransactionRollbackError, asyncpg.LockNotAvailableError)
"""Errors of a server that answers; the statement can be sent again."""


async def rows(connection: Connection, statement: SQL, **parameters: object) -> list[Row]:
    """Return all rows of the result, with columns by name; an empty list if the statement returns no rows."""
    return await connection.fetch(statement.text, *statement.values(parameters))


class Database:
    """Pools that run statements on the catalogue; raise `Unavailable` while Postgres is down, or `Busy`."""

    def __init__(self, statements: Pool, transactions: Pool) -> None:
        self._statements = _Connections(statements)
        self._transactions = _Connections(transactions)

    async def rows(self, statement: SQL, **parameters: object) -> list[Row]:
        """Return all rows of one statement, which reads them by key and is one transaction."""
        async with self.connection() as connection:
            return await rows(connection, statement, **parameters)

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """Return a connection for statements that read rows by key; each statement is one transaction."""
        return self._statements.lent(_STATEMENT_WAIT, passed_on=True)

    def session(self) -> AbstractAsyncContextManager[Connection]:
        """Return a connection for statements that may wait or read whole tables; each is one transaction."""
        return self._transactions.lent(_TRANSACTION_WAIT)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Yield a connection like that of `session`, in a transaction that is committed at the end."""
        async with self.session() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """Yield a connection like that of `session`; its statements read the catalogue at one moment."""
        async with (
            self.session() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield connection

    async def close(self) -> None:
        """Release the connections that no statement uses."""
        await self._statements.close()


@asynccontextmanager
async def open_database(url: str, connections: int) -> AsyncIterator[Database]:
    """Yield a database with two pools of at most `connections` each, which connect on first use."""
    async with (
        _pool(url, connections, _SETTINGS | _BY_KEY, _STATEMENT_SECONDS, _keep) as statements,
        _pool(url, connections, _TRANSACTION_SETTINGS) as transactions,
    ):
        database = Database(statements, transactions)
        try:
            yield database
        finally:
            await database.close()


def _pool(
    url: str,
    size: int,
    settings: Mapping[str, str],
    longest: float | None = None,
    reset: Callable[[Session], Awaitable[None]] | None = None,
) -> Pool:
    return asyncpg.create_pool(
        url.replace("+psycopg", "", 1),
        min_size=0,
        max_size=size,
        init=_set_types,
        timeout=_CONNECT_WAIT,
        command_timeout=longest,
        server_settings=dict(settings),
        max_cached_statement_lifetime=0,
        reset=reset,
    )


async def _keep(_: Session) -> None:
    """Do not reset a session: single statements change nothing in it, and a reset costs a round trip."""


async def _set_types(connection: Session) -> None:
    """Decode ids as `UUID`, because JSON writers refuse the driver's subclass, and decode JSON."""
    await connection.set_type_codec(
        "uuid",
        schema="pg_catalog",
        encoder=lambda value: value.bytes,
        decoder=lambda data: UUID(bytes=data),
        format="binary",
    )
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=to_json, decoder=json.loads)


class _Connections:
    """The connections of a pool.

    A statement passes its connection to the next statement. Releasing and acquiring a connection takes longer
    than a short statement. It also needs a task, which waits for all other tasks of the event loop.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._kept: list[tuple[Connection, float]] = []  # with the time of release
        self._waiting = 0
        self._is_closed = False

    @asynccontextmanager
    async def lent(self, wait: float, *, passed_on: bool = False) -> AsyncIterator[Connection]:
        """Yield a connection within `wait` seconds; errors of the driver become `Unavailable` and `Busy`."""
        with _unavailable():
            connection, is_usable = await self._take(wait), False
            try:
                yield connection
                is_usable = passed_on and not (self._waiting or self._is_closed) and _is_open(connection)
            finally:
                if is_usable:
                    self._kept.append((connection, get_running_loop().time()))
                else:
                    await self._pool.release(connection)

    async def close(self) -> None:
        """Release the kept connections, and keep none that a running statement returns later."""
        self._is_closed = True
        while self._kept:
            await self._pool.release(self._kept.pop()[0])

    async def _take(self, wait: float) -> Connection:
        while self._kept:
            connection, since = self._kept.pop()
            if _is_open(connection):
                if get_running_loop().time() - since < _KEPT_SECONDS:
                    return connection
                connection.terminate()
        self._waiting += 1
        try:
            return await self._pool.acquire(timeout=wait)
        except TimeoutError as exc:
            if self._pool.get_size():
                raise _busy(f"no connection to it was free within {wait:g} seconds") from exc
            raise Unavailable(
                f"The catalogue (Postgres) has accepted no connection within {wait:g} seconds. "
                "Try again in a moment."
            ) from exc
        finally:
            self._waiting -= 1


def _is_open(connection: Connection) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # the server closed it, and the pool released it
        return False


@contextmanager
def _unavailable() -> Iterator[None]:
    """Raise `Unavailable` for lost or refused connections, and `Busy` for statements that take too long."""
    try:
        yield
    except ValueError:  # of the driver: a value does not fit its parameter
        raise
    except _LATE as exc:  # before OSError, the base class of TimeoutError
        raise _busy("it has not answered in time, or other requests have locked the same rows") from exc
    except asyncpg.DiskFullError as exc:
        raise Unavailable("The disk of the catalogue (Postgres) is full. Make room on it.", 5) from exc
    except _LOST as exc:
        raise Unavailable("The catalogue (Postgres) cannot be reached. Try again in a moment.") from exc


def _busy(reason: str) -> Busy:
    return Busy(f"The catalogue (Postgres) is busy: {reason}. Try again in a moment.", 2)


_LOCK = SQL("SELECT pg_try_advisory_lock(7236502) AS locked")


class ReconcileLock:
    """The lock of the one process that reconciles the band index."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = AsyncExitStack()

    async def __aenter__(self) -> bool:
        """Try to acquire the lock; return False if another process has acquired it."""
        connection = await self._held.enter_async_context(self._database.session())
        # The end of the session releases the lock in any state of the connection.
        self._held.push_async_callback(connection.close)
        [row] = await rows(connection, _LOCK)
        return bool(row["locked"])

    async def __aexit__(self, *_: object) -> None:
        await self._held.aclose()


_MIGRATION_LOCK = 7_236_501
"""Key of the advisory lock that lets one process migrate while the others wait."""

_COUNT_CONNECTIONS = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
"""

_READ_REVISIONS = SQL("SELECT version_num FROM alembic_version")


class SchemaQueries:
    """Query for the schema's revision."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def has_newest(self) -> bool:
        """Return whether the database has the schema that this version of Bookprint expects."""
        try:
            revisions = await self._database.rows(_READ_REVISIONS)
        except asyncpg.UndefinedTableError:
            return False
        return [row["version_num"] for row in revisions] == [NEWEST]


def upgrade(database_url: str) -> int:
    """Apply every migration that the database lacks; return its maximum number of connections.

    The number excludes the superuser's connections. A database with the newest schema is not changed. Raises
    BookprintError if the database is unreachable, of another version, or not encoded in UTF8.
    """
    import sqlalchemy as sa
    from alembic import command
    from alembic.util import CommandError

    # In SQL_ASCII the driver would return texts as bytes.
    engine = sa.create_engine(database_url, poolclass=sa.NullPool, connect_args={"client_encoding": "utf8"})
    try:
        with engine.connect() as lock, engine.connect() as connection:
            if (encoding := lock.execute(sa.text("SHOW server_encoding")).scalar_one()) != "UTF8":
                raise BookprintError(
                    f"The database has the encoding {encoding}, which cannot store every text. Create one "
                    "with createdb --encoding=UTF8 --template=template0, and set DATABASE_URL to it."
                )
            lock.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": _MIGRATION_LOCK})
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
            return int(connection.execute(sa.text(_COUNT_CONNECTIONS)).scalar_one())
    except sa.exc.OperationalError as exc:
        raise BookprintError(f"The database cannot be reached. Check DATABASE_URL. {exc.orig}") from exc
    except CommandError as exc:
        raise BookprintError(f"The database's schema is not one of this version of Bookprint: {exc}") from exc
    finally:
        engine.dispose()


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    return config
