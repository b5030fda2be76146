"""The copy of the flat index in this process, updated with the writes of other processes.

A change of the flat index in Redis is also appended to a stream. Each read begins with the stream, from the
last change in the replica. If that change is first, no change was missed; if not, the stream was trimmed or
Redis flushed, and the flat index is read anew. A change is in the stream before its write is acknowledged, so
a lookup reads every entry that was indexed before the lookup began.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.stores.redis.client import Command, RedisClient
from app.stores.redis.epoch import Marks, read_with_epochs, size_of
from app.stores.redis.keys import bucket_keys, epochs_of
from app.stores.redis.scripts import ADD_SEGMENTS, REMOVE_SEGMENTS, Script
from bookprint_core.index.flat_index import FlatIndex
from bookprint_core.index.records import ENTRIES_PER_SEGMENT, FLAT_RECORD, Buckets, pack_flat
from bookprint_core.index.tables import TABLES, BucketKeys, BucketTable
from bookprint_core.model import Entry

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class Batcher(Generic[Request, Answer]):
    """Queue that answers one batch of requests at a time; a single request is answered at once."""

    def __init__(
        self, answer: Callable[[Sequence[Request]], Awaitable[Sequence[Answer]]], largest: int
    ) -> None:
        """Create with a function that answers at most `largest` requests, in their order."""
        self._answer = answer
        self._largest = largest
        self._waiting: list[tuple[Request, asyncio.Future[Answer]]] = []
        self._busy = False
        self._task: asyncio.Task[None] | None = None

    async def ask(self, request: Request) -> Answer:
        """Return the answer to one request; raises the error of its batch."""
        if self._busy:
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._waiting.append((request, future))
            return await future
        self._busy = True
        try:
            [answer] = await self._answer([request])
            return answer
        finally:
            if self._waiting:
                self._task = asyncio.create_task(self._answer_waiting())
            else:
                self._busy = False

    async def _answer_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
                try:
                    answers = await self._answer([request for request, _ in batch])
                except Exception as exc:
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(exc)
                else:
                    for (_, future), answer in zip(batch, answers, strict=True):
                        if not future.done():
                            future.set_result(answer)
        finally:
            self._busy = False
            for _, future in self._waiting:
                future.cancel()
            self._waiting = []


_KEPT_CHANGES = 50_000
"""Approximate length of the stream; a process that has missed more changes reads the whole flat index."""

_CHANGES_AT_ONCE = 2_000
_SEGMENTS_AT_ONCE = 100

_LARGEST_BATCH = 16
"""Maximum number of lookups whose buckets are read in one round trip."""

_ADDED, _REMOVED, _OPENED = b"added", b"removed", b"opened"

_Change = tuple[bytes, dict[bytes, bytes]]

_Sizes = dict[BucketTable, NDArray[np.int64]]
"""The number of buckets of each partition, by table."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The present flat index, and the buckets read together with it."""

    flat: FlatIndex
    buckets: Sequence[Buckets]  # one for each `BucketKeys` of the request


class _Search:
    """The buckets of some keys that have been read so far."""

    def __init__(self, keys: BucketKeys) -> None:
        self._keys = keys
        self.table = keys.table
        self.waiting = np.arange(keys.values.size)  # indexes of keys whose bucket is still to be read
        self._values: list[bytes | None] = [None] * keys.values.size
        self._addresses, self._levels = np.zeros((2, keys.values.size), dtype=np.uint32)
        self._asked = np.zeros(0, dtype=np.uint32)

    def ask(self, sizes: _Sizes) -> list[str]:
        """Return the Redis keys of the buckets to read next, if partitions have these sizes."""
        self._place(sizes)
        self._asked, self._order = np.unique(self._addresses[self.waiting], return_inverse=True)
        return bucket_keys(self.table, self._asked)

    def take(self, values: Sequence[bytes | None], sizes: _Sizes) -> None:
        """Store the buckets that `ask` named; buckets that are wrong by these sizes stay to be read."""
        for place, row in zip(self._order.tolist(), self.waiting.tolist(), strict=True):
            self._values[row] = values[place]
        self._place(sizes)
        self.waiting = self.waiting[self._addresses[self.waiting] != self._asked[self._order]]

    def found(self) -> Buckets:
        return Buckets(self._values, self._addresses, self._levels)

    def _place(self, sizes: _Sizes) -> None:
        keys = BucketKeys(self.table, self._keys.partitions[self.waiting], self._keys.values[self.waiting])
        self._addresses[self.waiting], self._levels[self.waiting] = keys.place(sizes[self.table])


