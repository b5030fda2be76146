"""The way to Postgres: statements, connections, locks, and the migration to the newest schema.

One pool of connections is for single statements, one for transactions.

A transaction may wait for a lock; on a pool of their own transactions never make lookups wait for a
connection. Several processes may bring the schema up to date at once.
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

if TYPE_CHECKING:  # services and workers never migrate, so they do without Alembic
    from alembic.config import Config

_PARAMETER = re.compile(r"\$([a-z]\w*)")


class SQL:
    """A statement: text whose parameters are written `$name`, or of SQLAlchemy with `bindparam(name)`."""

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
    """A query with any of several conditions, compiled once for each set of them."""

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
"""A value as the text of its JSON."""

Row = asyncpg.Record
Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[Row]"
Session: TypeAlias = "asyncpg.Connection[Row]"
Pool: TypeAlias = "asyncpg.Pool[Row]"

_STATEMENT_WAIT = 5.0
_TRANSACTION_WAIT = 10.0
"""Seconds that a statement or a transaction waits for a free connection."""

_STATEMENT_SECONDS = 20.0
"""Seconds that a single statement may take. Statements of lookups take milliseconds."""

_KEPT_SECONDS = 60.0
"""Seconds after which a connection that no statement has used is closed: a firewall may have forgotten it."""

_CONNECT_WAIT = 5.0
"""Seconds that a server may take to accept a connection."""

_SETTINGS = {
    # A reconciliation that reads all entries on all cores makes lookups wait.
    "max_parallel_workers_per_gather": "0",
    # No statement is worth compiling.
    "jit": "off",
}

_TRANSACTION_SETTINGS = _SETTINGS | {
    "lock_timeout": "15s",
    # A process that stands still amid a transaction would keep its locks for ever.
    "idle_in_transaction_session_timeout": "120s",
}

_BY_KEY = {
    # Planning a lookup's statement again takes longer than running it.
    "plan_cache_mode": "force_generic_plan",
    # A plan made while a table is empty would read all of it, and is kept when the table has grown.
    "enable_seqscan": "off",
}

_LOST = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that is lost while it cancels a statement
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""Errors of a connection that is lost, or that the server does not take; the statement can be sent again."""

_LATE = (TimeoutError, asyncpg.TransactionRollbackError, asyncpg.LockNotAvailableError)
"""Errors where the server is there; the statement can be sent again."""


async def rows(connection: Connection, statement: SQL, **parameters: object) -> list[Row]:
    """All rows of the answer, whose columns are known by name; none where the statement answers no rows."""
    return await connection.fetch(statement.text, *statement.values(parameters))


class Database:
    """Runs statements on the catalogue; raises `Unavailable` while Postgres cannot be reached, and `Busy`."""

    def __init__(self, statements: Pool, transactions: Pool) -> None:
        self._statements = _Connections(statements)
        self._transactions = _Connections(transactions)

    async def rows(self, statement: SQL, **parameters: object) -> list[Row]:
        """Return all rows of one statement, which finds them by key and is a transaction of its own."""
        async with self.connection() as connection:
            return await rows(connection, statement, **parameters)

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """Return a connection for statements that find rows by key, each a transaction of its own."""
        return self._statements.lent(_STATEMENT_WAIT, passed_on=True)

    def session(self) -> AbstractAsyncContextManager[Connection]:
        """A connection whose statements may wait and read whole tables, each a transaction of its own."""
        return self._transactions.lent(_TRANSACTION_WAIT)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Yield a connection as `session` has them, in a transaction that is committed at the end."""
        async with self.session() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """A connection as `session` has them, whose statements all read the catalogue as of one moment."""
        async with (
            self.session() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield connection

    async def close(self) -> None:
        """Give the connections back that no statement uses."""
        await self._statements.close()


@asynccontextmanager
async def open_database(url: str, connections: int) -> AsyncIterator[Database]:
    """Two pools of at most `connections` each, which connect when they are asked."""
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
    """Leave a session as it is: single statements change nothing of it that would be worth a round trip."""


async def _set_types(connection: Session) -> None:
    """Have ids as the standard library's, of which the driver's are a subclass that JSON writers refuse."""
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

    A statement passes its connection on to the next one. To give it back to the pool and take it again takes
    longer than a short statement. It also takes a task, and the event loop works for all others before it.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._kept: list[tuple[Connection, float]] = []  # with the time since when
        self._waiting = 0

    @asynccontextmanager
    async def lent(self, wait: float, *, passed_on: bool = False) -> AsyncIterator[Connection]:
        """One of them, within `wait` seconds; errors of the driver become `Unavailable` and `Busy`."""
        with _unavailable():
            connection, is_usable = await self._take(wait), False
            try:
                yield connection
                is_usable = passed_on and not self._waiting and _is_open(connection)
            finally:
                if is_usable:
                    self._kept.append((connection, get_running_loop().time()))
                else:
                    await self._pool.release(connection)

    async def close(self) -> None:
        """Give back what is kept."""
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
                f"The catalogue (Postgres) has taken no connection within {wait:g} seconds. "
                "Try again in a moment."
            ) from exc
        finally:
            self._waiting -= 1


def _is_open(connection: Connection) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # the pool has taken back what the server closed
        return False


@contextmanager
def _unavailable() -> Iterator[None]:
    """Turn lost or refused connections into `Unavailable`, and what takes too long into `Busy`."""
    try:
        yield
    except ValueError:  # the driver's own, of a value that does not fit its parameter
        raise
    except _LATE as exc:  # before OSError, of which TimeoutError is one
        raise _busy("it has not answered in time, or others hold what was to be changed") from exc
    except asyncpg.DiskFullError as exc:
        raise Unavailable("The disk of the catalogue (Postgres) is full. Make room on it.", 5) from exc
    except _LOST as exc:
        raise Unavailable("The catalogue (Postgres) cannot be reached. Try again in a moment.") from exc


def _busy(reason: str) -> Busy:
    return Busy(f"The catalogue (Postgres) is busy: {reason}. Try again in a moment.", 2)


_LOCK = SQL("SELECT pg_try_advisory_lock($key) AS locked")


class SessionLock:
    """A lock that one process at a time holds."""

    _KEY: int

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = AsyncExitStack()

    async def __aenter__(self) -> bool:
        """Try to take the lock; returns False if another process holds it."""
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


_MIGRATION_LOCK = 7_236_501
"""Key of the advisory lock that lets one process migrate while the others wait."""

_COUNT_CONNECTIONS = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
"""

_READ_REVISIONS = SQL("SELECT version_num FROM alembic_version")


class SchemaQueries:
    """Reads the schema's revision."""

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
    """Apply every migration that the database lacks; returns how many connections it allows.

    Its superuser's connections do not count. A database that is up to date is left alone. Raises
    BookprintError where the database is out of reach, of another version, or in another encoding than UTF8.
    """
    import sqlalchemy as sa
    from alembic import command
    from alembic.util import CommandError

    # In SQL_ASCII, texts would come as bytes.
    engine = sa.create_engine(database_url, poolclass=sa.NullPool, connect_args={"client_encoding": "utf8"})
    try:
        with engine.connect() as lock, engine.connect() as connection:
            if (encoding := lock.execute(sa.text("SHOW server_encoding")).scalar_one()) != "UTF8":
                raise BookprintError(
                    f"The database is in the encoding {encoding}, which cannot hold every text. "
                    "Make one with createdb --encoding=UTF8 --template=template0, and set DATABASE_URL to it."
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
