"""From one recipe to another while books come, go and are looked up."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import BookprintError, InvalidInput, RecipeMismatch, RecipeNotIndexed, Unavailable
from app.core.model import Entry
from app.core.recipe import (
    DEFAULT_FINGERPRINT,
    DEFAULT_SAMPLE,
    DEFAULT_SUITE,
    SAMPLE_RECIPES,
    Suite,
    Suites,
    folded_name,
)
from app.core.signatures.sketch import fingerprint
from app.core.text.content import content_from_text
from app.services.index.recipe_switch import _NOTICED_AFTER as NOTICED_AFTER, Recipes, TextsMissing
from app.services.index.upkeep import IndexUpkeep
from app.services.lookups import Verified, Within, find
from app.stores.postgres.connections import RecipesLock
from app.stores.postgres.contents import SuiteStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import Command, RedisClient
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
    post_signatures,
)
from tests.vectors.texts import text


@pytest.mark.slow
async def test_samples_change_while_lookups_by_text_are_answered(
    services: Services, elsewhere: Services, redis: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.index.recipe_switch._NOTICED_AFTER", NOTICED_AFTER)
    words = a_text().text.split()
    whole = await post(services, content_from_text(" ".join(words)))
    part = await post(services, content_from_text(" ".join(words[: len(words) // 3])))
    await post(services)
    for recipe in ("word5-sample128-v1", "char20-sample256-v1", DEFAULT_SAMPLE):
        switching = asyncio.create_task(change(services, recipe))
        while not switching.done():
            answer = await elsewhere.lookup.near_duplicates(whole.id, Verified(), None, 10)
            assert [match.book.book_id for match in answer.matches] == [part.id]
            await asyncio.sleep(0.02)
        assert (await switching).missing == 0
        assert await services.suites.read() == Suites(replace(DEFAULT_SUITE, sample=recipe))
        assert await is_clean(services)
        later = await post(elsewhere, content_from_text(" ".join(words[len(words) // 2 :])))
        answer = await elsewhere.lookup.near_duplicates(whole.id, Verified(), None, 10)
        assert {match.book.book_id for match in answer.matches} == {part.id, later.id}
        await services.ingest.delete(later.id, None, actor=ACTOR)
        others = SAMPLE_RECIPES.keys() - {recipe}
        assert [key for name in others async for key in redis.scan_iter(match=f"bp:*{name}*")] == []


async def test_books_without_texts_are_named_before_samples_change(services: Services) -> None:
    await post_signatures(services)
    with pytest.raises(TextsMissing, match="by shared text"):
        await change(services, "word5-sample128-v1")


@pytest.mark.slow
async def test_a_switch_loses_nothing_while_books_come_and_go_and_are_looked_up(
    services: Services, elsewhere: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.index.missing_signatures._COMPUTED_AT_ONCE", 4)
    monkeypatch.setattr("app.services.index.recipe_switch._NOTICED_AFTER", NOTICED_AFTER)
    contents = {(await post(services, content)).id: content for content in (a_text() for _ in range(20))}
    doomed = [await post(services) for _ in range(10)]
    switching = asyncio.create_task(change(services))
    recipes = set()
    asked = next(iter(contents))
    while not switching.done():
        recipes.add((await elsewhere.books.get(asked)).fingerprint.recipe)
        content = a_text()
        contents[(await post(elsewhere, content)).id] = content
        if doomed:
            await elsewhere.ingest.delete(doomed.pop().id, None, actor=ACTOR)
        answer = await elsewhere.lookup.near_duplicates(asked, Within(128), None, 1000)
        assert answer.total >= len(contents) - 1
        assert {match.book.book_id for match in answer.matches} >= contents.keys() - {asked}
        await asyncio.sleep(0.02)
    switched = await switching
    assert DEFAULT_FINGERPRINT in recipes
    assert switched.missing == 0
    assert await is_clean(services)
    assert await services.suites.read() == Suites(SUITE)
    for book_id, content in contents.items():
        assert (await elsewhere.books.get(book_id)).fingerprint == fingerprint(content, OTHER)
        assert await books_under(elsewhere, content, OTHER) == {book_id}


async def test_what_comes_and_goes_while_whole_buckets_are_written_is_mended(
    services: Services, elsewhere: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone, fresh = a_text(), a_text(), a_text()
    await post(services, kept)
    doomed = await post(services, gone)
    delete_all = BandIndex.delete_all

    async def meanwhile(index: BandIndex, postings: object) -> None:
        await delete_all(index, postings)
        if index.suite == SUITE:
            await post(elsewhere, fresh)
            await elsewhere.ingest.delete(doomed.id, None, actor=ACTOR)

    monkeypatch.setattr(BandIndex, "delete_all", meanwhile)
    await change(services)
    assert await is_clean(services)
    assert len(await books_under(services, fresh, OTHER)) == 1
    assert await books_under(services, gone, OTHER) == set()


async def test_a_process_that_does_not_know_of_the_build_computes_both(
    services: Services, elsewhere: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await elsewhere.suites.read()
    monkeypatch.setattr("app.stores.postgres.contents.KNOWN_FOR", 1000.0)
    begun = await broken_off(services, monkeypatch, IndexUpkeep, "catch_up_filled")
    assert isinstance(begun, Unavailable)
    assert (await elsewhere.suites.current()).building is None
    content = a_text()
    book = await post(elsewhere, content)
    assert book.fingerprint.recipe == DEFAULT_FINGERPRINT
    assert (await elsewhere.suites.current()).building is not None
    with monkeypatch.context() as patch:
        patch.setattr(Recipes, "_remove", nothing)
        assert (await change(services)).computed == 0
    assert await books_under(services, content, OTHER) == {book.id}
    # It still relies on what it knew before the switch, and answers exactly within that.
    assert (await elsewhere.suites.current()).serving == DEFAULT_SUITE
    late = a_text()
    assert (await post(services, late)).indexed
    for asked in (content, late):
        assert len(await books_under(elsewhere, asked, DEFAULT_FINGERPRINT)) == 1
    assert await books_under(elsewhere, content, OTHER) == {book.id}


async def test_books_without_a_text_block_the_switch_unless_they_are_allowed(services: Services) -> None:
    content = a_text()
    with_text, without = await post(services, content), await post_signatures(services)
    with pytest.raises(TextsMissing, match="1 books have no stored text"):
        await change(services)
    assert await services.suites.read() == Suites()
    switched = await change(services, allow_missing=True)
    assert (switched.entries, switched.computed, switched.missing) == (2, 1, 1)
    assert await is_clean(services)
    assert (await services.books.get(without.id)).fingerprint is None
    assert await books_under(services, content, OTHER) == {with_text.id}


async def test_signatures_posted_during_the_build_count_as_missing(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await post(services)
    fill = IndexUpkeep.fill

    async def meanwhile(*arguments: object) -> object:
        await post_signatures(services)
        return await fill(*arguments)

    monkeypatch.setattr(IndexUpkeep, "fill", meanwhile)
    with pytest.raises(TextsMissing):
        await change(services)
    assert (await services.suites.read()).serving == DEFAULT_SUITE
    monkeypatch.undo()
    assert (await change(services, allow_missing=True)).missing == 1
    assert await is_clean(services)


async def test_recipes_are_never_mixed(services: Services) -> None:
    content = a_text()
    old = await post(services, content)
    with pytest.raises(RecipeNotIndexed, match=f"reindex --recipe {OTHER}"):
        await books_under(services, content, OTHER)
    await change(services)
    other = fingerprint(content, OTHER)
    with pytest.raises(RecipeMismatch):
        await find(services.indexes.of(DEFAULT_SUITE), Entry(0, other, None), Within(7), 0)
    with pytest.raises(RecipeMismatch):
        await post_signatures(services)
    now = await services.books.get(old.id)
    assert (now.fingerprint, now.version) == (other, old.version)


async def nothing(*_: object) -> None:
    """Take the place of a step that is left out."""


async def knows_the_old_recipe(elsewhere: Services) -> None:
    """Let a process answer in it, so that it holds the flat index and knows the suites."""
    assert await books_under(elsewhere, a_text(), DEFAULT_FINGERPRINT) == set()


@on_cluster_too
@pytest.mark.parametrize("asks_before", [True, False])
async def test_no_book_is_missed_by_a_process_that_has_not_seen_a_switch(
    services: Services, elsewhere: Services, monkeypatch: pytest.MonkeyPatch, asks_before: bool
) -> None:
    await knows_the_old_recipe(elsewhere)
    monkeypatch.setattr("app.stores.postgres.contents.KNOWN_FOR", 1000.0)
    delete, late = SuiteStore.delete, a_text()

    async def then_post(suites: SuiteStore, suite: Suite) -> None:
        if asks_before:
            with pytest.raises(Unavailable, match="have just been replaced"):
                await books_under(elsewhere, a_text(), DEFAULT_FINGERPRINT)
        await delete(suites, suite)
        await post(services, late)
        with pytest.raises((Unavailable, RecipeNotIndexed)):
            await books_under(elsewhere, late, DEFAULT_FINGERPRINT)

    monkeypatch.setattr(SuiteStore, "delete", then_post)
    await change(services)
    assert len(await books_under(elsewhere, late, OTHER)) == 1


@pytest.mark.parametrize("place", range(3))
async def test_a_switch_in_the_midst_of_a_lookup_leaves_no_answer_incomplete(
    services: Services, elsewhere: Services, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    content = a_text()
    book = await post(services, content)
    await knows_the_old_recipe(elsewhere)
    monkeypatch.setattr("app.stores.postgres.contents.KNOWN_FOR", 1000.0)
    with monkeypatch.context() as patch:
        patch.setattr(Recipes, "_remove", nothing)
        await change(services)
    # So few books would be scanned.
    monkeypatch.setattr("app.core.index.fingerprints.ROW_NANOSECONDS", 1e6)
    run, reading = RedisClient.run, list[Command]()

    async def one_by_one(client: RedisClient, commands: Sequence[Command]) -> list[Any]:
        if reading or commands[0][0] != "MGET":
            return await run(client, commands)
        reading.extend(commands)
        answers = []
        for number, command in enumerate(commands):
            if number == place:
                await services.recipes.drop(DEFAULT_FINGERPRINT)
            answers += await run(client, [command])
        return answers

    monkeypatch.setattr(RedisClient, "run", one_by_one)
    if place < 2:
        with pytest.raises(Unavailable, match="have just been replaced"):
            await books_under(elsewhere, content, DEFAULT_FINGERPRINT)
    else:
        # Buckets and changes were read before: the answer of then.
        assert await books_under(elsewhere, content, DEFAULT_FINGERPRINT) == {book.id}
    assert [words[0] for words in reading] == ["MGET", "XRANGE", "EVALSHA"]


@on_cluster_too
async def test_the_old_recipe_leaves_no_key_and_can_come_back(
    services: Services, elsewhere: Services, redis: Operator
) -> None:
    content = a_text()
    book = await post(services, content)
    await knows_the_old_recipe(elsewhere)
    with pytest.raises(BookprintError, match="serves; let another"):
        await services.recipes.drop(DEFAULT_FINGERPRINT)
    await change(services)
    assert await keys_of(redis, DEFAULT_FINGERPRINT) == []
    await elsewhere.suites.read()
    with pytest.raises(RecipeNotIndexed, match=f"those of {OTHER} are"):
        await books_under(elsewhere, content, DEFAULT_FINGERPRINT)
    assert await is_clean(services)
    late = await post(elsewhere)
    assert (await change(services, DEFAULT_FINGERPRINT)).computed == 1
    assert await is_clean(services)
    assert (await elsewhere.books.get(late.id)).fingerprint.recipe == DEFAULT_FINGERPRINT
    assert await books_under(elsewhere, content, DEFAULT_FINGERPRINT) == {book.id}


async def test_one_command_at_a_time_and_one_recipe_at_a_time(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.index.recipe_switch._PATIENCE", 0.3)
    async with RecipesLock(services.database) as locked:
        assert locked
        for doing in (change(services), services.recipes.drop(OTHER)):
            with pytest.raises(BookprintError, match="Another"):
                await doing
    with pytest.raises(BookprintError, match="serves already"):
        await change(services, DEFAULT_FINGERPRINT)
    with pytest.raises(BookprintError, match="128 bits"):
        await change(services, "tf-simhash256-v1")
    with pytest.raises(InvalidInput, match="without -folded"):
        await change(services, "tf-simhash128-folded-v1")


async def test_folded_fingerprints_are_indexed_and_computed_with_the_plain_ones(services: Services) -> None:
    thai, plain = content_from_text(text("thai", 900, 3)), a_text()
    book, _ = await post(services, thai), await post(services, plain)
    assert await is_clean(services)
    for recipe in (OTHER, DEFAULT_FINGERPRINT):
        assert (await change(services, recipe)).missing == 0
        stored = (await services.books.get(book.id)).fingerprint
        assert stored == fingerprint(thai, recipe)
        assert stored.recipe == folded_name(recipe)
        assert await books_under(services, thai, recipe) == {book.id}
        assert await is_clean(services)
