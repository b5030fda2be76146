"""A change of recipes that is broken off, or meets faults of Redis, ends as if it had not."""

import pytest

from app.core.errors import BookprintError, RecipeNotIndexed, Unavailable
from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_SUITE, Suites
from app.services.index.upkeep import IndexUpkeep
from app.stores.postgres.contents import MissingSignatureStore, SuiteStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.epoch import Epochs
from app.wiring import Services
from tests.factories import ACTOR
from tests.redis_cluster import Operator, on_cluster_too
from tests.services.index.switching import (
    OTHER,
    SUITE,
    _notice_at_once as _notice_at_once,
    a_text,
    books_under,
    broken_off,
    change,
    elsewhere as elsewhere,
    is_clean,
    keys_of,
    post,
)


async def test_a_build_that_was_broken_off_goes_on_where_it_stopped(
    services: Services, elsewhere: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = [a_text() for _ in range(7)]
    for content in contents:
        await post(services, content)
    monkeypatch.setattr("app.services.index.missing_signatures._COMPUTED_AT_ONCE", 2)
    sign, batches = MissingSignatureStore.insert, []

    async def twice(*arguments: object) -> None:
        if len(batches) == 2:
            raise Unavailable("The process died here.")
        batches.append(arguments)
        await sign(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(MissingSignatureStore, "insert", twice)
        with pytest.raises(Unavailable):
            await change(services)
    contents.append(a_text())
    await post(elsewhere, contents[-1])
    await services.upkeep.catch_up()
    with pytest.raises(RecipeNotIndexed):
        await books_under(services, contents[0], OTHER)
    with pytest.raises(BookprintError, match="serves already"):
        await change(services, DEFAULT_FINGERPRINT)
    await broken_off(services, monkeypatch, BandIndex, "write_buckets")
    await broken_off(services, monkeypatch, IndexUpkeep, "catch_up_filled")
    assert (await change(elsewhere)).entries == 8
    assert await is_clean(elsewhere)
    for content in contents:
        assert len(await books_under(elsewhere, content, OTHER)) == 1


async def test_a_resumed_build_computes_only_what_is_lacking(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await post(services)
    await broken_off(services, monkeypatch, IndexUpkeep, "fill")
    switched = await change(services)
    assert (switched.entries, switched.computed) == (3, 0)


@on_cluster_too
async def test_a_flush_during_the_build_and_after_it_loses_neither_index(
    services: Services, elsewhere: Services, redis: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = a_text()
    book = await post(services, content)
    catch_up, flushes = IndexUpkeep.catch_up_filled, []

    async def flushed(upkeep: IndexUpkeep, *arguments: object) -> object:
        if not flushes:
            await redis.flushdb()
            flushes.append(True)
        return await catch_up(upkeep, *arguments)

    monkeypatch.setattr(IndexUpkeep, "catch_up_filled", flushed)
    await change(services)
    assert await is_clean(services)
    await redis.flushdb()
    report = await elsewhere.upkeep.catch_up()
    assert report is not None
    assert await is_clean(services)
    assert await books_under(elsewhere, content, OTHER) == {book.id}


async def test_a_pending_book_is_found_and_indexed_under_the_recipe_that_is_being_built_too(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await broken_off(services, monkeypatch, IndexUpkeep, "catch_up_filled")
    content = a_text()

    async def fail(*_: object, **__: object) -> None:
        raise Unavailable("Redis is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(BandIndex, "insert", fail)
        book = await post(services, content)
    assert not book.indexed
    for _ in range(2):
        assert await books_under(services, content, DEFAULT_FINGERPRINT) == {book.id}
        await services.upkeep.index_entry(book.entry_id)
    assert (await services.books.get(book.id)).indexed
    assert (await services.indexes.of(SUITE).flat_index.entry_ids()).tolist() == [book.entry_id]
    await change(services)
    assert await books_under(services, content, OTHER) == {book.id}
    assert await is_clean(services)
    await services.ingest.replace_content(book.id, a_text(), None, None, actor=ACTOR)
    assert await is_clean(services)


@on_cluster_too
async def test_what_was_tampered_with_is_replaced_after_a_switch(services: Services, redis: Operator) -> None:
    for _ in range(3):
        await post(services)
    await change(services)
    [key, *_] = [key async for key in redis.scan_iter(f"bp:2{{{OTHER}:*[0-9]")]
    await redis.delete(key)
    assert not await is_clean(services)
    await services.upkeep.rebuild()
    assert await is_clean(services)


@on_cluster_too
@pytest.mark.parametrize("step", [(Epochs, "end"), (SuiteStore, "delete"), (BandIndex, "delete_all")])
async def test_a_removal_that_was_broken_off_is_finished(
    services: Services, redis: Operator, monkeypatch: pytest.MonkeyPatch, step: tuple[type, str]
) -> None:
    await post(services)
    real = getattr(*step)

    async def fail(thing: object, *arguments: object) -> None:
        if step[1] != "delete_all" or thing is services.indexes.of(DEFAULT_SUITE):
            raise Unavailable("The process died here.")
        await real(thing, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(*step, fail)
        with pytest.raises(Unavailable, match="died here"):
            await change(services)
    late = a_text()
    book = await post(services, late)
    assert await keys_of(redis, DEFAULT_FINGERPRINT) != []
    if (await services.suites.read()).building is not None:
        with pytest.raises(BookprintError, match=f"serves already.*--drop {DEFAULT_FINGERPRINT}"):
            await change(services)
        await services.recipes.drop(DEFAULT_FINGERPRINT)
    else:
        await services.upkeep.catch_up()
    assert await keys_of(redis, DEFAULT_FINGERPRINT) == []
    assert await books_under(services, late, OTHER) == {book.id}
    assert await is_clean(services)


async def test_a_build_that_is_given_up_leaves_no_key(
    services: Services, redis: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = a_text()
    book = await post(services, content)
    await broken_off(services, monkeypatch, IndexUpkeep, "catch_up_filled")
    assert await keys_of(redis, OTHER) != []
    await services.recipes.drop(OTHER)
    assert await keys_of(redis, OTHER) == []
    assert await services.suites.read() == Suites()
    assert await books_under(services, content, DEFAULT_FINGERPRINT) == {book.id}
    assert await is_clean(services)
