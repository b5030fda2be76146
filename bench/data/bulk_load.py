"""Simulated libraries in Postgres, written by COPY as the product's own rows, by a process for each core.

A library that was loaded into a folder is found there again, so that measurements can be repeated without
loading, and so are the batches of one that was not loaded to its end. It is whole once the sequence of entry
ids stands at its size.
"""

import hashlib
import multiprocessing
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import psycopg
import sqlalchemy as sa

from app.stores.postgres.connections import upgrade
from app.stores.postgres.rows import signature_values, title_words
from app.stores.postgres.schema import books, entry_ids, signatures
from bench.data.simulated_books import BATCH, Books, simulate

_WITHOUT_INDEX = ("uq_books_content_key", "ix_books_identifiers", "ix_books_title_words", "ix_books_pending")
"""Built after the rows are there, which takes a third of the time."""

_FIRST_MILLISECOND = 1_700_000_000_000

_BOOK_COLUMNS = {
    "id": "uuid",
    "entry_id": "int8",
    "content_key": "bytea",
    "title": "text",
    "title_words": "text[]",
    "word_count": "int4",
    "character_count": "int8",
    "indexed_at": "timestamptz",
}
_SIGNATURE_COLUMNS = {"entry_id": "int8", "recipe": "text", "data": "bytea", "shingle_count": "int4"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded in addition to what was there."""

    books: int
    seconds: float


def load(database_url: str, n: int, *, texts: bool) -> Loaded | None:
    """Bring n simulated books into the database; None where they are there already.

    With `texts` false the books have fingerprints only. Whole batches that are there stay.
    """
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
            for _ in pool.map(partial(_load_batch, database_url, n, texts), missing):
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


def _load_batch(database_url: str, n: int, texts: bool, number: int) -> None:
    """Write one batch of n books, all or nothing."""
    url = sa.make_url(database_url).set(drivername="postgresql")
    with psycopg.connect(url.render_as_string(hide_password=False)) as connection:
        # The rows fit together; checking each against the other table takes longer than writing it.
        connection.execute("SET session_replication_role = replica")
        [batch] = simulate(n, texts=texts, numbers=[number])
        copy_books(connection, batch, 1 + number * BATCH)


def book_id(entry_id: int) -> UUID:
    """The id of the simulated book with this entry: UUIDs of version 7 that lie a millisecond apart."""
    noise = int.from_bytes(hashlib.blake2b(entry_id.to_bytes(8, "big"), digest_size=10).digest(), "big")
    value = (_FIRST_MILLISECOND + entry_id) << 80 | noise
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def copy_books(connection: psycopg.Connection, batch: Books, first_entry: int) -> None:
    """Write a batch into `books` and `signatures`, as books that the index holds."""
    now = datetime.now(UTC)
    _copy(
        connection,
        books.name,
        _BOOK_COLUMNS,
        (
            (
                book_id(entry),
                entry,
                hashlib.sha256(entry.to_bytes(8, "big")).digest(),
                f"Book {entry}",
                title_words(f"Book {entry}"),
                words,
                characters,
                now,
            )
            for entry, (words, characters) in enumerate(
                zip(batch.word_counts.tolist(), batch.character_counts.tolist(), strict=True), first_entry
            )
        ),
    )
    _copy(
        connection,
        signatures.name,
        _SIGNATURE_COLUMNS,
        (
            [({"entry_id": first_entry + row} | values)[column] for column in _SIGNATURE_COLUMNS]
            for row in range(len(batch))
            for values in signature_values(batch.sketch(row))
        ),
    )


def _copy(
    connection: psycopg.Connection, table: str, columns: dict[str, str], rows: Iterable[Sequence[object]]
) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN BINARY") as copy,
    ):
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
