"""What the band index and the catalogue owe each other, whatever happens to Redis."""

from typing import Any

import numpy as np
import pytest

from app.core.errors import IndexRebuilding, Unavailable
from app.core.model import Book, Metadata, Submission
from app.core.recipe import DEFAULT_SUITE
from app.services.index.reconcile import Reconciled, Reindex
from app.services.index.verify import verify
from app.services.lookup import Nearest, Question, Verified, Within
from app.stores.postgres.entries import Entries, Settled
from app.stores.postgres.signatures import SignatureColumns
from app.stores.redis.epoch import Life
from app.stores.redis.flat_index_replica import Reading, SharedRoll
from app.stores.redis.nodes import CallEach, Instruction, SingleNode
from app.stores.redis.scripts import ADD_RECORDS
from app.wiring import House
from tests.factories import a_sketch, flipped
from tests.redis_cluster import Operator, on_cluster_too

RNG = np.random.default_rng(23)


async def post(house: House, bits: bytes | None = None, external_id: str | None = None) -> Book:
    submission = Submission(metadata=Metadata(external_id=external_id), sketch=a_sketch(RNG, bits))
    return (await house.ingest.post(submission)).book


async def neighbours(house: House, book: Book, d: int = 7) -> set[object]:
    answer = await house.lookup.near_duplicates(book.id, Within(d), None, 100)
    assert answer.total == len(answer.matches)
    return {match.book.book_id for match in answer.matches}


async def is_clean(house: House) -> bool:
    return (await verify(house.signatures, house.indexes, house.suites, lambda done, total: None)).clean


