"""The nodes of a Redis cluster: commands go where the keys are, and what changes there is noticed."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from uuid import uuid4

import numpy as np
import pytest
from redis.asyncio import SSLConnection, UnixDomainSocketConnection
from redis.crc import key_slot

from app.core.errors import IndexRebuilding, Unavailable
from app.core.index.packing import PackedBuckets
from app.core.model import Entry
from app.stores.redis.band_index import BandIndex
from app.stores.redis.connecting import cluster_of, open_nodes
from app.stores.redis.epoch import IndexState
from app.stores.redis.node import Node
from app.stores.redis.nodes import CallEach, Command, Nodes, ReadAll, WriteBuckets
from app.stores.redis.redis_cluster import ClusterNodes
from app.stores.redis.scripts import ADD_RECORDS
from app.stores.redis.topology import EPOCH_KEYS, Address, Topology
from tests.factories import an_entry
from tests.redis_cluster import SLOTS, Cluster, running_cluster, wait_for

HERE = Address("127.0.0.1", 7000)
KEYS = [f"key {number}" for number in range(200)]


@pytest.fixture(scope="module")
def index_url(cluster: Cluster) -> str:
    return cluster.url


@pytest.fixture(autouse=True)
def _empty(cluster: Cluster) -> None:
    cluster.flush()


@pytest.fixture
def frail() -> Iterator[Cluster]:
    """A cluster to be broken by one test."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
async def two(frail: Cluster) -> AsyncIterator[tuple[BandIndex, BandIndex]]:
    """A whole band index on the frail cluster, as two processes see it."""
    async with open_nodes(frail.url) as one, open_nodes(frail.url) as other:
        index = BandIndex(one)
        await build(index, [])
        yield index, BandIndex(other)


async def build(index: BandIndex, entries: list[Entry]) -> None:
    token = uuid4().hex
    await index.epoch.begin(token)
    await index.clear([index.suite.minhash, index.suite.sample])
    await index.restore(entries)
    assert await index.epoch.finish(token)


def some_entries(count: int) -> list[Entry]:
    rng = np.random.default_rng(count)
    return [an_entry(rng, entry_id) for entry_id in range(1, count + 1)]


def buckets(values: Sequence[bytes]) -> PackedBuckets:
    """Buckets 0, 1, … that hold these."""
    bounds = np.cumsum([0, *map(len, values)])
    return PackedBuckets(np.arange(len(values)), bounds, np.frombuffer(b"".join(values), dtype=np.uint8))


async def found(index: BandIndex, entry: Entry) -> list[int]:
    return sorted((await index.within(entry.fingerprint, 128)).hits.entry_ids.tolist())


async def test_answers_come_back_in_order(nodes: Nodes) -> None:
    values = [key.encode() for key in KEYS]
    answers = await nodes.run(
        [WriteBuckets("key ", buckets(values), 0, len(KEYS) - 1, 100)],
        [Command("STRLEN", KEYS[0]), ReadAll(KEYS), ReadAll([]), Command("GET", KEYS[7])],
    )
    assert answers[1:] == [len(KEYS[0]), [*values[:-1], None], [], values[7]]


async def test_whole_buckets_are_cut_at_what_they_may_hold(nodes: Nodes, redis_url: str) -> None:
    values = [b"", b"a" * 5, b"\r\n$" * 400, b"bc"]
    async with open_nodes(redis_url) as single:
        for some in (nodes, single):
            await some.run([WriteBuckets("whole:", buckets(values), 1, 4, 1000)])
            keys = [f"whole:{number}" for number in range(4)]
            assert await some.run([ReadAll(keys)]) == [[None, *(value[:1000] for value in values[1:])]]


