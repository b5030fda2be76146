"""Epochs: marks that show whether a partition is complete.

The epoch of a partition contains the run id of the server that built it, and the id of the building. A flush
deletes the epoch; after a restart or a failover, or on another node of a cluster, it differs from the
server's run id. A partition's buckets are read together with its epoch and before the run id, so they were
complete. Until the index has been reconciled, guarded reads and writes raise `IndexRebuilding`.

An epoch also contains the number of buckets of the partition. Reading it together with buckets shows whether
they are the right buckets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from app.stores.redis.client import Command, RedisClient, in_places
from app.stores.redis.scripts import FINISH_EPOCH, OPEN_EPOCH, READ_RUN_ID, RESIZE
from bookprint_core.errors import IndexRebuilding


class IndexState(Enum):
    """The state of an index."""

    COMPLETE = "complete"  # it equals the catalogue
    RESTARTED = "restarted"  # complete before the server restarted: records may be missing
    LOST = "lost"  # flushed, never built, or not built to the end


Marks = Mapping[str, bytes | None]
"""The epochs of some partitions, by their keys; None: no epoch."""


def building_of(mark: bytes | None) -> bytes | None:
    """Return an epoch without the size."""
    return mark and mark.partition(b" ")[0]


def size_of(mark: bytes | None) -> int:
    """Return the number of buckets in an epoch; 0 without an epoch."""
    return int((mark or b"").partition(b" ")[2] or 0)


@dataclass(frozen=True, slots=True, eq=False)
class EpochRead:
    """Values read from some partitions, together with their epochs."""

    values: list[bytes | None]  # one for each key
    answers: list[Any]  # one for each command
    marks: Marks
    is_complete: bool  # all epochs have the run ids of their servers


class Epochs:
    """The epochs of some partitions, changed together."""

    def __init__(self, client: RedisClient, least_sizes: Mapping[str, int]) -> None:
        """Create with the number of buckets of each empty partition, by the key of its epoch."""
        self._client = client
        self._least_sizes = least_sizes
        self._keys = [*least_sizes]

    async def state(self) -> IndexState:
        """Return the state of the partitions."""
        epochs = await self.read(complete=False)
        if epochs.is_complete:
            return IndexState.COMPLETE
        # If a node returns with older data, the flat index on another node contains entries it lacks.
        if self._client.is_cluster:
            return IndexState.LOST
        lost = any(epoch is None or epoch.startswith(b"building:") for epoch in epochs.marks.values())
        return IndexState.LOST if lost else IndexState.RESTARTED

    async def begin(self, token: str) -> None:
        """Take the partitions out of service; `finish` detects a flush or a restart from now on."""
        await self._client.run(
            [("EVALSHA", OPEN_EPOCH.sha, 1, key, token, size) for key, size in self._least_sizes.items()]
        )

    async def resize(self, sizes: Mapping[str, int]) -> None:
        """Set the numbers of buckets of partitions that are empty and out of service."""
        await self._client.run([("EVALSHA", RESIZE.sha, 1, key, size) for key, size in sizes.items()])

    async def finish(self, token: str) -> bool:
        """Mark the partitions as complete; return False after a flush or a restart since `begin`."""
        finish = [("EVALSHA", FINISH_EPOCH.sha, 1, key, token) for key in self._keys]
        return all(await self._client.run(finish))

    async def end(self) -> None:
        """Take the partitions out of service for good."""
        await self._client.run([("DEL", key) for key in self._keys])

    async def read(self, *commands: Command, complete: bool = True) -> EpochRead:
        """Return the epochs and the answers to commands; raises `IndexRebuilding` like `read_with_epochs`."""
        return await read_with_epochs(self._client, self._keys, [], *commands, complete=complete)

    async def require(self, marks: Marks) -> None:
        """Raise `IndexRebuilding` if an epoch is not complete or its building is not the one in `marks`."""
        current = (await self.read()).marks
        if any(building_of(current[key]) != building_of(mark) for key, mark in marks.items()):
            raise rebuilding()


async def read_with_epochs(
    client: RedisClient,
    epochs: Sequence[str],
    keys: Sequence[str],
    *commands: Command,
    complete: bool = True,
) -> EpochRead:
    """Return the strings at these keys and the answers to commands, in one round trip.

    `epochs` are the epochs of all partitions that are read. With `complete`, raises `IndexRebuilding` if an
    epoch is not complete.
    """
    nodes = await client.by_node(epochs)
    while True:
        served = [key for keys_of_node in nodes for key in keys_of_node]
        wanted = [*served, *keys]
        groups = client.together(wanted)
        answers = await client.run(
            [
                *(("MGET", *[wanted[place] for place in group]) for group in groups),
                *commands,
                # Last, so that data from before a restart are never read with the new run id.
                *(("EVALSHA", READ_RUN_ID.sha, 1, keys_of_node[0]) for keys_of_node in nodes),
            ]
        )
        asked, nodes = nodes, await client.by_node(epochs)
        # After a change of the cluster, the run ids may belong to other nodes than the data.
        if nodes == asked:
            break
    values = in_places(groups, answers[: len(groups)], len(wanted))
    lives = answers[len(groups) + len(commands) :]
    marks = dict(zip(served, values, strict=False))
    is_complete = all(
        mark is not None and mark.startswith(life + b":")
        for keys_of_node, life in zip(nodes, lives, strict=True)
        for mark in {marks[key] for key in keys_of_node}
    )
    if complete and not is_complete:
        raise rebuilding()
    rest = answers[len(groups) : len(groups) + len(commands)]
    return EpochRead(values[len(served) :], rest, marks, is_complete)


def rebuilding() -> IndexRebuilding:
    """Return the error for an index that is not complete."""
    return IndexRebuilding(
        "The band index is being rebuilt from the catalogue. Try again in a few seconds.", retry_after=2
    )
