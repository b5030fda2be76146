"""Simulated libraries in embedded servers, written by COPY as rows of the product.

A library in a folder is used again; an interrupted load continues after the last batch. A library is complete
when the sequence of entry ids equals its size.
"""

import asyncio
import hashlib
import multiprocessing
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import psycopg
import redis
import sqlalchemy as sa

from app.embedded import EmbeddedServers, Servers
from app.settings import Settings
from app.stores.postgres.connections import upgrade
from app.stores.postgres.rows import signature_values, title_words
from app.stores.postgres.schema import books, entry_ids, signatures
from app.wiring import open_services
from bench.data.simulated_books import BATCH, Books, simulate
from bench.harness.report import CannotMeasure

_WITHOUT_INDEX = ("uq_books_content_key", "ix_books_identifiers", "ix_books_title_words", "ix_books_pending")
"""Indexes built after the rows are loaded, which takes a third of the time."""

_FIRST_MILLISECOND = 1_700_000_000_000

_BOOK_COLUMNS = {"id": "uuid", "entry_id": "int8", "content_key": "bytea", "title": "text"}
_BOOK_COLUMNS |= {"title_words": "text[]", "word_count": "int4", "character_count": "int8"}
_BOOK_COLUMNS |= {"indexed_at": "timestamptz"}
_SIGNATURE_COLUMNS = {"entry_id": "int8", "recipe": "text", "data": "bytea", "shingle_count": "int4"}


@dataclass(frozen=True, slots=True)
class Library:
    """A simulated library."""

    books: int

    @property
    def name(self) -> str:
        """Return the name of the library's folder."""
        return f"{self.books}-all"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Count and duration of newly loaded books."""

    books: int
    seconds: float


@contextmanager
def opened(library: Library, folder: Path) -> Iterator[Servers]:
    """Run embedded servers with this library in Postgres, after loading it if necessary."""
    with EmbeddedServers(folder / library.name) as servers:
        if loaded := load(servers.database_url, library.books):
            print(f"  loaded {loaded.books:,} books in {loaded.seconds:.0f} s", flush=True)
        yield servers


def client_of(servers: Servers) -> "redis.Redis":
    """Return a plain connection to the library's Redis."""
    return redis.Redis.from_url(servers.redis_url, socket_timeout=600)


def reconcile(servers: Servers) -> float:
    """Reconcile the index with the catalogue as the product does, or build it; return the seconds."""

    async def run() -> float:
        settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
        async with open_services(settings) as services:
            started = time.perf_counter()
            if await services.upkeep.catch_up() is None:
                raise CannotMeasure("Another process is reconciling the index of this library.")
            return time.perf_counter() - started

    return asyncio.run(run())


def load(database_url: str, n: int) -> Loaded | None:
    """Load n simulated books, except complete batches already stored; return None if all are stored."""
    upgrade(database_url)
    engine = sa.create_engine(database_url, poolclass=sa.NullPool)
    started = time.perf_counter()
    with engine.connect() as connection:
        if connection.scalar(sa.text("SELECT last_value FROM entry_ids")) >= n:
            return None
        there = connection.execute(
            sa.text("SELECT (entry_id - 1) / :batch, count(*) FROM books GROUP BY 1"), {"batch": BATCH}
        )
        batches: dict[int, int] = dict(there.tuples().all())
        if any(count != BATCH for count in batches.values()):
            batches = {}
            connection.execute(sa.text("TRUNCATE books CASCADE"))
        connection.commit()
        indexes = [index for index in books.indexes if index.name in _WITHOUT_INDEX]
        for index in indexes:
            index.drop(connection, checkfirst=True)
        connection.commit()
        missing = [number for number in range(-(-n // BATCH)) if number not in batches]
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
            for _ in pool.map(partial(_load_batch, database_url, n), missing):
                pass
        for index in indexes:
            index.create(connection)
        connection.execute(sa.text("SELECT setval(:name, :n)"), {"name": entry_ids.name, "n": n})
        connection.commit()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("VACUUM ANALYZE books, signatures"))
        connection.execute(sa.text("CHECKPOINT"))
    engine.dispose()
    return Loaded(n - BATCH * len(batches), time.perf_counter() - started)


def _load_batch(database_url: str, n: int, number: int) -> None:
    """Write one batch of n books in one transaction."""
    url = sa.make_url(database_url).set(drivername="postgresql")
    with psycopg.connect(url.render_as_string(hide_password=False)) as connection:
        # The rows are consistent; checking a foreign key takes longer than writing a row.
        connection.execute("SET session_replication_role = replica")
        [batch] = simulate(n, numbers=[number])
        first = 1 + number * BATCH
        _copy(connection, books.name, _BOOK_COLUMNS, _book_rows(batch, first))
        _copy(
            connection,
            signatures.name,
            _SIGNATURE_COLUMNS,
            (
                [({"entry_id": first + row} | values)[column] for column in _SIGNATURE_COLUMNS]
                for row in range(len(batch))
                for values in signature_values(batch.sketch(row))
            ),
        )


def book_id(entry_id: int) -> UUID:
    """Return the id of the simulated book with this entry: a UUID of version 7, one per millisecond."""
    noise = int.from_bytes(hashlib.blake2b(entry_id.to_bytes(8, "big"), digest_size=10).digest(), "big")
    value = (_FIRST_MILLISECOND + entry_id) << 80 | noise
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def _book_rows(batch: Books, first: int) -> Iterator[Sequence[object]]:
    now = datetime.now(UTC)
    counts = zip(batch.word_counts.tolist(), batch.character_counts.tolist(), strict=True)
    for entry, (words, characters) in enumerate(counts, first):
        title, key = f"Book {entry}", hashlib.sha256(entry.to_bytes(8, "big")).digest()
        yield book_id(entry), entry, key, title, title_words(title), words, characters, now


def _copy(
    connection: psycopg.Connection, table: str, columns: dict[str, str], rows: Iterable[Sequence[object]]
) -> None:
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN BINARY"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
