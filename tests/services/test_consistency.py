"""The band index agrees with the catalogue after every fault of Redis."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from redis.asyncio import Redis

from app.services.index.questions import Nearest, Question, Verified, Within
from app.services.index.upkeep import Changed
from app.settings import Settings
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.signatures import SignatureQueries
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import open_client
from app.stores.redis.epoch import IndexState, size_of
from app.stores.redis.flat_index_replica import FlatIndexReplica, Reading
from bookprint_core.errors import BookprintError, IndexRebuilding, Unavailable
from bookprint_core.model import Book, Submission
from tests.factories import ACTOR, a_sketch, flipped
from tests.index_buckets import let_redis_fail, placed
from tests.open_services import OpenServices, open_on
from tests.redis_cluster import Operator, on_cluster_too

RNG = np.random.default_rng(23)


@pytest.fixture(params=["one process", "two processes"])
async def services(
    services: OpenServices, request: pytest.FixtureRequest, module_database_url: str, index_url: str
) -> AsyncIterator[OpenServices]:
    """Services whose lookups are answered by the process that writes, or by another."""
    if request.param == "one process":
        yield services
        return
    settings = Settings(database_url=module_database_url, redis_url=index_url)
    async with open_on(services.database, settings) as elsewhere:
        yield replace(services, lookup=elsewhere.lookup)


async def post(services: OpenServices, bits: bytes | None = None) -> Book:
    return (await services.ingest.post(Submission(sketch=a_sketch(RNG, bits)), actor=ACTOR)).book


async def neighbours(services: OpenServices, book: Book, d: int = 7) -> set[object]:
    answer = await services.lookup.near_duplicates(book.id, Within(d), None, 100)
    assert answer.total == len(answer.matches)
    return {match.book.book_id for match in answer.matches}


@on_cluster_too
async def test_an_acknowledged_book_is_found_at_once(services: OpenServices) -> None:
    first = await post(services)
    second = await post(services, flipped(first.fingerprint.bits, 3, 90))
    assert first.indexed
    assert second.indexed
    assert await neighbours(services, first) == {second.id}
    assert await neighbours(services, second) == {first.id}
    assert await neighbours(services, first, d=1) == set()
    assert await services.is_clean()


async def test_a_book_posted_while_redis_fails_is_pending_and_found(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await post(services)
    let_redis_fail(monkeypatch)
    second = await post(services, flipped(first.fingerprint.bits, 3))
    assert not second.indexed
    assert await neighbours(services, first) == {second.id}
    assert await neighbours(services, second) == {first.id}
    monkeypatch.undo()
    await services.upkeep.index_entry(second.entry_id)
    assert (await services.books.get(second.id)).indexed
    assert await neighbours(services, first) == {second.id}
    assert await services.is_clean()


@on_cluster_too
async def test_the_catalogue_is_not_asked_about_hits_where_there_are_none(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await post(services)
    with monkeypatch.context() as patch:
        patch.setattr(EntryStore, "read_hits", None)
        assert await neighbours(services, first) == set()
    second = await post(services, flipped(first.fingerprint.bits, 3))
    assert await neighbours(services, first) == {second.id}


@pytest.mark.parametrize("question", [Within(7), Nearest(1), Verified()])
@pytest.mark.parametrize("stored", [True, False])
async def test_a_pending_book_that_is_indexed_during_a_lookup_is_found(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch, question: Question, stored: bool
) -> None:
    first = await post(services)
    query = await entry_of(services, first)
    with monkeypatch.context() as patch:
        let_redis_fail(patch)
        second = await post(services, flipped(first.fingerprint.bits, 3))
    read = FlatIndexReplica.read

    async def late(replica: FlatIndexReplica, *asked: Sequence[str]) -> Reading:
        reading = await read(replica, *asked)
        await services.upkeep.index_entry(second.entry_id)
        return reading

    monkeypatch.setattr(FlatIndexReplica, "read", late)
    if stored:
        answer = await services.lookup.near_duplicates(first.id, question, None, 100)
    else:
        answer = await services.lookup.look_up(query, question, None, 100)
    assert [match.book.book_id for match in answer.matches] == [second.id]
    assert (await services.books.get(second.id)).indexed


@on_cluster_too
async def test_a_pending_book_of_which_a_part_is_in_the_index_is_mended(
    services: OpenServices, index_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_redis_fail(monkeypatch)
    book = await post(services)
    monkeypatch.undo()
    [summary] = await services.entries.read_summaries([book.entry_id])
    _, [postings] = services.index.records([summary.entry])
    # As a rebuilding leaves it that writes whole buckets over some of its records.
    async with open_client(index_url) as client:
        for key, record in (await placed(services.index, postings))[:20]:
            await client.write({key: record})
    await services.upkeep.index_entry(book.entry_id)
    assert (await services.books.get(book.id)).indexed
    assert await services.is_clean()


@on_cluster_too
async def test_ghosts_of_deleted_and_replaced_books_are_never_shown_and_are_swept(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = await post(services)
    deleted = await post(services, flipped(kept.fingerprint.bits, 1))
    replaced = await post(services, flipped(kept.fingerprint.bits, 2))
    let_redis_fail(monkeypatch)
    await services.ingest.delete(deleted.id, None, actor=ACTOR)
    new = await services.ingest.replace_content(replaced.id, None, a_sketch(RNG), None, actor=ACTOR)
    assert not new.book.indexed
    assert await neighbours(services, kept) == set()
    assert await neighbours(services, kept, d=64) <= {replaced.id}
    monkeypatch.undo()
    assert not await services.is_clean()
    report = await services.upkeep.catch_up()
    assert report is not None
    assert (report.added, report.removed) == (1, 2)
    assert await services.is_clean()


@on_cluster_too
async def test_after_a_flush_lookups_refuse_until_the_index_is_whole_again(
    services: OpenServices, redis: Operator
) -> None:
    first = await post(services)
    second = await post(services, flipped(first.fingerprint.bits, 1))
    await redis.flushdb()
    with pytest.raises(IndexRebuilding):
        await neighbours(services, first)
    third = await post(services, flipped(first.fingerprint.bits, 2))
    assert not third.indexed
    await services.upkeep.catch_up()
    assert await neighbours(services, first) == {second.id, third.id}
    assert await services.is_clean()


@on_cluster_too
async def test_an_old_snapshot_gets_only_what_it_lacks(services: OpenServices, redis: Operator) -> None:
    first = await post(services)
    snapshot = {
        key: await redis.get(key) async for key in redis.scan_iter() if await redis.type(key) == b"string"
    }
    chunks = {
        key: await redis.smembers(key) async for key in redis.scan_iter() if await redis.type(key) == b"set"
    }
    second = await post(services, flipped(first.fingerprint.bits, 1))
    await redis.flushdb()
    for key, value in snapshot.items():
        await redis.set(key, value)
    for key, members in chunks.items():
        await redis.sadd(key, *members)
    for key in snapshot:
        if key.endswith(b"epoch"):
            await redis.set(key, f"{'f' * 40}:of-another-life {size_of(snapshot[key])}")
    # The nodes of a cluster may come back with data of different age, so there the index is built from
    # nothing.
    alone = isinstance(redis, Redis)
    assert await services.upkeep.state() is (IndexState.RESTARTED if alone else IndexState.LOST)
    report = await services.upkeep.catch_up()
    assert report is not None
    assert (report.entries, report.added, report.removed) == (2, 1 if alone else 2, 0)
    assert await neighbours(services, first) == {second.id}
    assert await services.is_clean()


async def test_a_torn_write_before_a_flush_is_repaired_although_the_flat_index_has_it(
    services: OpenServices, redis: Operator
) -> None:
    first = await post(services)
    second = await post(services, flipped(first.fingerprint.bits, 1))
    await redis.flushdb()
    await services.index.flat_index.insert([await entry_of(services, second)])
    await services.upkeep.catch_up()
    assert await neighbours(services, first) == {second.id}
    assert await services.is_clean()


async def entry_of(services: OpenServices, book: Book):
    [summary] = await services.entries.read_summaries([book.entry_id])
    return summary.entry


async def test_a_late_write_of_a_superseded_version_is_no_ghost(services: OpenServices) -> None:
    first = await post(services)
    second = await post(services, flipped(first.fingerprint.bits, 1))
    late = await entry_of(services, second)
    await services.ingest.replace_content(second.id, None, a_sketch(RNG), None, actor=ACTOR)
    await services.index.insert([late])
    assert await neighbours(services, first) == set()
    await services.upkeep.catch_up()
    assert await services.is_clean()


@on_cluster_too
async def test_a_book_deleted_while_the_index_catches_up_has_it_not_read_as_a_whole(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving, _ = await post(services), await post(services)
    read = SignatureQueries.read_entry_ids

    async def after_a_deletion(columns: SignatureQueries) -> object:
        monkeypatch.undo()
        await services.ingest.delete(leaving.id, None, actor=ACTOR)
        monkeypatch.setattr(BandIndex, "buckets", None)
        return await read(columns)

    monkeypatch.setattr(SignatureQueries, "read_entry_ids", after_a_deletion)
    assert await services.upkeep.catch_up() == Changed(entries=1, added=0, removed=0)
    monkeypatch.undo()
    assert await services.is_clean()


async def test_rebuilding_replaces_what_was_tampered_with(services: OpenServices, redis: Operator) -> None:
    books = [await post(services) for _ in range(5)]
    bands, [postings] = services.index.records([await entry_of(services, books[0])])
    [(lost, _), (broken, _), *_] = await placed(services.index, bands)
    [(doubled, record), *_] = await placed(services.index, postings)
    await redis.delete(lost)
    await redis.append(broken, b"half a record")
    await redis.append(doubled, record)
    assert not await services.is_clean()
    seen: list[tuple[int, int]] = []
    await services.upkeep.rebuild(lambda done, total: seen.append((done, total)))
    assert seen[-1] == (5, 5)
    assert await services.is_clean()


async def test_the_k_nearest_are_exact_with_pending_and_stale_books_among_them(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.lookups._SPARE", 2)
    query = await post(services)
    near = [await post(services, flipped(query.fingerprint.bits, *range(n))) for n in range(1, 13)]
    let_redis_fail(monkeypatch)
    far = await post(services, flipped(query.fingerprint.bits, *range(40)))
    close = await post(services, flipped(query.fingerprint.bits, 50, 60))
    for gone in near[2:7]:
        await services.ingest.delete(gone.id, None, actor=ACTOR)
    expected = [near[0], near[1], close, *near[7:], far]
    for k in (1, 2, 3, 4, 8, 9, 30):
        answer = await services.lookup.near_duplicates(query.id, Nearest(k), None, 100)
        assert [match.book.book_id for match in answer.matches] == [book.id for book in expected[:k]]
        assert answer.total == len(expected[:k])


async def test_too_many_pending_books_make_lookups_refuse(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await post(services)
    let_redis_fail(monkeypatch)
    monkeypatch.setattr("app.stores.postgres.entries.PENDING_LIMIT", 2)
    for _ in range(3):
        await post(services)
    with pytest.raises(Unavailable, match="wait to be indexed"):
        await neighbours(services, first)


async def test_a_redis_that_may_drop_books_is_not_well_and_its_index_cannot_be_proved(
    services: OpenServices, redis: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.health._SECONDS", 60.0)  # for a busy machine
    await redis.config_set("maxmemory-policy", "volatile-lru")
    try:
        health = await services.health.check()
        with pytest.raises(BookprintError, match="volatile-lru") as refused:
            await services.upkeep.verify(lambda done, total: None)
    finally:
        await redis.config_set("maxmemory-policy", "noeviction")
    assert (health["redis"].ok, health["redis"].detail) == (False, str(refused.value))
    await asyncio.sleep(0.3)  # an answer stands for 0.2 seconds
    assert (await services.health.check())["redis"].ok