async def test_answers_have_the_same_form_as_those_of_a_single_server(nodes: Nodes, redis_url: str) -> None:
    phases = (
        [Command("SADD", "set", ("a", "b")), Command("XADD", "stream", ("1-1", "field", "value"))],
        [
            Command("SMEMBERS", "set"),
            Command("XRANGE", "stream", ("-", "+")),
            Command("XREVRANGE", "stream", ("+", "-", "COUNT", 1)),
            Command("SMEMBERS", "no set"),
        ],
    )
    async with open_nodes(redis_url) as single:
        assert (await nodes.run(*phases))[2:] == (await single.run(*phases))[2:]


async def test_each_phase_is_one_round_trip_to_each_node(
    nodes: Nodes, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await nodes.ping()
    trips: list[int] = []
    execute = Node.execute

    async def counted(node: Node, commands: list[tuple[str, ...]], seconds: float) -> list[object]:
        trips.append(int(node.name.rpartition(":")[2]))
        return await execute(node, commands, seconds)

    monkeypatch.setattr(Node, "execute", counted)
    await nodes.run([ReadAll(KEYS)], [ReadAll(KEYS), ReadAll(KEYS)])
    ports = sorted(master.port for master in cluster.masters)
    assert sorted(trips[:3]) == ports
    assert sorted(trips[3:]) == ports


async def test_many_arguments_for_one_key_travel_in_one_command(nodes: Nodes) -> None:
    keys, records = ["one", "other", "one", "one"], [b"aa", b"bb", b"cc", b"aa"]
    await nodes.run([CallEach(ADD_RECORDS, keys, records)])
    assert await nodes.run([ReadAll(["one", "other"])]) == [[b"aacc", b"bb"]]


async def test_names_of_all_nodes_are_told(nodes: Nodes) -> None:
    await nodes.run([Command("SET", key, (b"x",)) for key in [*KEYS, "another"]])
    assert sorted([name async for names in nodes.names("key ") for name in names]) == sorted(KEYS)


async def test_every_node_has_an_epoch_of_its_own(index: BandIndex, cluster: Cluster) -> None:
    keys = [key for key, _ in await index.nodes.epoch_keys()]
    assert [master.client.exists(key) for master, key in zip(cluster.masters, keys, strict=True)] == [1] * 3


async def test_hung_up_connections_are_replaced(nodes: Nodes, cluster: Cluster) -> None:
    await asyncio.gather(*(nodes.run([ReadAll(KEYS)]) for _ in range(5)))
    for master in cluster.masters:
        master.client.client_kill_filter(_type="normal", skipme=True)
    assert await nodes.run([ReadAll(KEYS)]) == [[None] * len(KEYS)]


async def test_a_run_that_is_given_up_leaves_no_answers_behind(nodes: Nodes) -> None:
    await nodes.run([Command("SET", key, (key.encode(),)) for key in KEYS])
    for _ in range(20):
        task = asyncio.create_task(nodes.run([ReadAll(KEYS)]))
        await asyncio.sleep(0.001)
        task.cancel()
        assert await nodes.run([ReadAll(KEYS[::-1])]) == [[key.encode() for key in KEYS[::-1]]]


async def test_a_key_on_its_way_to_another_node_is_not_taken_for_missing(
    nodes: Nodes, cluster: Cluster
) -> None:
    await nodes.ping()
    giver, taker, _ = cluster.masters
    key = next(key for key in KEYS if key_slot(key.encode()) < 5000)
    slot = key_slot(key.encode())
    taker.call("SETSLOT", slot, "IMPORTING", giver.name)
    giver.call("SETSLOT", slot, "MIGRATING", taker.name)
    try:
        with pytest.raises(Unavailable, match="changing"):
            await nodes.run([ReadAll([key])])
    finally:
        for master in (giver, taker):
            master.call("SETSLOT", slot, "STABLE")
    assert await nodes.run([ReadAll([key])]) == [[None]]


async def test_one_flushed_node_takes_the_whole_index_out_of_service(
    index: BandIndex, cluster: Cluster
) -> None:
    entries = some_entries(8)
    await index.add(entries)
    for master in cluster.masters:
        assert await found(index, entries[0]) == list(range(1, 9))
        master.client.flushall()
        assert await index.epoch.state() is IndexState.LOST
        for attempt in (found(index, entries[0]), index.near_duplicates(entries[0]), index.add(entries)):
            with pytest.raises(IndexRebuilding):
                await attempt
        await build(index, entries)


async def test_a_flush_of_one_node_while_rebuilding_is_noticed(index: BandIndex, cluster: Cluster) -> None:
    await index.epoch.begin("a token")
    cluster.masters[2].client.flushall()
    assert not await index.epoch.finish("a token")
    assert await index.epoch.state() is IndexState.LOST


async def test_a_killed_node_is_named_and_the_index_rebuilt_when_it_is_back(
    two: tuple[BandIndex, BandIndex], frail: Cluster
) -> None:
    index, other = two
    entries = some_entries(8)
    await index.add(entries)
    assert await found(other, entries[0]) == list(range(1, 9))
    victim = frail.masters[1]
    victim.kill()
    for attempt in (found(index, entries[0]), index.add(entries), other.epoch.state(), other.nodes.ping()):
        with pytest.raises(Unavailable, match=f"127.0.0.1:{victim.port} does not answer"):
            await attempt
    victim.start()
    frail.wait_until_well()
    with pytest.raises(IndexRebuilding):
        await found(index, entries[0])
    await build(index, entries)
    assert await found(other, entries[0]) == list(range(1, 9))


async def test_a_replica_that_takes_over_is_not_trusted_before_the_index_is_rebuilt(
    two: tuple[BandIndex, BandIndex], frail: Cluster
) -> None:
    index, other = two
    entries = some_entries(8)
    victim = frail.masters[0]
    with frail.replica(victim) as replica:
        await index.add(entries)
        assert await found(other, entries[0]) == list(range(1, 9))
        victim.kill()
        wait_for(lambda: replica.client.info("replication")["role"] == "master")
        wait_for(lambda: all(":ok" in master.call("INFO") for master in (replica, *frail.masters[1:])))
        for process in two:
            with pytest.raises(IndexRebuilding):
                await found(process, entries[0])
        await build(index, entries)
        for process in two:
            assert await found(process, entries[0]) == list(range(1, 9))


async def test_slots_that_another_node_took_over_without_their_keys_are_noticed(
    two: tuple[BandIndex, BandIndex], frail: Cluster
) -> None:
    index, other = two
    entries = some_entries(8)
    await index.add(entries)
    assert await found(other, entries[0]) == list(range(1, 9))
    frail.hand_over(range(1500), frail.masters[0], frail.masters[2])
    wait_for(lambda: all("1500-5460" in master.call("NODES") for master in frail.masters))
    # Each of these lookups meets a key that has moved.
    for entry in entries:
        with pytest.raises(IndexRebuilding):
            await index.near_duplicates(entry)
    assert await index.epoch.state() is IndexState.LOST
    await index.epoch.begin("another token")
    with pytest.raises(IndexRebuilding):
        await found(other, entries[0])
    await build(index, entries)
    for entry in entries:
        assert (await index.near_duplicates(entry)).hits.entry_ids.tolist() == [entry.entry_id]
        assert (await other.near_duplicates(entry)).hits.entry_ids.tolist() == [entry.entry_id]
    assert await found(other, entries[0]) == list(range(1, 9))


def test_any_slot_served_by_another_makes_other_epochs() -> None:
    before = Topology.of([[0, 8191, [b"a", 1]], [8192, 16383, [b"b", 1]]], HERE)
    after = Topology.of([[0, 8190, [b"a", 1]], [8191, 16383, [b"b", 1]]], HERE)
    told_otherwise = Topology.of(
        [[8192, 16383, [b"b", 1]], [0, 99, [b"a", 1]], [100, 8191, [b"a", 1], [b"c", 1]]],
        HERE,
    )
    assert before == told_otherwise
    assert before.epoch_keys == told_otherwise.epoch_keys
    assert {key.serves for key in before.epoch_keys}.isdisjoint(key.serves for key in after.epoch_keys)
    assert [before.master_of(key) for key, _ in before.epoch_keys] == list(before.masters)


def test_a_node_without_a_name_is_where_it_was_asked() -> None:
    assert Topology.of([[0, 16383, [None, 7001]]], HERE).masters == (Address("127.0.0.1", 7001),)


def test_slots_served_by_no_one_make_the_cluster_unavailable() -> None:
    with pytest.raises(Unavailable, match="1 of its slots"):
        Topology.of([[0, 99, [b"a", 1]], [101, 16383, [b"a", 1]]], HERE)


def test_a_node_with_too_few_slots_for_an_epoch_is_named() -> None:
    bare = next(slot for slot in range(1, SLOTS) if slot not in map(key_slot, map(str.encode, EPOCH_KEYS)))
    few = Topology.of(
        [[0, bare - 1, [b"b", 1]], [bare, bare, [b"a", 1]], [bare + 1, SLOTS - 1, [b"b", 1]]], HERE
    )
    with pytest.raises(Unavailable, match="a:1 serves too few"):
        assert few.epoch_keys


async def test_any_node_that_is_named_and_answers_will_do(cluster: Cluster) -> None:
    url = f"redis+cluster://127.0.0.1:1,localhost:{cluster.masters[2].port}/0?client_name=bookprint"
    async with open_nodes(url) as nodes:
        await nodes.ping()
        assert len(await nodes.epoch_keys()) == 3
    async with open_nodes("redis+cluster://127.0.0.1:1,127.0.0.1:2") as nodes:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:2 does not answer"):
            await nodes.ping()


async def test_a_wrong_password_is_told_from_a_silent_node(cluster: Cluster) -> None:
    async with open_nodes(cluster.url.replace("//", "//me:wrong@")) as nodes:
        with pytest.raises(Unavailable, match="refuses"):
            await nodes.ping()


async def test_the_password_is_given_to_every_node(cluster: Cluster) -> None:
    for master in cluster.masters:
        master.client.config_set("requirepass", "p@ss")
    try:
        async with open_nodes(cluster.url.replace("//", "//:p%40ss@")) as nodes:
            assert await nodes.run([ReadAll(KEYS)]) == [[None] * len(KEYS)]
        async with open_nodes(cluster.url) as nodes:
            with pytest.raises(Unavailable, match="refuses"):
                await nodes.ping()
    finally:
        for master in cluster.masters:
            master.client.config_set("requirepass", "")


async def test_a_server_that_is_no_cluster_is_told(redis_url: str) -> None:
    if not redis_url.startswith("unix://"):
        pytest.skip("the server is none of ours")
    path = redis_url.removeprefix("unix://").partition("?")[0]
    nodes = ClusterNodes([HERE], lambda _: UnixDomainSocketConnection(path=path))
    with pytest.raises(Unavailable, match="cluster support disabled"):
        await nodes.ping()
    await nodes.aclose()


async def test_a_node_that_is_taken_for_a_server_by_itself_is_told(cluster: Cluster) -> None:
    for master in cluster.masters:
        async with open_nodes(f"redis://127.0.0.1:{master.port}") as nodes:
            with pytest.raises(Unavailable, match=r"redis\+cluster://"):
                await nodes.run([ReadAll(KEYS)])


def test_the_url_of_a_cluster_is_that_of_a_server_but_for_its_hosts() -> None:
    nodes = cluster_of("rediss+cluster://me:p%40ss@one,two:7001/?ssl_ca_certs=/ca.pem&client_name=bookprint")
    assert nodes._seeds == [Address("one", 6379), Address("two", 7001)]
    connection = nodes._connect(Address("three", 7002))
    assert isinstance(connection, SSLConnection)
    assert (connection.host, connection.port, connection.client_name) == ("three", 7002, "bookprint")
    assert (connection.username, connection.password, connection.ca_certs) == ("me", "p@ss", "/ca.pem")


def test_a_cluster_has_one_database() -> None:
    with pytest.raises(ValueError, match="number 0"):
        cluster_of("redis+cluster://here/2")
