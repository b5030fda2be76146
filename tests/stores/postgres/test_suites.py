"""The table of suites: what writers see of a change that goes on while they begin."""

import asyncio
from dataclasses import astuple, replace

import pytest

from app.core.model import Metadata
from app.core.recipe import DEFAULT_SUITE, Suites
from app.services.books import new_book_id
from app.stores.postgres.books import BookStore
from app.stores.postgres.connections import Database
from app.stores.postgres.contents import SuitesChanged, SuiteStore, read_locked_suites
from app.stores.postgres.entries import EntryStore
from tests.factories import ACTOR, a_sketch, new_content
from tests.stores.postgres.test_books import RNG

OTHER = replace(DEFAULT_SUITE, fingerprint="tf-simhash128-v1")


@pytest.fixture
def suites(database: Database) -> SuiteStore:
    return SuiteStore(database)


async def test_suites_are_built_and_serve_and_are_removed(suites: SuiteStore) -> None:
    assert await suites.read() == Suites(DEFAULT_SUITE)
    await suites.insert(OTHER)
    assert await suites.current() == Suites(DEFAULT_SUITE, building=OTHER)
    assert await suites.update_serving(OTHER.fingerprint, allow_missing=False) == 0
    assert await suites.current() == Suites(OTHER, building=DEFAULT_SUITE)
    await suites.delete(DEFAULT_SUITE)
    assert await suites.current() == Suites(OTHER)


async def test_a_change_waits_for_writers_and_the_next_writers_see_it(
    suites: SuiteStore, database: Database
) -> None:
    async def locked() -> Suites:
        async with database.transaction() as connection:
            return await read_locked_suites(connection)

    async with database.transaction() as writer:
        # Often enough that the driver prepares the statement: a plan made before must see the change, too.
        for _ in range(10):
            assert await read_locked_suites(writer) == Suites(DEFAULT_SUITE)
        building = asyncio.create_task(suites.insert(OTHER))
        await asyncio.sleep(0.2)
        assert not building.done()
        waiting = [asyncio.create_task(locked()) for _ in range(3)]
        await asyncio.sleep(0.2)
        assert not any(task.done() for task in waiting)
        assert await read_locked_suites(writer) == Suites(DEFAULT_SUITE)
    await building
    assert await asyncio.gather(*waiting) == [Suites(DEFAULT_SUITE, building=OTHER)] * 3


async def test_a_change_that_writers_overtook_is_not_missed(suites: SuiteStore, database: Database) -> None:
    async with database.session() as connection:
        for _ in range(10):
            await read_locked_suites(connection)
        async with suites._changing() as changing:
            await changing.execute(
                "INSERT INTO suites (fingerprint, minhash, sample, state) VALUES ($1, $2, $3, 'building')",
                *astuple(OTHER),
            )
            waiting = asyncio.create_task(read_locked_suites(connection))
            await asyncio.sleep(0.2)
            assert not waiting.done()
        assert await waiting == Suites(DEFAULT_SUITE, building=OTHER)


async def test_content_for_other_suites_is_not_stored(
    suites: SuiteStore, catalogue: BookStore, entries: EntryStore
) -> None:
    content = new_content(a_sketch(RNG))
    book = (await catalogue.insert(new_book_id(), Metadata(), content, actor=ACTOR)).book
    await suites.insert(OTHER)
    with pytest.raises(SuitesChanged):
        await catalogue.insert(new_book_id(), Metadata(), content, actor=ACTOR)
    with pytest.raises(SuitesChanged):
        await catalogue.update_content(book.id, new_content(a_sketch(RNG)), None, actor=ACTOR)
    assert await entries.count() == 1
    gone = await catalogue.delete(book.id, None, actor=ACTOR)
    assert gone.keys() == {DEFAULT_SUITE, OTHER}
    assert gone[OTHER].fingerprint is None
