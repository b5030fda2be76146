"""The roll as this process holds it, kept current with what other processes write.

Whoever changes an entry of the roll in Redis then appends the change to a stream. Each read of the roll first
reads the stream from the last change it knows, that one included: if it comes first again, nothing was
missed; if not, the stream was trimmed or Redis flushed, and the roll is read anew. A change is in the stream
before the write that makes it is acknowledged, so a lookup meets every entry indexed before it began.

Before an index is left by new entries or cleared, its stream is deleted. So once the catalogue has vouched
for it, it is whole for as long as the roll can be followed, and for whatever was read before the stream.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.core.index.flat_index import FlatIndex
from app.core.index.records import ENTRIES_PER_SEGMENT, FLAT_RECORD, pack_flat
from app.core.model import Entry
from app.stores.redis.epoch import Epoch, EpochMark
from app.stores.redis.nodes import CallEach, Command, Instruction, Nodes, ReadAll
from app.stores.redis.scripts import ADD_RECORDS, REMOVE_RECORDS
from app.stores.together import Together

_KEPT_CHANGES = 50_000
"""Length of the stream, about; a process that has slept longer reads the whole roll."""

_READ_AT_ONCE = 2_000
_CHUNKS_AT_ONCE = 100

_READ_TOGETHER = 16
"""Lookups whose buckets are read in one round trip."""

_ADDED, _REMOVED, _OPENED = b"added", b"removed", b"opened"


_Change = tuple[bytes, dict[bytes, bytes]]


class Reading(NamedTuple):
    """The roll, and what was read together with it."""

    flat_index: FlatIndex  # current as of now
    load: int  # number of the load since which the roll could be followed
    vouched: bool  # the catalogue has vouched for the index, and it has been whole since
    answers: list[Any]


class FlatIndexReplica:
    """The roll of one suite."""

    def __init__(self, nodes: Nodes, epoch: Epoch, prefix: str) -> None:
        self._nodes = nodes
        self._epoch = epoch
        self._prefix = prefix
        self._changes = f"{prefix}:changes"
        self._roll: FlatIndex | None = None
        self._last = ""  # id of the last change that the roll holds
        self._mark: EpochMark = ()
        self._loads = 0
        self._vouched = 0  # the load that the catalogue has vouched for
        self._reading = Together(self._read, _READ_TOGETHER)

    @property
    def latest(self) -> FlatIndex | None:
        """The roll as it was last read, for estimates; None before it was read at all."""
        return self._roll

    @property
    def segment_prefix(self) -> str:
        """The keys of the chunks of the roll, but for the number of the chunk."""
        return f"{self._prefix}:roll:"

    @property
    def segments_key(self) -> str:
        """The key of the set of chunks that exist."""
        return f"{self._prefix}:rolls"

    def adding(self, entries: Sequence[Entry]) -> list[Sequence[Instruction]]:
        """The phases that enter these entries."""
        chunks = [entry.entry_id // ENTRIES_PER_SEGMENT for entry in entries]
        records = [pack_flat(entry) for entry in entries]
        return [
            [
                Command("SADD", self.segments_key, tuple(dict.fromkeys(chunks))),
                CallEach(ADD_RECORDS, [f"{self.segment_prefix}{chunk}" for chunk in chunks], records),
            ],
            [self._change(_ADDED, b"".join(records))],
        ]

    def removing(self, entries: Sequence[Entry]) -> list[Sequence[Instruction]]:
        """The phases that strike these entries out."""
        keys = [f"{self.segment_prefix}{entry.entry_id // ENTRIES_PER_SEGMENT}" for entry in entries]
        records = [pack_flat(entry) for entry in entries]
        return [
            [CallEach(REMOVE_RECORDS, keys, records)],
            [self._change(_REMOVED, b"".join(records))],
        ]

    def noting(self, key: str, records: Sequence[bytes]) -> list[Instruction]:
        """The phase that tells of records taken out of this bucket, if it is one of the roll's."""
        return [self._change(_REMOVED, b"".join(records))] if key.startswith(self.segment_prefix) else []

    def listing(self, chunks: Sequence[int]) -> list[Instruction]:
        """The phase that lists chunks which were written as whole buckets, and has them read anew by all."""
        listed = [Command("SADD", self.segments_key, tuple(chunks))] if chunks else []
        return [*listed, Command("DEL", self._changes)]

    def forgetting(self) -> list[Instruction]:
        """The phase that forgets all chunks and changes."""
        return [Command("DEL", self.segments_key), Command("DEL", self._changes)]

    async def entry_ids(self) -> NDArray[np.uint64]:
        """The entries that Redis holds now, ascending, whether or not the index is whole."""
        [found] = await self._nodes.run([Command("SMEMBERS", self.segments_key)])
        ids = [np.zeros(0, dtype=np.uint64)]
        keys = [f"{self.segment_prefix}{int(chunk)}" for chunk in found]
        for start in range(0, len(keys), _CHUNKS_AT_ONCE):
            [chunks] = await self._nodes.run([ReadAll(keys[start : start + _CHUNKS_AT_ONCE])])
            whole = [chunk for chunk in chunks if chunk and len(chunk) % FLAT_RECORD.itemsize == 0]
            ids.append(np.frombuffer(b"".join(whole), dtype=FLAT_RECORD)["entry_id"])
        return np.unique(np.concatenate(ids))

    async def read(self, *instructions: Instruction) -> Reading:
        """The roll, and the answers to instructions read in the same round trip."""
        return await self._reading.ask(instructions)

    def vouch(self, load: int) -> None:
        """Note that the catalogue, asked after this load, said that lookups in the index are answered."""
        self._vouched = max(self._vouched, load)

    async def forget_changes(self) -> None:
        """Forget all changes; whoever follows the roll finds that it no longer can."""
        await self._nodes.run([Command("DEL", self._changes)])

    async def _read(self, asked: Sequence[Sequence[Instruction]]) -> Sequence[Reading]:
        reading = await self._current([instruction for some in asked for instruction in some])
        given = iter(reading.answers)
        return [reading._replace(answers=[next(given) for _ in some]) for some in asked]

    async def _current(self, instructions: Sequence[Instruction]) -> Reading:
        while True:
            flat_index = self._roll or await self._load()
            vouched = self._nodes.in_order and self._vouched == self._loads
            tail = Command("XRANGE", self._changes, (self._last, "+", "COUNT", _READ_AT_ONCE))
            mark, [*answers, changes] = await self._epoch.guarded([*instructions, tail])
            if not self._follow(flat_index, mark, changes):
                self._roll = None
            elif len(changes) < _READ_AT_ONCE:
                return Reading(flat_index, self._loads, vouched, answers)

    def _change(self, kind: bytes, records: bytes) -> Command:
        return Command("XADD", self._changes, ("MAXLEN", "~", _KEPT_CHANGES, "*", kind, records))

    def _follow(self, flat_index: FlatIndex, mark: EpochMark, changes: Sequence[_Change]) -> bool:
        """Apply changes; False if they do not join on to what the roll holds."""
        if mark != self._mark or not changes or changes[0][0].decode() != self._last:
            return False
        for name, change in changes[1:]:
            for kind, data in change.items():
                for record in np.frombuffer(data, dtype=FLAT_RECORD if kind != _OPENED else np.uint8):
                    if kind == _ADDED:
                        flat_index.put(record)
                    elif kind == _REMOVED:
                        flat_index.drop(int(record["entry_id"]))
            self._last = name.decode()
        return True

    async def _load(self) -> FlatIndex:
        # The stream's end first: what comes later is followed, even if the chunk holds it already.
        tail, members = Command("XREVRANGE", self._changes, ("+", "-", "COUNT", 1)), self.segments_key
        mark, [newest] = await self._epoch.guarded([tail])
        if not newest:
            mark, [name] = await self._epoch.guarded([self._change(_OPENED, b"")], mark=mark)
        else:
            name = newest[0][0]
        _, [found] = await self._epoch.guarded([Command("SMEMBERS", members)], mark=mark)
        keys = [f"{self.segment_prefix}{int(chunk)}" for chunk in found]
        data: list[bytes] = []
        for start in range(0, len(keys), _CHUNKS_AT_ONCE):
            read = ReadAll(keys[start : start + _CHUNKS_AT_ONCE])
            _, [chunks] = await self._epoch.guarded([read], mark=mark)
            data += [chunk for chunk in chunks if chunk]
        records = np.frombuffer(b"".join(data), dtype=FLAT_RECORD)
        flat_index = self._roll = await asyncio.to_thread(FlatIndex, records)
        self._last, self._mark = name.decode(), mark
        self._loads += 1
        return flat_index
