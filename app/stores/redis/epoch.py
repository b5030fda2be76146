"""The epoch: the life of Redis in which the index was found whole.

A flush deletes it; after a restart or a failover it no longer fits the server's run id. On a cluster every
node has its own, which holds for just the slots that the node served then. Until the index has been
reconciled with the catalogue, guarded reads and writes raise `IndexRebuilding`. They read the epoch first and
last, so a flush in their midst does not pass unnoticed.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from app.core.errors import IndexRebuilding
from app.stores.redis.node import GetEpoch
from app.stores.redis.nodes import Command, EpochKey, Instruction, Nodes
from app.stores.redis.scripts import FINISH_EPOCH, OPEN_EPOCH

EpochMark = tuple[bytes, ...]
"""The epochs of all nodes."""


class IndexState(Enum):
    """What is known of the index."""

    COMPLETE = "whole"  # it agrees with the catalogue
    RESTARTED = "restarted"  # it was whole in an earlier life of the server: sound, but some may be missing
    LOST = "lost"  # flushed, never built, or its rebuilding was broken off: nothing in it can be relied on


class Epoch:
    """The epochs of all nodes, as one."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def state(self) -> IndexState:
        """What is known of the index in this life of Redis."""
        keys = await self._nodes.epoch_keys(anew=True)
        answers = await self._nodes.run([Command("GET", key) for key, _ in keys], _reads(keys))
        marks, epochs = answers[: len(keys)], answers[len(keys) :]
        if all(epoch is not None for epoch in epochs):
            return IndexState.COMPLETE
        # One node of several that comes back with older data makes the roll, on another, promise too much.
        if len(keys) > 1 or any(mark is None or mark.startswith(b"building:") for mark in marks):
            return IndexState.LOST
        return IndexState.RESTARTED

    async def begin(self, token: str) -> None:
        """Take the index out of service; a flush or a restart from now on is noticed by `finish`."""
        keys = await self._nodes.epoch_keys(anew=True)
        # Another process may still take the cluster for what it was, and must not find the epochs of then.
        await self._nodes.run(
            [Command("DEL", key) for key in self._nodes.possible_epoch_keys],
            [Command(OPEN_EPOCH, key, (serves, token)) for key, serves in keys],
        )

    async def finish(self, token: str) -> bool:
        """Declare the index whole, if Redis has lived through since `begin`; says whether it did."""
        keys = await self._nodes.epoch_keys(anew=True)
        finish = [Command(FINISH_EPOCH, key, (serves, token)) for key, serves in keys]
        return all(await self._nodes.run(finish))

    async def guarded(
        self, *phases: Sequence[Instruction], mark: EpochMark | None = None
    ) -> tuple[EpochMark, list[Any]]:
        """Run instructions whose outcome only counts if the index was whole from first to last, in one epoch.

        Where a mark is given it must be the epoch that the mark is of.
        """
        for _ in range(2):
            keys = await self._nodes.epoch_keys()
            before, answers, after = await self._enclosed(_reads(keys), phases or ((),))
            if await self._nodes.epoch_keys() == keys and None not in before and before == after:
                if mark is None or tuple(before) == mark:
                    return tuple(before), answers
                break
            # What this process knows of the nodes may be older than the epoch.
            if await self._nodes.epoch_keys(anew=True) == keys:
                break
        raise IndexRebuilding(
            "The band index is being rebuilt from the catalogue. Try again in a few seconds.",
            retry_after=2,
        )

    async def _enclosed(
        self, reads: Sequence[GetEpoch], phases: Sequence[Sequence[Instruction]]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """What the reads answer before the first phase, the answers to the phases, and the reads again."""
        first, last = [*reads, *phases[0]], [*phases[-1], *reads]
        if len(phases) == 1:
            answers = await self._nodes.run([*first, *reads])
        else:
            answers = await self._nodes.run(first, *phases[1:-1], last)
        return answers[: len(reads)], answers[len(reads) : -len(reads)], answers[-len(reads) :]


def _reads(keys: Sequence[EpochKey]) -> list[GetEpoch]:
    return [GetEpoch(key, serves) for key, serves in keys]
