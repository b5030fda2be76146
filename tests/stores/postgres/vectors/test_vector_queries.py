"""Following what other transactions write, in whatever order they commit."""

from uuid import uuid4

import numpy as np
import pytest

from app.stores.postgres import vectors
from app.stores.postgres.books import BookStore
from app.stores.postgres.connections import SQL, Connection, Database, rows
from app.stores.postgres.vectors import VectorQueries, Written
from bookprint_core.model import Metadata
from bookprint_core.recipe import VECTORS
from tests.factories import ACTOR, a_sketch, new_content

INSERT = SQL("INSERT INTO signatures (entry_id, recipe, data) VALUES ($entry_id, $recipe, $data)")
DELETE = SQL("DELETE FROM books WHERE entry_id = $entry_id")
RENUMBER = SQL("UPDATE signatures SET written_by = written_by + $by")


@pytest.fixture
def queries(database: Database) -> VectorQueries:
    return VectorQueries(database)


async def books(catalogue: BookStore, count: int) -> list[int]:
    """The entries of new books without vectors."""
    rng = np.random.default_rng(1)
    contents = [new_content(a_sketch(rng)) for _ in range(count)]
    stored = [await catalogue.insert(uuid4(), Metadata(), content, actor=ACTOR) for content in contents]
    return [each.book.entry_id for each in stored]


async def insert(connection: Connection, entry_id: int) -> None:
    await rows(connection, INSERT, entry_id=entry_id, recipe=VECTORS, data=bytes([entry_id % 128]) * 128)


def entries_of(written: Written) -> list[int]:
    assert (written.vectors.vectors == written.vectors.entry_ids[:, None] % 128).all()
    return sorted(written.vectors.entry_ids.tolist())


async def test_vectors_of_transactions_that_end_in_another_order_are_all_read(
    database: Database, catalogue: BookStore, queries: VectorQueries
) -> None:
    first, second, third = await books(catalogue, 3)
    async with database.transaction() as slow:
        await insert(slow, first)
        async with database.transaction() as quick:
            await insert(quick, second)
        early = await queries.read_written(None)
        assert (entries_of(early), early.is_all) == ([second], True)
        again = await queries.read_written(early.since)
        assert (entries_of(again), again.is_all) == ([second], False)
    late = await queries.read_written(again.since)
    assert entries_of(late) == [first, second]
    assert entries_of(await queries.read_written(late.since)) == []
    async with database.transaction() as connection:
        await insert(connection, third)
    assert entries_of(await queries.read_written(late.since)) == [third]


async def test_all_are_read_in_parts(
    database: Database, catalogue: BookStore, queries: VectorQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_READ_AT_ONCE", 3)
    wanted = await books(catalogue, 12)
    for some in (wanted[9:], wanted[:7], wanted[7:9]):
        async with database.transaction() as connection:
            for entry_id in some:
                await insert(connection, entry_id)
    assert entries_of(await queries.read_written(None)) == wanted


async def test_older_state_of_the_database_is_read_anew(
    database: Database, catalogue: BookStore, queries: VectorQueries
) -> None:
    [entry_id] = await books(catalogue, 1)
    async with database.transaction() as connection:
        await insert(connection, entry_id)
    far = (await queries.read_written(None)).since + 1_000_000
    anew = await queries.read_written(far)
    assert (entries_of(anew), anew.is_all) == ([entry_id], True)
    assert anew.since < far


async def test_vectors_of_a_dump_of_a_busier_server_are_read_once(
    database: Database, catalogue: BookStore, queries: VectorQueries
) -> None:
    dumped, new = await books(catalogue, 2)
    async with database.transaction() as connection:
        await insert(connection, dumped)
        await rows(connection, RENUMBER, by=1_000_000)
    first = await queries.read_written(None)
    assert entries_of(first) == [dumped]
    async with database.transaction() as connection:
        await insert(connection, new)
    second = await queries.read_written(first.since)
    assert entries_of(second) == [new]
    assert entries_of(await queries.read_written(second.since)) == []
