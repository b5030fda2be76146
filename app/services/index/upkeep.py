"""Keeping the band index equal to the catalogue.

`catch_up` compares the entries of the flat index with those of the catalogue, and adds and removes entries.
It runs once a minute, and after a restart of Redis. If the index was lost by a flush or a failover, or the
recipes are new, it builds the whole index like `rebuild`. No lookup is answered until the index is complete.
`verify` compares every record.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar, cast
from uuid import uuid4

import numpy as np

from app.services.index.contents import EntryIds, ExpectedIndex, IndexReport, Progress, compare
from app.services.index.missing_signatures import MissingSignatures
from app.stores.postgres.connections import ReconcileLock
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.signatures import SignatureQueries
from app.stores.redis.band_index import BandIndex, BucketsRead
from app.stores.redis.epoch import IndexState
from bookprint_core.errors import Unavailable
from bookprint_core.index.tables import TABLES, BucketTable, Records, records_in

_WRITTEN_AT_ONCE = 50
"""Number of entries written to the index in one round trip: about 12,000 records."""

_MARKED_AT_ONCE = 10_000
"""Number of entries marked as indexed in one transaction."""

_PAUSE = 0.2
"""Seconds between two attempts to acquire the lock."""

_FORGOTTEN_AFTER = 60.0
"""Seconds after which no running lookup can contain an entry that was removed from the index."""

T = TypeVar("T")


def _silent(done: int, total: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The changes made to the index."""

    entries: int  # entries in the catalogue
    added: int  # entries that were not completely in the index
    removed: int  # entries that are no longer in the catalogue


