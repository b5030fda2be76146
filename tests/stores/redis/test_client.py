"""Redis through redis-py: round trips, and errors of servers."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from redis.asyncio import RedisCluster

from app.stores.redis.client import Command, RedisClient, open_client
from app.stores.redis.epoch import Epochs, read_with_epochs
from app.stores.redis.scripts import ADD_SEGMENTS
from bookprint_core.errors import BookprintError, IndexRebuilding, Unavailable
from tests.redis_cluster import Operator, on_cluster_too

COUNT = 150
KEYS = [f"bp:{{a:{number % 7}}}:{number}" for number in range(COUNT)]
RECORDS = [b"%06d" % number for number in range(COUNT)]


@pytest.fixture
def pipelines(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Command]]:
    """The commands of every pipeline that is sent from now on."""
    sent: list[Sequence[Command]] = []
    run = RedisClient.run

    async def noted(client: RedisClient, commands: Sequence[Command]) -> list[Any]:
        sent.append(commands)
        return await run(client, commands)

    monkeypatch.setattr(RedisClient, "run", noted)
    return sent


@on_cluster_too
async def test_strings_are_written_and_read_in_order(redis_client: RedisClient) -> None:
    await redis_client.write(dict(zip(KEYS[:-1], RECORDS[:-1], strict=True)))
    assert await redis_client.read(KEYS) == [*RECORDS[:-1], None]
    assert await redis_client.read([]) == []


@on_cluster_too
async def test_a_guarded_read_is_one_round_trip(
    redis_client: RedisClient, pipelines: list[Sequence[Command]]
) -> None:
    keys = [f"bp:{{a:{number}}}:epoch" for number in range(7)]
    epochs = Epochs(redis_client, dict.fromkeys(keys, 0))
    await epochs.begin("token")
    assert await epochs.finish("token")
    await redis_client.write({KEYS[3]: b"there"})
    pipelines.clear()
    read = await read_with_epochs(redis_client, keys, KEYS[:7], ("STRLEN", KEYS[3]))
    assert len(pipelines) == 1
    assert (read.values[3], read.answers, len(read.marks)) == (b"there", [5], 7)


@on_cluster_too
async def test_many_writes_leave_room_for_others_and_are_all_made(
    redis_client: RedisClient, pipelines: list[Sequence[Command]]
) -> None:
    calls: list[Command] = [
        (
            "EVALSHA",
            ADD_SEGMENTS.sha,
            len(group),
            *(KEYS[place] for place in group),
            b"".join(RECORDS[place] for place in group),
        )
        for group in (range(first, COUNT, 7) for first in range(7))
    ]
    await redis_client.call(calls[:1])  # the server learns the script
    pipelines.clear()
    await redis_client.call(calls)
    assert [sum(int(words[2]) for words in commands) for commands in pipelines] == [44, 64, 42]
    assert await redis_client.read(KEYS) == RECORDS


@on_cluster_too
async def test_names_of_all_nodes_are_listed(redis_client: RedisClient) -> None:
    await redis_client.write(dict.fromkeys([*KEYS, "bp:{another:1}:1"], b"x"))
    names = [name async for names in redis_client.names("bp:{a:*") for name in names]
    assert sorted(names) == sorted(KEYS)


@on_cluster_too
async def test_a_server_or_a_node_that_may_drop_keys_is_told(
    redis_client: RedisClient, redis: Operator
) -> None:
    await redis_client.require_noeviction()
    options = {"target_nodes": redis.get_primaries()[-1]} if isinstance(redis, RedisCluster) else {}
    await redis.config_set("maxmemory-policy", "allkeys-lru", **options)
    try:
        with pytest.raises(
            BookprintError, match=r"maxmemory-policy allkeys-lru.*Set maxmemory-policy noeviction"
        ):
            await redis_client.require_noeviction()
    finally:
        await redis.config_set("maxmemory-policy", "noeviction", **options)


async def test_an_epoch_counts_in_its_own_life_of_the_server(
    redis: Operator, redis_client: RedisClient
) -> None:
    run_id = (await redis.info("server"))["run_id"]
    epochs = {"ours": f"{run_id}:a", "another life": f"{'0' * 40}:a", "building": f"building:{run_id}:a"}
    keys = [f"bp:{{{name}:0}}:epoch" for name in [*epochs, "missing"]]
    for key, epoch in zip(keys, epochs.values(), strict=False):
        await redis.set(key, epoch)
    [first, *others] = (Epochs(redis_client, {key: 0}) for key in keys)
    marks = (await first.read()).marks
    assert marks == {keys[0]: epochs["ours"].encode()}
    await redis.append(keys[0], " 512")
    await first.require(marks)
    for epoch in others:
        with pytest.raises(IndexRebuilding):
            await epoch.read()


async def test_hung_up_connections_are_replaced(redis: Operator, redis_client: RedisClient) -> None:
    await redis_client.read(KEYS)
    await redis.client_kill_filter(_type="normal", skipme=True)
    assert await redis_client.read(KEYS) == [None] * COUNT


async def test_a_server_that_closes_each_connection_at_once_cannot_be_reached() -> None:
    """As Redis does that is protected; uvloop, on which the service runs, raises RuntimeError then."""

    async def deny(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"-DENIED Redis is running in protected mode\r\n")
        writer.close()

    async with await asyncio.start_server(deny, "127.0.0.1", 0) as server:
        [(_, port)] = [each.getsockname() for each in server.sockets]
        for _ in range(20):
            async with open_client(f"redis://127.0.0.1:{port}") as client:
                with pytest.raises(Unavailable):
                    await client.read(KEYS)


async def test_a_server_that_will_not_tell_its_life_is_named(redis: Operator, redis_url: str) -> None:
    await redis.execute_command("ACL", "SETUSER", "mute", "on", ">p", "~*", "+@all", "-info")
    try:
        scheme, _, place = redis_url.partition("://")
        async with open_client(f"{scheme}://mute:p@{place}") as client:
            with pytest.raises(Unavailable, match=r"refuses: .*(info|subcommand)"):
                await Epochs(client, {"bp:{a:0}:epoch": 0}).state()
    finally:
        await redis.execute_command("ACL", "DELUSER", "mute")
