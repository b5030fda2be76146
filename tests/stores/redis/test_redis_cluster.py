"""The band index on a Redis cluster: commands go where the keys are, and what changes there is noticed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import uuid4

import numpy as np
import pytest
from redis.crc import key_slot

from app.services.index.questions import Verified, Within, find
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import RedisClient, open_client
from app.stores.redis.epoch import IndexState
from bookprint_core.errors import IndexRebuilding, Unavailable
from bookprint_core.model import Entry
from tests.factories import BANDS, an_entry
from tests.redis_cluster import Cluster
from tests.waiting import eventually

KEYS = [f"bp:{{a:{number}}}:{number}" for number in range(200)]


@pytest.fixture(autouse=True)
def index_url(cluster_url: str) -> str:
    return cluster_url


@pytest.fixture
async def two(frail: Cluster) -> AsyncIterator[tuple[BandIndex, BandIndex]]:
    """A whole band index on the frail cluster, as two processes see it."""
    async with open_client(frail.url) as first, open_client(frail.url) as second:
        index = BandIndex(first, BANDS)
        await build(index, [])
        yield index, BandIndex(second, BANDS)


async def build(index: BandIndex, entries: list[Entry]) -> None:
    token = uuid4().hex
    await index.epochs.begin(token)
    await index.delete_all()
    await index.insert(entries, missing=True, guarded=False)
    assert await index.epochs.finish(token)


def some_entries(count: int) -> list[Entry]:
    rng = np.random.default_rng(count)
    return [an_entry(rng, entry_id) for entry_id in range(1, count + 1)]


async def entry_ids_near(index: BandIndex, entry: Entry) -> list[int]:
    return sorted((await find(index, entry, Within(128), 0)).hits.entry_ids.tolist())


async def near_duplicates(index: BandIndex, entry: Entry) -> list[int]:
    return (await find(index, entry, Verified(), 0)).hits.entry_ids.tolist()


async def test_every_node_has_epochs_of_its_own(index: BandIndex, cluster: Cluster) -> None:
    assert len((await index.epochs.read()).marks) > 3
    for master in cluster.masters:
        assert any(master.client.scan_iter(match="*epoch"))


async def test_connections_that_close_under_many_commands_are_replaced_or_told(
    redis_client: RedisClient, cluster: Cluster
) -> None:
    strings = {key: key.encode() for key in KEYS[:30]}
    await redis_client.write(strings)
    over = asyncio.Event()

    async def keep_reading() -> None:
        while not over.is_set():
            with suppress(Unavailable):
                assert await redis_client.read([*strings]) == [*strings.values()]

    async with asyncio.TaskGroup() as readers:
        for _ in range(20):
            readers.create_task(keep_reading())
        for _ in range(10):
            await asyncio.sleep(0.05)
            for master in cluster.masters:
                master.client.client_kill_filter(_type="normal", skipme=True)
        over.set()
    assert await redis_client.read([*strings]) == [*strings.values()]


async def test_a_run_that_is_given_up_leaves_no_answers_behind(redis_client: RedisClient) -> None:
    await redis_client.write({key: key.encode() for key in KEYS})
    for _ in range(20):
        task = asyncio.create_task(redis_client.read(KEYS))
        await asyncio.sleep(0.001)
        task.cancel()
        assert await redis_client.read(KEYS[::-1]) == [key.encode() for key in KEYS[::-1]]


async def test_a_key_on_its_way_to_another_node_is_not_taken_for_missing(
    redis_client: RedisClient, cluster: Cluster
) -> None:
    await redis_client.ping()
    giver, taker, _ = cluster.masters
    key = next(key for key in KEYS if key_slot(key.encode()) < 5000)
    slot = key_slot(key.encode())
    taker.call("SETSLOT", slot, "IMPORTING", giver.name)
    giver.call("SETSLOT", slot, "MIGRATING", taker.name)
    try:
        with pytest.raises(Unavailable, match="changing"):
            await redis_client.read([key])
    finally:
        for master in (giver, taker):
            master.call("SETSLOT", slot, "STABLE")
    assert await redis_client.read([key]) == [None]


async def test_nothing_is_answered_from_a_flushed_node(index: BandIndex, cluster: Cluster) -> None:
    entries = some_entries(8)
    await index.insert(entries)
    for master in cluster.masters:
        assert await entry_ids_near(index, entries[0]) == list(range(1, 9))
        master.client.flushall()
        assert await index.epochs.state() is IndexState.LOST
        with pytest.raises(IndexRebuilding):
            await near_duplicates(index, entries[0])
        with pytest.raises(IndexRebuilding):
            await index.insert(entries)
        # The flat index lies on one node, and answers where that has lived on.
        with suppress(IndexRebuilding):
            assert await entry_ids_near(index, entries[0]) == list(range(1, 9))
        await build(index, entries)


@pytest.mark.slow
async def test_a_killed_node_is_named_and_the_index_rebuilt_when_it_is_back(
    two: tuple[BandIndex, BandIndex], frail: Cluster
) -> None:
    index, other = two
    entries = some_entries(8)
    await index.insert(entries)
    assert await entry_ids_near(other, entries[0]) == list(range(1, 9))
    victim = frail.owner(key_slot(index.flat_index.segments_key.encode()))
    victim.kill()
    for attempt in (entry_ids_near(index, entries[0]), index.insert(entries), other.epochs.state()):
        with pytest.raises(Unavailable, match="Redis"):
            await attempt
    victim.start()
    frail.wait_until_well()
    with pytest.raises(IndexRebuilding):
        await near_duplicates(index, entries[0])
    await build(index, entries)
    assert await entry_ids_near(other, entries[0]) == list(range(1, 9))


@pytest.mark.slow
async def test_a_replica_that_takes_over_is_not_trusted_before_the_index_is_rebuilt(
    two: tuple[BandIndex, BandIndex], frail: Cluster
) -> None:
    index, other = two
    entries = some_entries(8)
    victim = frail.masters[0]
    with frail.replica(victim) as replica:
        await index.insert(entries)
        assert await entry_ids_near(other, entries[0]) == list(range(1, 9))
        victim.kill()
        assert eventually(lambda: replica.client.info("replication")["role"] == "master")
        assert eventually(
            lambda: all(":ok" in master.call("INFO") for master in (replica, *frail.masters[1:]))
        )
        for process in two:
            with pytest.raises(IndexRebuilding):
                await near_duplicates(process, entries[0])
        await build(index, entries)
        for process in two:
            assert await entry_ids_near(process, entries[0]) == list(range(1, 9))


@pytest.mark.slow
async def test_slots_that_another_node_took_over_without_their_keys_are_noticed(
    two: tuple[BandIndex, BandIndex], frail: Cluster
) -> None:
    index, other = two
    entries = some_entries(8)
    await index.insert(entries)
    assert await entry_ids_near(other, entries[0]) == list(range(1, 9))
    frail.hand_over(range(1500), frail.masters[0], frail.masters[2])
    assert eventually(lambda: all("1500-5460" in master.call("NODES") for master in frail.masters))
    # Each of these lookups meets a key that has moved.
    for entry in entries:
        with pytest.raises(IndexRebuilding):
            await near_duplicates(index, entry)
    assert await index.epochs.state() is IndexState.LOST
    await index.epochs.begin("another token")
    with pytest.raises(IndexRebuilding):
        await near_duplicates(other, entries[0])
    await build(index, entries)
    for entry in entries:
        assert await near_duplicates(index, entry) == [entry.entry_id]
        assert await near_duplicates(other, entry) == [entry.entry_id]
    assert await entry_ids_near(other, entries[0]) == list(range(1, 9))


async def test_any_node_that_is_named_and_answers_will_do(cluster: Cluster) -> None:
    url = f"redis+cluster://127.0.0.1:1,localhost:{cluster.masters[2].port}/0?client_name=bookprint"
    async with open_client(url) as client:
        await client.ping()
        assert len(await client.by_node(KEYS)) == 3
    async with open_client("redis+cluster://127.0.0.1:1,127.0.0.1:2") as client:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await client.ping()


async def test_a_wrong_password_is_distinguished_from_a_silent_node(cluster: Cluster) -> None:
    async with open_client(cluster.url.replace("//", "//me:wrong@")) as client:
        with pytest.raises(Unavailable, match="invalid username-password"):
            await client.read(KEYS)


async def test_the_password_is_given_to_every_node(cluster: Cluster) -> None:
    for master in cluster.masters:
        master.client.config_set("requirepass", "p@ss")
    try:
        async with open_client(cluster.url.replace("//", "//:p%40ss@")) as client:
            assert await client.read(KEYS) == [None] * len(KEYS)
        async with open_client(cluster.url) as client:
            with pytest.raises(Unavailable, match="Authentication required"):
                await client.read(KEYS)
    finally:
        for master in cluster.masters:
            master.client.config_set("requirepass", "")


async def test_a_server_that_is_no_cluster_is_an_error(redis_url: str) -> None:
    if not redis_url.startswith("redis://"):
        pytest.skip("the server listens on no port")
    async with open_client(redis_url.replace("redis://", "redis+cluster://")) as client:
        with pytest.raises(Unavailable, match="Cluster mode is not enabled"):
            await client.read(KEYS)


async def test_a_node_that_is_taken_for_a_server_by_itself_is_an_error(cluster: Cluster) -> None:
    for master in cluster.masters:
        async with open_client(f"redis://127.0.0.1:{master.port}") as client:
            with pytest.raises(Unavailable, match=r"redis\+cluster://"):
                await client.read(KEYS)