class IndexUpkeep:
    """Builds, updates and verifies the band index."""

    def __init__(
        self,
        entries: EntryStore,
        signatures: SignatureQueries,
        index: BandIndex,
        outdated: MissingSignatures,
        lock: Callable[[], ReconcileLock],
    ) -> None:
        self._entries = entries
        self._signatures = signatures
        self._index = index
        self._outdated = outdated
        self._lock = lock

    async def state(self) -> IndexState:
        """Return the state of the index."""
        return await self._index.epochs.state()

    async def index_entry(self, entry_id: int) -> None:
        """Write an entry to the index, if the entry is current and not indexed yet."""
        for book in await self._entries.read_summaries([entry_id]):
            if not book.indexed:
                await self._insert(np.array([entry_id], dtype=np.uint64))

    async def catch_up(self) -> Changed | None:
        """Make the index equal to the catalogue; return None if another process is doing so."""
        async with self._lock() as locked:
            if not locked:
                return None
            # Tombstones are committed before the index is read, so older tombstones are not needed after it.
            state = await self.state()
            if state is IndexState.COMPLETE:
                changed = await self._add_and_remove()
            else:
                changed = await self._complete(state)
            await self._entries.delete_tombstones(_FORGOTTEN_AFTER)
            return changed

    async def rebuild(
        self, progress: Progress = _silent, after: Callable[[], Awaitable[object]] | None = None
    ) -> int:
        """Build the whole index anew; return the number of entries.

        Runs the work `after` first. Until the end no lookup is answered, even if the work fails.
        """
        async with self._held_lock():
            await self._index.epochs.begin(uuid4().hex)
            try:
                if after is not None:
                    await after()
            finally:
                changed = await self._complete(IndexState.LOST, progress)
            return changed.entries

    async def verify(self, progress: Progress) -> IndexReport:
        """Compare every record with the catalogue.

        Books posted, changed or deleted meanwhile can appear as differences. Raises BookprintError if Redis
        may drop parts of the index.
        """
        await self._index.require_noeviction()
        whole = await self.state() is IndexState.COMPLETE
        entry_ids, indexed = await self._signatures.read_entry_ids()
        pending = entry_ids[~indexed]
        report = IndexReport(entry_ids.size, pending.size, whole)
        expected = await ExpectedIndex.of(self._signatures, entry_ids[indexed], self._index)
        await compare(expected, self._index, pending, report, progress)
        return report

    async def _complete(self, state: IndexState, progress: Progress = _silent) -> Changed:
        """Make an index in this state complete; no lookup is answered until then."""
        token = uuid4().hex
        await self._index.epochs.begin(token)
        if state is IndexState.RESTARTED:
            # A flush may fall between two records of an entry, so its place in the flat index proves nothing.
            changed = await self._add_and_remove(guarded=False)
        else:
            changed = await self._build(progress)
        if not await self._index.epochs.finish(token):
            raise Unavailable("Redis was flushed or restarted while the band index was being rebuilt.")
        return changed

    async def _build(self, progress: Progress) -> Changed:
        """Write the whole index; concurrent writes of other processes may be lost.

        Raises `Unavailable` while books must be signed anew first, which `bookprint reindex` does.
        """
        if await self._outdated.are_missing():
            raise Unavailable(
                "Books were signed by other recipes than this version uses, so lookups would not find them. "
                "Run: bookprint reindex"
            )
        await self._index.delete_all()
        entry_ids, indexed = await self._signatures.read_entry_ids()
        sizes = await self._index.resize(entry_ids.size, int(entry_ids.max(initial=0)))
        expected = await ExpectedIndex.of(self._signatures, entry_ids, self._index)
        done, parts = 0, expected.buckets(sizes)
        part = await anext(parts, None)
        while part is not None:
            # One part is sent to Redis while the next part is computed.
            part = await _beside(anext(parts, None), self._index.write_buckets(*part))
            done += 1
            progress(expected.size * done // expected.part_count, expected.size)
        await self._index.flat_index.list_segments(expected.segments().addresses.tolist())
        await self._mark(entry_ids[~indexed])
        return Changed(entries=entry_ids.size, added=entry_ids.size, removed=0)

    async def _add_and_remove(self, *, guarded: bool = True) -> Changed:
        """Add the entries that the flat index lacks, and remove its superfluous entries."""
        flat_index = self._index.flat_index
        # Entries are committed before they are indexed. The catalogue is read after the flat index, so
        # entries that it lacks are stale.
        flat_ids = await flat_index.entry_ids()
        entry_ids, indexed = await self._signatures.read_entry_ids()
        lacking = entry_ids[~(indexed & np.isin(entry_ids, flat_ids))]
        await self._insert(lacking, guarded=guarded)
        stale = np.setdiff1d(flat_ids, entry_ids)
        if stale.size:
            # Entries of books whose deletion was in progress are removed by now.
            stale = np.intersect1d(stale, await flat_index.entry_ids())
        await self._remove(stale)
        return Changed(entries=entry_ids.size, added=lacking.size, removed=stale.size)

    async def _remove(self, entry_ids: EntryIds) -> None:
        """Remove entries that are no longer in the catalogue; this reads the whole index."""
        if not entry_ids.size:
            return
        for table in TABLES:
            for partition in range(table.partitions):
                async for read in self._index.buckets(table, partition):
                    await self._index.delete_records([*_records_of(entry_ids, table, read)])
        await self._index.flat_index.remove(entry_ids)

    async def _insert(self, entry_ids: EntryIds, *, guarded: bool = True) -> None:
        """Write entries to the index, and mark them as indexed."""
        for start in range(0, entry_ids.size, _WRITTEN_AT_ONCE):
            ids = entry_ids[start : start + _WRITTEN_AT_ONCE].tolist()
            entries = [book.entry for book in await self._entries.read_summaries(ids)]
            await self._index.insert(entries, missing=True, guarded=guarded)
        await self._mark(entry_ids)

    async def _mark(self, entry_ids: EntryIds) -> None:
        for start in range(0, entry_ids.size, _MARKED_AT_ONCE):
            await self._entries.update_indexed(entry_ids[start : start + _MARKED_AT_ONCE].tolist())

    @asynccontextmanager
    async def _held_lock(self) -> AsyncIterator[None]:
        """Wait until the lock is acquired, then hold it during the block."""
        while True:
            async with self._lock() as locked:
                if locked:
                    yield
                    return
            await asyncio.sleep(_PAUSE)


def _records_of(entry_ids: EntryIds, table: BucketTable, read: BucketsRead) -> Iterator[Records]:
    """Yield the complete records of these entries in some buckets."""
    for address, data in zip(read.addresses.tolist(), read.values, strict=True):
        if data:
            records = records_in(table, address, read.size, data[: len(data) - len(data) % table.width])
            gone = np.isin(records.entry_ids, entry_ids)
            if gone.any():
                yield records.chosen(gone)


async def _beside(answer: Awaitable[T], work: Awaitable[None]) -> T:
    """Return the answer once answer and work have ended; raise the first error only then."""
    outcomes = await asyncio.gather(answer, work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return cast(T, outcomes[0])
