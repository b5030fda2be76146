"""The band index against brute force, and its behaviour when Redis loses its memory."""

import numpy as np
import pytest
from redis.asyncio import Redis

from app.core.errors import IndexRebuilding, RecipeMismatch, Unavailable
from app.core.model import Entry, Fingerprint
from app.stores.band_index import BandIndex, Life
from tests.making import an_entry, flipped

DISTANCES = (0, 1, 3, 7, 8, 10, 15, 16, 20, 23, 24, 28, 40, 64, 128)


def family(rng: np.random.Generator, size: int) -> list[Entry]:
    """Entries of which every tenth is random and the others lie up to 60 bits from the one before."""
    entries = []
    for entry_id in range(1, size + 1):
        bits = None
        if entries and entry_id % 10:
            flips = rng.choice(128, int(rng.integers(0, 60)), replace=False)
            bits = flipped(entries[-1].fingerprint.bits, *flips.tolist())
        entries.append(an_entry(rng, entry_id, bits))
    return entries


def brute_force(entries: list[Entry], bits: bytes, d: int) -> list[tuple[int, int]]:
    query = int.from_bytes(bits, "big")
    distances = {
        entry.entry_id: (int.from_bytes(entry.fingerprint.bits, "big") ^ query).bit_count()
        for entry in entries
    }
    return sorted((distance, entry_id) for entry_id, distance in distances.items() if distance <= d)


@pytest.mark.parametrize("size", [30, 1500])
async def test_every_distance_is_answered_like_brute_force(index: BandIndex, size: int) -> None:
    rng = np.random.default_rng(size)
    entries = family(rng, size)
    for start in range(0, size, 100):
        await index.add(entries[start : start + 100])
    queries = [entry.fingerprint for entry in entries[:: size // 6]]
    for d in DISTANCES:
        for query, hits in zip(queries, await index.within(queries, d), strict=True):
            found = list(zip(hits.distances.tolist(), hits.entry_ids.tolist(), strict=True))
            assert found == brute_force(entries, query.bits, d)


async def test_probing_alone_is_exact_up_to_23(index: BandIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.stores.band_index._GETS_PER_CHUNK", 10**6)
    rng = np.random.default_rng(5)
    entries = family(rng, 300)
    await index.add(entries)
    for d in (8, 15, 16, 23):
        for query in entries[::60]:
            [hits] = await index.within([query.fingerprint], d)
            assert hits.entry_ids.tolist() == [
                entry_id for _, entry_id in brute_force(entries, query.fingerprint.bits, d)
            ]


async def test_adding_twice_is_adding_once(index: BandIndex, redis: Redis) -> None:
    entry = an_entry(np.random.default_rng(1), 7)
    await index.add([entry])
    before = {bucket.key: len(bucket.records) async for bucket in index.scan()}
    await index.add([entry, entry])
    assert {bucket.key: len(bucket.records) async for bucket in index.scan()} == before
    assert await index.holds(index.records(entry)) == [True] * len(index.records(entry))


async def test_a_record_that_only_appears_across_two_others_is_still_added(index: BandIndex) -> None:
    bits = bytes(16)
    straddled = [
        Entry(entry_id, Fingerprint("gap-simhash128-v1", bits), None) for entry_id in (0, 1 << 56, 256)
    ]
    for entry in straddled:
        await index.add([entry])
    [hits] = await index.within([straddled[0].fingerprint], 0)
    assert sorted(hits.entry_ids.tolist()) == sorted(entry.entry_id for entry in straddled)


async def test_removing_leaves_nothing_of_an_entry_and_everything_of_the_others(
    index: BandIndex, redis: Redis
) -> None:
    rng = np.random.default_rng(2)
    gone = an_entry(rng, 1)
    stays = an_entry(rng, 2, gone.fingerprint.bits)
    await index.add([gone, stays])
    await index.remove([gone])
    await index.remove([gone])
    assert not any(await index.holds(index.records(gone)))
    assert all(await index.holds(index.records(stays)))
    await index.remove([stays])
    assert [bucket async for bucket in index.scan()] == []


async def test_equal_minhash_values_are_counted_by_position(index: BandIndex) -> None:
    rng = np.random.default_rng(3)
    one, two, three = (an_entry(rng, entry_id) for entry_id in (1, 2, 3))
    two.minhash.values[10:25] = one.minhash.values[10:25]
    three.minhash.values[40:42] = one.minhash.values[50:52]
    await index.add([one, two, three])
    assert await index.sharing(one.minhash, 3) == {1: 128, 2: 15}
    assert await index.sharing(one.minhash, 16) == {1: 128}


async def test_a_flush_is_noticed_and_nothing_is_answered_from_it(index: BandIndex, redis: Redis) -> None:
    entry = an_entry(np.random.default_rng(4), 1)
    await index.add([entry])
    await redis.flushdb()
    assert await index.life() is Life.LOST
    for d in (7, 15, 64):
        with pytest.raises(IndexRebuilding):
            await index.within([entry.fingerprint], d)
    with pytest.raises(IndexRebuilding):
        await index.add([entry])


async def test_an_epoch_of_another_server_life_does_not_count(index: BandIndex, redis: Redis) -> None:
    await redis.set("bp:epoch", "0" * 40 + ":older")
    assert await index.life() is Life.RESTARTED
    with pytest.raises(IndexRebuilding):
        await index.sharing(an_entry(np.random.default_rng(0), 1).minhash, 3)


async def test_a_flush_during_reconciliation_keeps_the_index_out_of_service(
    index: BandIndex, redis: Redis
) -> None:
    await index.begin_epoch("a")
    assert await index.life() is Life.LOST
    await redis.flushdb()
    assert not await index.finish_epoch("a")
    assert await index.life() is Life.LOST


async def test_a_server_that_has_lost_the_scripts_is_taught_them_again(
    index: BandIndex, redis: Redis
) -> None:
    await redis.script_flush()
    entry = an_entry(np.random.default_rng(6), 1)
    await index.add([entry])
    [hits] = await index.within([entry.fingerprint], 0)
    assert hits.entry_ids.tolist() == [1]


async def test_fingerprints_of_another_recipe_are_refused(index: BandIndex) -> None:
    with pytest.raises(RecipeMismatch):
        await index.within([Fingerprint("tf-simhash128-v1", bytes(16))], 3)


async def test_a_server_that_is_out_of_memory_is_unavailable(index: BandIndex, redis: Redis) -> None:
    await redis.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable, match="refuses"):
            await index.add([an_entry(np.random.default_rng(8), 1)])
    finally:
        await redis.config_set("maxmemory", "0")


async def test_a_server_that_does_not_answer_is_unavailable() -> None:
    index = BandIndex(Redis(unix_socket_path="/nonexistent/valkey.sock"))
    with pytest.raises(Unavailable):
        await index.life()
