"""The table of suites: what writers see of a change that goes on while they begin."""

import asyncio
from dataclasses import asdict, replace

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from app.core.model import Metadata
from app.core.recipe import DEFAULT_SUITE, Suites
from app.services.ids import new_book_id
from app.stores.postgres import tables
from app.stores.postgres.books import BookStore
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.queries import Queries
from app.stores.postgres.suites import BUILDING, SuitesChanged, SuiteStore, hold, switch
from tests.factories import a_sketch, new_content
from tests.stores.postgres.test_books import RNG

OTHER = replace(DEFAULT_SUITE, fingerprint="tf-simhash128-v1")


@pytest.fixture
def suites(engine: AsyncEngine, queries: Queries) -> SuiteStore:
    return SuiteStore(engine, queries)


async def test_suites_are_built_serve_retire_and_are_dropped(suites: SuiteStore) -> None:
    assert await suites.read() == Suites(DEFAULT_SUITE)
    await suites.build(OTHER)
    assert await suites.current() == Suites(DEFAULT_SUITE, building=OTHER)
    async with suites.changing() as connection:
        await switch(connection)
    assert await suites.current() == Suites(OTHER, retired=(DEFAULT_SUITE,))
    await suites.drop(DEFAULT_SUITE)
    assert await suites.current() == Suites(OTHER)


async def test_a_change_waits_for_writers_and_the_next_writers_see_it(
    suites: SuiteStore, engine: AsyncEngine
) -> None:
    async def held() -> Suites:
        async with engine.begin() as connection:
            return await hold(connection)

    async with engine.begin() as writer:
        # Often enough that the driver prepares the statement: a plan made before must see the change, too.
        for _ in range(10):
            assert await hold(writer) == Suites(DEFAULT_SUITE)
        building = asyncio.create_task(suites.build(OTHER))
        await asyncio.sleep(0.2)
        assert not building.done()
        waiting = [asyncio.create_task(held()) for _ in range(3)]
        await asyncio.sleep(0.2)
        assert not any(task.done() for task in waiting)
        assert await hold(writer) == Suites(DEFAULT_SUITE)
    await building
    assert await asyncio.gather(*waiting) == [Suites(DEFAULT_SUITE, building=OTHER)] * 3


async def test_a_change_that_writers_overtook_is_not_missed(suites: SuiteStore, engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        for _ in range(10):
            async with connection.begin():
                await hold(connection)
        async with suites.changing() as changing:
            await changing.execute(sa.insert(tables.suites), asdict(OTHER) | {"state": BUILDING})
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(hold(connection))
                await asyncio.sleep(0.2)
                assert not waiting.done()
                await changing.commit()
        assert waiting.result() == Suites(DEFAULT_SUITE, building=OTHER)


async def test_content_for_other_suites_is_not_stored(
    suites: SuiteStore, catalogue: BookStore, entries: EntryStore
) -> None:
    content = new_content(a_sketch(RNG))
    book = (await catalogue.add(new_book_id(), Metadata(), content)).book
    await suites.build(OTHER)
    with pytest.raises(SuitesChanged):
        await catalogue.add(new_book_id(), Metadata(), content)
    with pytest.raises(SuitesChanged):
        await catalogue.replace_content(book.id, new_content(a_sketch(RNG)), None)
    assert await entries.count() == 1
    gone = await catalogue.delete(book.id, None)
    assert gone.keys() == {DEFAULT_SUITE, OTHER}
    assert gone[OTHER].fingerprint is None
