"""Redis as the band index sees it: one server, or the nodes of a cluster, behind one way to run commands.

No command names keys of two slots, so both kinds take the same ones. Commands given together travel to each
node in one round trip and run there in the order given; between nodes there is no order. A single server gets
many writes in several.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, ResponseError

from app.core.index.packing import PackedBuckets
from app.core.index.places import BucketRefs
from app.core.index.probing import KEY_NANOSECONDS
from app.stores.redis.errors import redis_outages
from app.stores.redis.node import GetEpoch, Node, Words
from app.stores.redis.scripts import SCRIPTS, Script

SCANNED_AT_ONCE = 2000
"""Keys looked at in one step through all keys of a node."""

WRITTEN_AT_ONCE = 64
"""Buckets that scripts change in one round trip. Redis does one thing after the other: all 220 postings of a
book would keep every lookup waiting for two milliseconds."""

SECONDS = 5.0
"""Longest silence of Redis before a command counts as lost."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command on one key."""

    name: str | Script
    key: str
    arguments: tuple[str | bytes | int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadAll:
    """Read these strings; answers them in order, None for one that is not there."""

    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReadBuckets:
    """Read the buckets at these places; answers them in order, None for one that is not there."""

    prefix: str
    places: BucketRefs


@dataclass(frozen=True, slots=True)
class WriteBuckets:
    """Set the strings `prefix` + number of some whole buckets of a list; answers nothing."""

    prefix: str
    filled: PackedBuckets
    start: int  # the first bucket's place in the list
    end: int  # the place behind the last one's
    most: int  # bytes of a bucket that are written


@dataclass(frozen=True, slots=True)
class CallEach:
    """Call a script that treats each key by itself, each key with one argument; answers nothing."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[bytes]


GiveWay = Callable[[], Awaitable[None]]
"""Returns when those who go first have gone, or after a moment."""

Instruction = Command | GetEpoch | ReadAll | ReadBuckets | WriteBuckets | CallEach


class EpochKey(NamedTuple):
    """Where a node keeps its epoch."""

    key: str
    serves: str  # stands for the part of all keys that the node serves; an epoch is of the same part or none


class Nodes(Protocol):
    """All Redis nodes that hold the index."""

    @property
    def possible_epoch_keys(self) -> Sequence[str]:
        """Every key that an epoch can have, however the keys are shared out."""
        ...

    @property
    def key_nanoseconds(self) -> float:
        """What it costs to read one key of many."""
        ...

    @property
    def in_order(self) -> bool:
        """Whether whatever is asked together runs in the order given, whichever keys it is about."""
        ...

    async def run(self, *phases: Sequence[Instruction]) -> list[Any]:
        """The answers to all instructions of all phases; a phase begins when the one before has ended.

        Raises `Unavailable` where a node cannot be reached or refuses.
        """
        ...

    async def epoch_keys(self, *, anew: bool = False) -> Sequence[EpochKey]:
        """One key in each node, for that node's epoch; `anew` asks the nodes whether they have changed."""
        ...

    def names(self, prefix: str) -> AsyncIterator[list[str]]:
        """All keys that begin so, some at a time; what comes or goes meanwhile may be missed."""
        ...

    async def ping(self) -> None:
        """Raises `Unavailable` if a node does not answer."""
        ...


async def at_once() -> None:
    """Gives way to nobody."""


class SingleNode:
    """One Redis server: what is asked together, whole phases even, is one pipeline, but for many writes.

    Between the pipelines of many writes it gives way to others.
    """

    possible_epoch_keys: Sequence[str] = ("bp:epoch",)
    key_nanoseconds: float = KEY_NANOSECONDS
    in_order = True

    def __init__(self, node: Node, give_way: GiveWay = at_once) -> None:
        self._node = node
        self._give_way = give_way

    async def run(self, *phases: Sequence[Instruction]) -> list[Any]:
        """See `Nodes`."""
        instructions = [instruction for phase in phases for instruction in phase]
        with redis_outages():
            try:
                return await self._answers(instructions)
            except NoScriptError:
                await self._execute([("SCRIPT", "LOAD", script.body) for script in SCRIPTS])
                return await self._answers(instructions)

    async def epoch_keys(self, *, anew: bool = False) -> Sequence[EpochKey]:
        """See `Nodes`."""
        return (EpochKey("bp:epoch", "all"),)

    async def names(self, prefix: str) -> AsyncIterator[list[str]]:
        """See `Nodes`."""
        cursor = b""
        while cursor != b"0":
            scan = ("SCAN", cursor or 0, "MATCH", f"{prefix}*", "COUNT", SCANNED_AT_ONCE)
            with redis_outages():
                [(cursor, found)] = await self._execute([scan])
            yield [key.decode() for key in cast(list[bytes], found)]

    async def ping(self) -> None:
        """See `Nodes`."""
        with redis_outages():
            await self._execute([("PING",)])

    async def _answers(self, instructions: Sequence[Instruction]) -> list[Any]:
        answers: list[Any] = [[] for _ in instructions]
        for number, pipeline in enumerate(_pipelines(instructions)):
            if number:
                await self._give_way()
            given = await self._execute([_single(part) for _, part in pipeline])
            for (place, part), answer in zip(pipeline, given, strict=True):
                if not isinstance(part, CallEach):
                    answers[place] = shaped(part, answer)
        return answers

    async def _execute(self, commands: Sequence[Words]) -> list[Any]:
        answers = await self._node.execute(commands, SECONDS)
        for answer in answers:
            if isinstance(answer, ResponseError):
                raise answer
        return answers

    async def aclose(self) -> None:
        """Close all connections."""
        await self._node.close()


_SHAPES = Redis(protocol=2).response_callbacks


def shaped(instruction: Instruction, answer: Any) -> Any:
    """The answer to an instruction in the form that callers expect, which is that of redis-py."""
    if not isinstance(instruction, Command) or not isinstance(instruction.name, str):
        return answer
    shape = _SHAPES.get(instruction.name)
    return answer if shape is None else shape(answer)


def _pipelines(instructions: Sequence[Instruction]) -> list[list[tuple[int, Instruction]]]:
    """The instructions and their places, cut where a pipeline has changed as many buckets as it may.

    A call may be cut in several; what would read no keys, which Redis refuses, is left out.
    """
    pipelines: list[list[tuple[int, Instruction]]] = [[]]
    room = WRITTEN_AT_ONCE
    for place, instruction in enumerate(instructions):
        if not isinstance(instruction, CallEach):
            if not _reads_nothing(instruction):
                pipelines[-1].append((place, instruction))
            continue
        script, keys, arguments = instruction.script, instruction.keys, instruction.arguments
        start = 0
        while start < len(keys):
            if not room:
                pipelines.append([])
                room = WRITTEN_AT_ONCE
            end = min(start + room, len(keys))
            pipelines[-1].append((place, CallEach(script, keys[start:end], arguments[start:end])))
            room -= end - start
            start = end
    return pipelines


def _reads_nothing(instruction: Instruction) -> bool:
    if isinstance(instruction, ReadBuckets):
        return not instruction.places.size
    return isinstance(instruction, ReadAll) and not instruction.keys


def _single(instruction: Instruction) -> Words:
    if isinstance(instruction, GetEpoch):
        return instruction
    if isinstance(instruction, ReadAll):
        return ("MGET", *instruction.keys)
    if isinstance(instruction, ReadBuckets):
        places = instruction.places
        return b"*%d\r\n$4\r\nMGET\r\n%b" % (1 + places.size, places.strings(instruction.prefix))
    if isinstance(instruction, WriteBuckets):
        start, end = instruction.start, instruction.end
        pairs = instruction.filled.strings(instruction.prefix, start, end, instruction.most)
        return b"*%d\r\n$4\r\nMSET\r\n%b" % (1 + 2 * (end - start), pairs)
    if isinstance(instruction, CallEach):
        keys = instruction.keys
        return ("EVALSHA", instruction.script.sha, len(keys), *keys, *instruction.arguments)
    if isinstance(instruction.name, Script):
        return ("EVALSHA", instruction.name.sha, 1, instruction.key, *instruction.arguments)
    return (instruction.name, instruction.key, *instruction.arguments)
