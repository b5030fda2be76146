"""The band index on a Redis cluster, whose nodes each serve a part of the keys.

Every instruction is split into commands on one key each; those of one phase go to each node in one round
trip, to all nodes at the same time. When a node says that a key has moved, the topology is asked for anew and
the phase begins again from its start, so what stands first and last in it still does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import AskError, ClusterDownError, NoScriptError, ResponseError, TryAgainError

from app.core.errors import Unavailable
from app.core.index.probing import CLUSTER_KEY_NANOSECONDS
from app.stores.redis.errors import redis_outages
from app.stores.redis.node import GetEpoch, Node, NodeLost, Words
from app.stores.redis.nodes import (
    SCANNED_AT_ONCE,
    SECONDS,
    CallEach,
    Command,
    EpochKey,
    Instruction,
    ReadAll,
    ReadBuckets,
    WriteBuckets,
    shaped,
)
from app.stores.redis.scripts import SCRIPTS, Script
from app.stores.redis.topology import EPOCH_KEYS, Address, Topology

_ASKED_SECONDS = 1.0
"""The same for a node that is asked for the topology; another one knows it too."""

_ELSEWHERE = (AskError, TryAgainError, ClusterDownError)
"""Refusals for which another topology may be the remedy; a moved key is a kind of `AskError`."""


class _Call(NamedTuple):
    """A command on one key."""

    key: str
    command: Words


class ClusterNodes:
    """All masters of a cluster; see `Nodes`."""

    possible_epoch_keys: Sequence[str] = EPOCH_KEYS
    key_nanoseconds: float = CLUSTER_KEY_NANOSECONDS
    in_order = False

    def __init__(self, seeds: Sequence[Address], connect: Callable[[Address], AbstractConnection]) -> None:
        """Connects to the seeds, of which one must answer, and through them to every other node."""
        self._seeds = seeds
        self._connect = connect
        self._nodes: dict[Address, Node] = {}
        self._topology: Topology | None = None
        self._asking = asyncio.Lock()

    async def run(self, *phases: Sequence[Instruction]) -> list[Any]:
        """See `Nodes`."""
        answers: list[Any] = []
        with redis_outages():
            for phase in phases:
                answers += await self._phase(phase)
        return answers

    async def epoch_keys(self, *, anew: bool = False) -> Sequence[EpochKey]:
        """See `Nodes`."""
        with redis_outages():
            topology = await (self._ask_anew(self._topology) if anew else self._known())
        return topology.epoch_keys

    async def names(self, prefix: str) -> AsyncIterator[list[str]]:
        """See `Nodes`."""
        with redis_outages():
            masters = (await self._known()).masters
        for master in masters:
            cursor: bytes | None = None
            while cursor != b"0":
                scan = ("SCAN", cursor or 0, "MATCH", f"{prefix}*", "COUNT", SCANNED_AT_ONCE)
                with redis_outages():
                    [answer] = await self._node(master).execute([scan], SECONDS)
                    if isinstance(answer, ResponseError):
                        raise answer
                cursor, found = answer
                yield [key.decode() for key in found]

    async def ping(self) -> None:
        """See `Nodes`."""
        with redis_outages():
            await self._everywhere([("PING",)])

    async def aclose(self) -> None:
        """Close all connections."""
        for node in self._nodes.values():
            await node.close()

    async def _phase(self, phase: Sequence[Instruction]) -> list[Any]:
        calls = [_calls(instruction) for instruction in phase]
        answers = iter(await self._answers([call for some in calls for call in some]))
        return [
            _gathered(instruction, [next(answers) for _ in some])
            for instruction, some in zip(phase, calls, strict=True)
        ]

    async def _answers(self, calls: Sequence[_Call]) -> list[Any]:
        searched = taught = False
        while True:
            topology = await self._known()
            try:
                answers = await self._attempt(topology, calls)
            except NodeLost:
                if searched or await self._ask_anew(topology) == topology:
                    raise
                searched = True
                continue
            refusals = [answer for answer in answers if isinstance(answer, ResponseError)]
            elsewhere = [refusal for refusal in refusals if isinstance(refusal, _ELSEWHERE)]
            if not refusals:
                return answers
            if elsewhere and searched:
                raise Unavailable(f"The Redis cluster is changing ({elsewhere[0]}). Try again in a moment.")
            if elsewhere:
                searched = True
                await self._ask_anew(topology)
            elif not taught and isinstance(refusals[0], NoScriptError):
                taught = True
                await self._everywhere([("SCRIPT", "LOAD", script.body) for script in SCRIPTS])
            else:
                raise refusals[0]

    async def _attempt(self, topology: Topology, calls: Sequence[_Call]) -> list[Any]:
        places: dict[Address, list[int]] = {}
        for place, call in enumerate(calls):
            places.setdefault(topology.master_of(call.key), []).append(place)
        parts = await _all(
            self._node(master).execute([calls[place].command for place in some], SECONDS)
            for master, some in places.items()
        )
        answers: list[Any] = [None] * len(calls)
        for some, part in zip(places.values(), parts, strict=True):
            for place, answer in zip(some, part, strict=True):
                answers[place] = answer
        return answers

    async def _everywhere(self, commands: Sequence[tuple[Any, ...]]) -> None:
        topology = await self._known()
        for answers in await _all(
            self._node(master).execute(commands, SECONDS) for master in topology.masters
        ):
            for answer in answers:
                if isinstance(answer, ResponseError):
                    raise answer

    async def _known(self) -> Topology:
        return self._topology or await self._ask_anew(None)

    async def _ask_anew(self, doubted: Topology | None) -> Topology:
        """The topology, asked for again unless another has already replaced the one in doubt."""
        async with self._asking:
            if self._topology is None or self._topology is doubted:
                topology = await self._ask()
                if topology != self._topology:
                    self._topology = topology
                    for address in self._nodes.keys() - set(topology.masters):
                        await self._nodes.pop(address).close()
            return self._topology

    async def _ask(self) -> Topology:
        masters = self._topology.masters if self._topology else ()
        lost: NodeLost | None = None
        for address in dict.fromkeys((*masters, *self._seeds)):
            try:
                [ranges] = await self._node(address).execute([("CLUSTER", "SLOTS")], _ASKED_SECONDS)
            except NodeLost as exc:
                lost = exc
                continue
            if isinstance(ranges, ResponseError):
                raise ranges
            return Topology.of(ranges, address)
        assert lost is not None
        raise lost

    def _node(self, address: Address) -> Node:
        node = self._nodes.get(address)
        if node is None:
            node = self._nodes[address] = Node(str(address), partial(self._connect, address))
        return node


def _gathered(instruction: Instruction, answers: list[Any]) -> Any:
    """The answers in the form in which `SingleNode` gives them."""
    if isinstance(instruction, GetEpoch):
        return answers[0]
    return shaped(instruction, answers[0]) if isinstance(instruction, Command) else answers


def _calls(instruction: Instruction) -> list[_Call]:
    if isinstance(instruction, GetEpoch):
        return [_Call(instruction.key, instruction)]
    if isinstance(instruction, ReadAll):
        return [_Call(key, ("GET", key)) for key in instruction.keys]
    if isinstance(instruction, ReadBuckets):
        return [_Call(key, ("GET", key)) for key in instruction.places.keys(instruction.prefix)]
    if isinstance(instruction, WriteBuckets):
        start, end = instruction.start, instruction.end
        keys = [f"{instruction.prefix}{bucket}" for bucket in instruction.filled.buckets[start:end]]
        return [
            _Call(key, ("SET", key, data[: instruction.most]))
            for key, data in zip(keys, instruction.filled.data(start, end), strict=True)
        ]
    if isinstance(instruction, CallEach):
        by_key: dict[str, list[bytes]] = {}
        for key, argument in zip(instruction.keys, instruction.arguments, strict=True):
            by_key.setdefault(key, []).append(argument)
        sha = instruction.script.sha
        return [
            _Call(key, ("EVALSHA", sha, len(arguments), *[key] * len(arguments), *arguments))
            for key, arguments in by_key.items()
        ]
    key = instruction.key
    if isinstance(instruction.name, Script):
        return [_Call(key, ("EVALSHA", instruction.name.sha, 1, key, *instruction.arguments))]
    return [_Call(key, (instruction.name, key, *instruction.arguments))]


async def _all(runs: Iterable[Coroutine[Any, Any, list[Any]]]) -> list[list[Any]]:
    """What all of them answer; none is still under way when this returns or raises."""
    outcomes = await asyncio.gather(*runs, return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for failure in sorted(failures, key=lambda failure: isinstance(failure, NodeLost)):
        raise failure
    return cast(list[list[Any]], outcomes)
