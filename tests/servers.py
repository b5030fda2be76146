"""Real servers for the tests: those that DATABASE_URL and REDIS_URL name, else embedded ones.

A test's database is a copy of a migrated template, so it starts empty and costs about as much as one commit.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch
from uuid import uuid4

import psycopg
import redis
from sqlalchemy import make_url

from app.embedded import EmbeddedServers, Servers, postgres
from tests.secret_search import DATABASE_PASSWORD

_ROOM = 4_000_000_000  # bytes


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is removed at the end, in memory where there is room for it.

    The tests kill processes, never the machine, so data that a server has written is safe there too. The many
    small `fsync`s of a test run cost nothing.
    """
    memory = Path("/dev/shm").resolve()
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM
    with TemporaryDirectory(prefix="bookprint-test-", dir=memory if roomy else None) as folder:
        yield Path(folder)


@contextmanager
def session_servers(data_dir: Path) -> Iterator[Servers]:
    """The two servers that the whole session uses."""
    database_url = os.environ.get("DATABASE_URL") or None
    redis_url = os.environ.get("REDIS_URL") or None
    if redis_url is not None:
        _insist_on_empty(redis_url)
    with ExitStack() as stack:
        # Postgres goes through all its buffers whenever a database is made or dropped.
        with patch.object(postgres, "_MOST_BUFFERS", postgres._LEAST_BUFFERS):
            servers = stack.enter_context(
                EmbeddedServers(data_dir, database_url=database_url, redis_url=redis_url)
            )
        yield servers


@contextmanager
def migrated_template(server_url: str) -> Iterator[str]:
    """The name of a database with the current schema and nothing in it."""
    # Late, because only tests that store something need the schema to be importable.
    from app.stores.postgres.connections import upgrade

    with fresh_database(server_url) as url:
        upgrade(url)
        yield str(make_url(url).database)


@contextmanager
def fresh_database(server_url: str, template: str = "template0") -> Iterator[str]:
    """The URL of a new database, a copy of `template`, which is dropped at the end."""
    name = f"bookprint_test_{uuid4().hex[:12]}"
    _administer(server_url, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    try:
        url = make_url(server_url).set(
            drivername="postgresql+psycopg", database=name, password=DATABASE_PASSWORD
        )
        yield url.render_as_string(hide_password=False)
    finally:
        _administer(server_url, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def flushed_redis(redis_url: str) -> Iterator[str]:
    """The URL of an empty Redis database."""
    client = _redis_client(redis_url)
    client.flushdb()
    yield redis_url
    client.flushdb()


def _insist_on_empty(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        if keys := client.dbsize():
            raise RuntimeError(
                f"REDIS_URL names a database that holds {keys} keys, and the tests flush it. "
                "Name an empty one, for example by another number at the end of the URL."
            )


def _administer(server_url: str, statement: str) -> None:
    # Plainly: an engine of its own takes longer to set up than the statement to run.
    _administrator(server_url).execute(statement.encode())


@cache
def _redis_client(redis_url: str) -> redis.Redis:
    """A client for the whole session."""
    return redis.Redis.from_url(redis_url)


@cache
def _administrator(server_url: str) -> psycopg.Connection:
    """A connection for the whole session, as the server starts a process for each new one."""
    address = make_url(server_url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(address, autocommit=True)