class FlatIndexReplica:
    """Store of the flat index in Redis, with its copy in this process."""

    def __init__(self, client: RedisClient, prefix: str) -> None:
        self._client = client
        self.segment_prefix = prefix
        self.segments_key = f"{self.segment_prefix}segments"
        self.epoch = f"{self.segment_prefix}epoch"
        self._changes = f"{self.segment_prefix}changes"
        self._flat: FlatIndex | None = None
        self._last = ""  # id of the last change in the replica
        self._mark: bytes | None = None  # the epoch in which the replica was read
        self._sizes = {table: np.full(table.partitions, table.least) for table in TABLES}  # as last read
        self._reads = Batcher(self._read_batch, _LARGEST_BATCH)

    @property
    def latest(self) -> FlatIndex | None:
        """The flat index as last read, for estimates; None before the first read."""
        return self._flat

    async def read(self, *keys: BucketKeys) -> Reading:
        """Return the flat index and the buckets of these keys, read in the same round trip.

        Buckets of partitions that have grown since are read in another round trip.

        Raises `IndexRebuilding` unless the flat index and the buckets' partitions are complete.
        """
        return await self._reads.ask(keys)

    async def insert(self, entries: Sequence[Entry]) -> None:
        """Add these entries, which are already in all their buckets."""
        segments = dict.fromkeys(entry.entry_id // ENTRIES_PER_SEGMENT for entry in entries)
        listed: Command = ("SADD", self.segments_key, *segments)
        await self._client.run([listed, *self._change(ADD_SEGMENTS, _ADDED, entries)])

    async def delete(self, entries: Sequence[Entry]) -> None:
        """Remove these entries; other entries are skipped."""
        await self._client.run(self._change(REMOVE_SEGMENTS, _REMOVED, entries))

    async def remove(self, entry_ids: NDArray[np.uint64]) -> None:
        """Remove entries of which only the ids are known."""
        for keys in self._segment_keys(np.unique(entry_ids // np.uint64(ENTRIES_PER_SEGMENT)).tolist()):
            for key, value in zip(keys, await self._client.read(keys), strict=True):
                records = _whole(value)
                gone = records[np.isin(records["entry_id"], entry_ids)]
                if gone.size:
                    data, taken = gone.tobytes(), [key] * gone.size
                    removal: Command = ("EVALSHA", REMOVE_SEGMENTS.sha, len(taken), *taken, data)
                    await self._client.run([removal, self._append(_REMOVED, data)])

    async def segments(self) -> set[int]:
        """Return the numbers of the segments that contain entries."""
        [segments] = await self._client.run([("SMEMBERS", self.segments_key)])
        return {*map(int, segments)}

    async def list_segments(self, segments: Sequence[int]) -> None:
        """List segments that were written as a whole, and make every replica read them anew."""
        if segments:
            await self._client.run([("SADD", self.segments_key, *segments)])
        await self._client.run([("DEL", self._changes)])

    async def entry_ids(self) -> NDArray[np.uint64]:
        """Return the entries in the present flat index, ascending, whether or not the index is complete."""
        ids = [np.zeros(0, dtype=np.uint64)]
        for keys in self._segment_keys(await self.segments()):
            ids += [_whole(value)["entry_id"] for value in await self._client.read(keys)]
        return np.unique(np.concatenate(ids))

    def _change(self, script: Script, kind: bytes, entries: Sequence[Entry]) -> list[Command]:
        keys = [f"{self.segment_prefix}{entry.entry_id // ENTRIES_PER_SEGMENT}" for entry in entries]
        records = b"".join(pack_flat(entry) for entry in entries)
        # The stream is written last. A replica that reads segments meanwhile finds the change in one of them.
        return [("EVALSHA", script.sha, len(keys), *keys, records), self._append(kind, records)]

    def _append(self, kind: bytes, records: bytes) -> Command:
        return ("XADD", self._changes, "MAXLEN", "~", _KEPT_CHANGES, "*", kind, records)

    async def _read_batch(self, requests: Sequence[Sequence[BucketKeys]]) -> Sequence[Reading]:
        searches = [[_Search(keys) for keys in request] for request in requests]
        each = [search for request in searches for search in request if search.waiting.size]
        tables = {search.table: epochs_of(search.table) for search in each}
        epochs = [self.epoch, *chain.from_iterable(tables.values())]
        while True:
            flat = self._flat or await self._load()
            tail = ("XRANGE", self._changes, self._last, "+", "COUNT", _CHANGES_AT_ONCE)
            asked = [search.ask(self._sizes) for search in each]
            read = await read_with_epochs(self._client, epochs, [*chain.from_iterable(asked)], tail)
            [changes] = read.answers
            self._sizes |= {table: _sizes_of(read.marks, keys) for table, keys in tables.items()}
            if read.marks[self.epoch] != self._mark or not self._follow(flat, changes):
                self._flat = None
            elif len(changes) < _CHANGES_AT_ONCE:
                values = iter(read.values)
                for search, keys in zip(each, asked, strict=True):
                    search.take(list(islice(values, len(keys))), self._sizes)
                if not any(search.waiting.size for search in each):
                    return [Reading(flat, [search.found() for search in request]) for request in searches]

    def _follow(self, flat: FlatIndex, changes: Sequence[_Change]) -> bool:
        """Apply changes; return False if the first is not the last change in the replica."""
        if not changes or changes[0][0].decode() != self._last:
            return False
        for name, change in changes[1:]:
            for kind, data in change.items():
                if kind != _OPENED:
                    for record in np.frombuffer(data, dtype=FLAT_RECORD):
                        if kind == _ADDED:
                            flat.put(record)
                        else:
                            flat.drop(int(record["entry_id"]))
            self._last = name.decode()
        return True

    async def _load(self) -> FlatIndex:
        # The end of the stream is read first: later changes are applied, also if a segment contains them.
        newest = ("XREVRANGE", self._changes, "+", "-", "COUNT", 1)
        read = await read_with_epochs(self._client, [self.epoch], [], newest)
        if read.answers[0]:
            [(last, _)] = read.answers[0]
        else:
            [last] = await self._client.run([self._append(_OPENED, b"")])
        listed = await read_with_epochs(self._client, [self.epoch], [], ("SMEMBERS", self.segments_key))
        segments: list[bytes] = []
        for keys in self._segment_keys(listed.answers[0]):
            values = (await read_with_epochs(self._client, [self.epoch], keys)).values
            segments += [value for value in values if value]
        records = np.frombuffer(b"".join(segments), dtype=FLAT_RECORD)
        # The next read detects a rebuilding meanwhile by another epoch.
        self._flat = await asyncio.to_thread(FlatIndex, records)
        self._last, self._mark = last.decode(), read.marks[self.epoch]
        return self._flat

    def _segment_keys(self, segments: Iterable[bytes | int]) -> Iterable[list[str]]:
        keys = [f"{self.segment_prefix}{int(segment)}" for segment in segments]
        return (keys[start : start + _SEGMENTS_AT_ONCE] for start in range(0, len(keys), _SEGMENTS_AT_ONCE))


def _sizes_of(marks: Marks, epochs: Sequence[str]) -> NDArray[np.int64]:
    return np.array([size_of(marks[epoch]) for epoch in epochs])


def _whole(segment: bytes | None) -> NDArray[np.void]:
    """Return the records of a segment; none if the segment is broken."""
    whole = segment and not len(segment) % FLAT_RECORD.itemsize
    return np.frombuffer(segment if whole and segment else b"", dtype=FLAT_RECORD)