def let_redis_fail(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until undone, writes to the band index fail as if Redis were gone."""

    async def fail(*_: object) -> None:
        raise Unavailable("Redis is gone.")

    monkeypatch.setattr(type(house.index), "add", fail)
    monkeypatch.setattr(type(house.index), "remove", fail)


@on_cluster_too
async def test_an_acknowledged_book_is_found_at_once(house: House) -> None:
    one = await post(house)
    two = await post(house, flipped(one.fingerprint.bits, 3, 90))
    assert one.indexed
    assert two.indexed
    assert await neighbours(house, one) == {two.id}
    assert await neighbours(house, two) == {one.id}
    assert await neighbours(house, one, d=1) == set()
    assert await is_clean(house)


async def test_a_book_posted_while_redis_fails_is_pending_and_found(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await post(house)
    let_redis_fail(house, monkeypatch)
    two = await post(house, flipped(one.fingerprint.bits, 3))
    assert not two.indexed
    assert await neighbours(house, one) == {two.id}
    assert await neighbours(house, two) == {one.id}
    monkeypatch.undo()
    await house.reindex.index_entry(two.entry_id)
    assert (await house.books.get(two.id)).indexed
    assert await neighbours(house, one) == {two.id}
    assert await is_clean(house)


@on_cluster_too
async def test_nothing_is_settled_where_nothing_was_found_in_an_index_that_was_vouched_for(
    house: House, redis: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await post(house)
    settled, asked = Entries.settled, []

    async def counted(entries: Entries, *arguments: Any) -> Settled:
        asked.append(arguments)
        return await settled(entries, *arguments)

    monkeypatch.setattr(Entries, "settled", counted)
    alone = isinstance(house.indexes.nodes, SingleNode)
    for whole in range(1, 3):
        for lookup in range(1, 4):
            assert await neighbours(house, one) == set()
            # A cluster has no order between the buckets and the stream.
            assert len(asked) == (whole if alone else 3 * (whole - 1) + lookup)
        # The roll is read anew, so nobody has vouched for it.
        await redis.flushdb()
        await house.reindex.reconcile()
    two = await post(house, flipped(one.fingerprint.bits, 3))
    assert await neighbours(house, one) == {two.id}


@pytest.mark.parametrize("question", [Within(7), Nearest(1), Verified()])
@pytest.mark.parametrize("stored", [True, False])
async def test_a_pending_book_that_is_indexed_during_a_lookup_is_found(
    house: House, monkeypatch: pytest.MonkeyPatch, question: Question, stored: bool
) -> None:
    one = await post(house)
    query = await entry_of(house, one)
    with monkeypatch.context() as patch:
        let_redis_fail(house, patch)
        two = await post(house, flipped(one.fingerprint.bits, 3))
    read = SharedRoll.read

    async def late(roll: SharedRoll, *instructions: Instruction) -> Reading:
        told = await read(roll, *instructions)
        await house.reindex.index_entry(two.entry_id)
        return told

    monkeypatch.setattr(SharedRoll, "read", late)
    if stored:
        answer = await house.lookup.near_duplicates(one.id, question, None, 100)
    else:
        answer = await house.lookup.look_up(query, question, None, 100)
    assert [match.book.book_id for match in answer.matches] == [two.id]
    assert (await house.books.get(two.id)).indexed


@on_cluster_too
async def test_a_pending_book_of_which_a_part_is_in_the_index_is_mended(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_redis_fail(house, monkeypatch)
    book = await post(house)
    monkeypatch.undo()
    [brief] = await house.entries.briefs([book.entry_id], DEFAULT_SUITE)
    _, postings = house.index.records([brief.entry])
    # As a rebuilding leaves it that writes whole buckets over some of its records.
    part = CallEach(ADD_RECORDS, postings.keys[:20], postings.data[:20])
    await house.indexes.nodes.run([part])
    await house.reindex.index_entry(book.entry_id)
    assert (await house.books.get(book.id)).indexed
    assert await is_clean(house)


@on_cluster_too
async def test_ghosts_of_deleted_and_replaced_books_are_never_shown_and_are_swept(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await post(house)
    deleted = await post(house, flipped(one.fingerprint.bits, 1))
    replaced = await post(house, flipped(one.fingerprint.bits, 2))
    let_redis_fail(house, monkeypatch)
    await house.ingest.delete(deleted.id, None)
    new = await house.ingest.replace_content(replaced.id, None, a_sketch(RNG), None)
    assert not new.book.indexed
    assert await neighbours(house, one) == set()
    assert await neighbours(house, one, d=64) <= {replaced.id}
    monkeypatch.undo()
    assert not await is_clean(house)
    report = await house.reindex.reconcile()
    assert report is not None
    assert (report.missing, report.stale > 0) == (1, True)
    assert await is_clean(house)


@on_cluster_too
async def test_after_a_flush_lookups_refuse_until_the_index_is_whole_again(
    house: House, redis: Operator
) -> None:
    one = await post(house)
    two = await post(house, flipped(one.fingerprint.bits, 1))
    await redis.flushdb()
    with pytest.raises(IndexRebuilding):
        await neighbours(house, one)
    three = await post(house, flipped(one.fingerprint.bits, 2))
    assert not three.indexed
    await house.reindex.reconcile()
    assert await neighbours(house, one) == {two.id, three.id}
    assert await is_clean(house)


@on_cluster_too
async def test_an_old_snapshot_gets_only_what_it_lacks(house: House, redis: Operator) -> None:
    one = await post(house)
    snapshot = {
        key: await redis.get(key) async for key in redis.scan_iter() if await redis.type(key) == b"string"
    }
    chunks = {
        key: await redis.smembers(key) async for key in redis.scan_iter() if await redis.type(key) == b"set"
    }
    two = await post(house, flipped(one.fingerprint.bits, 1))
    await redis.flushdb()
    for key, value in snapshot.items():
        await redis.set(key, value)
    for key, members in chunks.items():
        await redis.sadd(key, *members)
    keys = await house.index.nodes.epoch_keys()
    for key, serves in keys:
        await redis.set(key, f"{'f' * 40}:{serves}:of-another-life")
    # The nodes of a cluster may come back with data of different age, so there the index is built anew.
    assert await house.index.epoch.life() is (Life.RESTARTED if len(keys) == 1 else Life.LOST)
    report = await house.reindex.reconcile()
    assert report is not None
    assert (report.entries, report.missing, report.stale) == (2, 1 if len(keys) == 1 else 2, 0)
    assert await neighbours(house, one) == {two.id}
    assert await is_clean(house)


async def test_a_torn_write_before_a_flush_is_repaired_although_the_roll_has_it(
    house: House, redis: Operator
) -> None:
    one = await post(house)
    two = await post(house, flipped(one.fingerprint.bits, 1))
    await redis.flushdb()
    await house.index.nodes.run(*house.index.roll.adding([await entry_of(house, two)]))
    await house.reindex.reconcile()
    assert await neighbours(house, one) == {two.id}
    assert await is_clean(house)


async def entry_of(house: House, book: Book):
    [brief] = await house.entries.briefs([book.entry_id], DEFAULT_SUITE)
    return brief.entry


async def test_a_late_write_of_a_superseded_version_is_no_ghost(house: House) -> None:
    one = await post(house)
    two = await post(house, flipped(one.fingerprint.bits, 1))
    late = await entry_of(house, two)
    await house.ingest.replace_content(two.id, None, a_sketch(RNG), None)
    await house.index.add([late])
    assert await neighbours(house, one) == set()
    await house.reindex.reconcile()
    assert await is_clean(house)


@on_cluster_too
async def test_a_book_deleted_while_the_index_is_reconciled_causes_no_sweep(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving, _ = await post(house), await post(house)
    read = SignatureColumns.entry_ids

    async def after_a_deletion(columns: SignatureColumns) -> object:
        monkeypatch.undo()
        await house.ingest.delete(leaving.id, None)
        monkeypatch.setattr(Reindex, "mend_records", None)
        return await read(columns)

    monkeypatch.setattr(SignatureColumns, "entry_ids", after_a_deletion)
    assert await house.reindex.reconcile() == Reconciled(entries=1, missing=0, stale=0)
    assert await is_clean(house)


async def test_reindex_mends_what_was_tampered_with(house: House, redis: Operator) -> None:
    books = [await post(house) for _ in range(5)]
    bands, postings = house.index.records([await entry_of(house, books[0])])
    await redis.delete(bands.keys[0])
    await redis.append(bands.keys[1], b"half a record")
    await redis.append(postings.keys[20], postings.data[20])
    assert not await is_clean(house)
    seen: list[tuple[int, int]] = []
    await house.reindex.reindex(lambda done, total: seen.append((done, total)))
    assert seen[-1] == (5, 5)
    assert await is_clean(house)


async def test_the_k_nearest_are_exact_with_pending_and_stale_books_among_them(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.lookup._SPARE", 2)
    one = await post(house)
    near = [await post(house, flipped(one.fingerprint.bits, *range(n))) for n in range(1, 13)]
    let_redis_fail(house, monkeypatch)
    far = await post(house, flipped(one.fingerprint.bits, *range(40)))
    close = await post(house, flipped(one.fingerprint.bits, 50, 60))
    for gone in near[2:7]:
        await house.ingest.delete(gone.id, None)
    expected = [near[0], near[1], close, *near[7:], far]
    for k in (1, 2, 3, 4, 8, 9, 30):
        answer = await house.lookup.near_duplicates(one.id, Nearest(k), None, 100)
        assert [match.book.book_id for match in answer.matches] == [book.id for book in expected[:k]]
        assert answer.total == len(expected[:k])


async def test_too_many_pending_books_make_lookups_refuse(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await post(house)
    let_redis_fail(house, monkeypatch)
    monkeypatch.setattr("app.stores.postgres.entries.PENDING_LIMIT", 2)
    for _ in range(3):
        await post(house)
    with pytest.raises(Unavailable, match="wait to be indexed"):
        await neighbours(house, one)


@on_cluster_too
async def test_health_names_what_is_wrong(house: House, redis: Operator) -> None:
    assert {name: part.ok for name, part in (await house.health.check()).items()} == {
        "postgres": True,
        "redis": True,
        "jobs": True,
    }
    await redis.flushdb()
    health = await house.health.check()
    assert not health["redis"].ok
    assert "rebuilt" in health["redis"].detail


async def test_verified_near_duplicates_need_no_fingerprint(house: House) -> None:
    sketch = a_sketch(RNG)
    one = (await house.ingest.post(Submission(sketch=sketch))).book
    other = a_sketch(RNG)
    other.minhash.values[:100] = sketch.minhash.values[:100]
    two = (await house.ingest.post(Submission(sketch=other))).book
    await post(house)
    answer = await house.lookup.near_duplicates(one.id, Verified(), None, 10)
    assert [match.book.book_id for match in answer.matches] == [two.id]
    assert answer.matches[0].evidence.equal_values == 100
