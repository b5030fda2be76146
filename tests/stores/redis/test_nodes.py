"""One Redis server: what travels together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from app.core.errors import Unavailable
from app.core.index.places import BucketRefs
from app.stores.redis.connecting import open_nodes
from app.stores.redis.node import GetEpoch, Node
from app.stores.redis.nodes import WRITTEN_AT_ONCE, CallEach, Command, Nodes, ReadAll, ReadBuckets
from app.stores.redis.scripts import ADD_RECORDS
from tests.redis_cluster import Operator

COUNT = 2 * WRITTEN_AT_ONCE + 22
KEYS = [f"bucket {number}" for number in range(COUNT)]
RECORDS = [b"%06d" % number for number in range(COUNT)]


@pytest.fixture
def pipelines(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Any]]:
    """The commands of every pipeline that is sent from now on."""
    sent: list[Sequence[Any]] = []
    execute = Node.execute

    async def noted(node: Node, commands: Sequence[Any], seconds: float) -> list[Any]:
        sent.append(commands)
        return await execute(node, commands, seconds)

    monkeypatch.setattr(Node, "execute", noted)
    return sent


async def test_whatever_is_read_travels_together(redis_url: str, pipelines: list[Sequence[Any]]) -> None:
    async with open_nodes(redis_url) as nodes:
        some, none = (
            BucketRefs(np.arange(n, dtype=np.uint32), np.arange(n, dtype=np.uint32)) for n in (3, 0)
        )
        await nodes.run([Command("SET", "b:1:1", ("there",))])
        pipelines.clear()
        answers = await nodes.run(
            [ReadAll(KEYS), ReadBuckets("b:", none)], [Command("GET", KEYS[0]), ReadBuckets("b:", some)]
        )
    assert len(pipelines) == 1
    assert answers == [[None] * COUNT, [], None, [None, b"there", None]]


async def test_many_writes_leave_room_for_others_and_are_all_made(
    redis_url: str, pipelines: list[Sequence[Any]]
) -> None:
    turns = 0

    async def give_way() -> None:
        nonlocal turns
        turns += 1

    async with open_nodes(redis_url, give_way) as nodes:
        await nodes.run([CallEach(ADD_RECORDS, KEYS[:1], RECORDS[:1])])  # the server learns the script
        pipelines.clear()
        few = CallEach(ADD_RECORDS, KEYS[:8], RECORDS[:8])
        rest = CallEach(ADD_RECORDS, KEYS[8:], RECORDS[8:])
        answers = await nodes.run(
            [Command("SET", "before", ("1",)), few, rest], [Command("GET", "before"), ReadAll(KEYS)]
        )
    changed = [sum(command[2] for command in pipeline if command[0] == "EVALSHA") for pipeline in pipelines]
    assert changed == [WRITTEN_AT_ONCE, WRITTEN_AT_ONCE, COUNT - 2 * WRITTEN_AT_ONCE]
    assert turns == len(pipelines) - 1
    assert answers[1:] == [[], [], b"1", RECORDS]


async def test_an_epoch_counts_in_its_own_life_and_for_the_same_keys(redis: Operator, nodes: Nodes) -> None:
    state = (await redis.info("server"))["run_id"]
    keys = {
        "ours": f"{state}:all:a",
        "another life": f"{'0' * 40}:all:a",
        "other keys": f"{state}:some:a",
        "building": f"building:{state}:all:a",
    }
    for key, epoch in keys.items():
        await redis.set(key, epoch)
    answers = await nodes.run([GetEpoch(key, "all") for key in [*keys, "missing"]])
    assert answers == [keys["ours"].encode(), None, None, None, None]


async def test_a_server_that_will_not_tell_its_life_is_named(redis: Operator, redis_url: str) -> None:
    await redis.execute_command("ACL", "SETUSER", "mute", "on", ">p", "~*", "+@all", "-info")
    try:
        scheme, _, place = redis_url.partition("://")
        async with open_nodes(f"{scheme}://mute:p@{place}") as nodes:
            with pytest.raises(Unavailable, match=r"refuses: .*'info'"):
                await nodes.ping()
    finally:
        await redis.execute_command("ACL", "DELUSER", "mute")
