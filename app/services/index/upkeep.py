"""Keeping the band index in step with the catalogue.

`catch_up` compares the entries of the flat index with those of the catalogue, and adds and removes what
differs. It runs every minute, and at once after a restart of Redis. Where the index was lost, by a flush or a
failover, it is built from nothing as by `rebuild`; no lookup is answered until it is whole. `verify` compares
every record.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar, cast
from uuid import uuid4

import numpy as np

from app.core.errors import Unavailable
from app.core.index.records import record_ids
from app.core.recipe import Suite, Suites
from app.services.index.contents import EntryIds, ExpectedIndex, IndexReport, Progress, compare
from app.stores.postgres.connections import ReconcileLock, SessionLock
from app.stores.postgres.contents import SuiteStore
from app.stores.postgres.entries import EntryStore, SignatureQueries
from app.stores.redis.epoch import IndexState
from app.stores.redis.indexes import Indexes
from app.stores.redis.keys import address_of

_WRITTEN_AT_ONCE = 50
"""Entries written to the index in one round trip: some 12,000 records."""

_MARKED_AT_ONCE = 10_000
"""Entries that are noted as indexed in one transaction."""

PAUSE = 0.2
"""Seconds between two looks at a lock, or at an index that is being rebuilt."""

_FORGOTTEN_AFTER = 60.0
"""Seconds after which no lookup can still hold an entry that has left the index."""

T = TypeVar("T")


def _silent(done: int, total: int) -> None:
    """Reports no progress."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What has been done to the index that serves."""

    entries: int  # in the catalogue
    added: int  # entries that were not wholly in the index
    removed: int  # entries that the catalogue does not know any more


class IndexUpkeep:
    """The upkeep of the index that serves.

    A suite that is being built is left to its builder, but for pending entries. Entries marked as indexed are
    in every suite.
    """

    def __init__(
        self,
        entries: EntryStore,
        signatures: SignatureQueries,
        indexes: Indexes,
        suites: SuiteStore,
        lock: Callable[[], ReconcileLock],
    ) -> None:
        self._entries = entries
        self._signatures = signatures
        self._indexes = indexes
        self._suites = suites
        self._lock = lock

    async def state(self) -> IndexState:
        """The state of the index in which lookups are answered."""
        return await self._indexes.of((await self._suites.read()).serving).epochs.state()

    async def index_entry(self, entry_id: int) -> None:
        """Finish the indexing of one entry; an entry that is no longer current needs nothing."""
        # In this order: the suites that an entry was committed under are among those read after it.
        if (await self._entries.read_current_ids([entry_id])).size:
            suites = await self._suites.read()
            for book in await self._entries.read_summaries([entry_id], suites.serving):
                if not book.indexed:
                    one = np.array([entry_id], dtype=np.uint64)
                    await self._insert_everywhere(one, suites)

    async def catch_up(self) -> Changed | None:
        """Make the index agree with the catalogue; None if another process is about it already."""
        async with self._lock() as locked:
            if not locked:
                return None
            # Tombstones are committed before the index is read: those of now are not needed afterwards.
            suites = await self._suites.read()
            state = await self._indexes.of(suites.serving).epochs.state()
            if state is IndexState.COMPLETE:
                changed = await self._add_and_remove(suites)
            else:
                changed = await self._complete(suites, state)
            await self._indexes.delete_unindexed(suites)
            await self._entries.delete_tombstones(_FORGOTTEN_AFTER)
            return changed

    async def rebuild(
        self, progress: Progress = _silent, after: Callable[[], Awaitable[None]] | None = None
    ) -> int:
        """Build the whole index from nothing; returns the number of entries.

        No lookup is answered from the beginning of the work that goes before, even if that fails, to the end.
        """
        async with held(self._lock, math.inf):
            suites = await self._suites.read()
            await self._indexes.of(suites.serving).epochs.begin(uuid4().hex)
            try:
                if after is not None:
                    await after()
            finally:
                changed = await self._complete(suites, IndexState.LOST, progress)
            return changed.entries

    async def verify(self, progress: Progress) -> IndexReport:
        """Compare every record with the catalogue.

        Books posted, changed or deleted meanwhile can show as differences. Raises BookprintError where Redis
        may drop parts of the index.
        """
        await self._indexes.require_noeviction()
        suite = (await self._suites.read()).serving
        index = self._indexes.of(suite)
        whole = await index.epochs.state() is IndexState.COMPLETE
        entry_ids, indexed = await self._signatures.read_entry_ids()
        pending = entry_ids[~indexed]
        report = IndexReport(entry_ids.size, pending.size, whole)
        expected = await ExpectedIndex.of(self._signatures, index, entry_ids[indexed], suite.parts)
        await compare(expected, index, pending, report, progress)
        return report

    async def fill(
        self, suite: Suite, parts: Collection[str], progress: Progress = _silent
    ) -> tuple[EntryIds, EntryIds]:
        """Write the flat index of a suite, and the buckets of these recipes.

        Writes of other processes may be lost meanwhile. Returns the entries, and those that were pending.
        """
        index = self._indexes.of(suite)
        await index.delete_all(parts)
        entry_ids, indexed = await self._signatures.read_entry_ids()
        expected = await ExpectedIndex.of(self._signatures, index, entry_ids, parts)
        done, lists = 0, expected.lists()
        part = await anext(lists, None)
        while part is not None:
            # One list travels to Redis while the next one is made.
            part = await _beside(
                anext(lists, None), index.write_buckets(part.keys, part.packed, part.largest)
            )
            done += 1
            progress(expected.size * done // expected.list_count, expected.size)
        await index.flat_index.list_segments(expected.segments)
        return entry_ids, entry_ids[~indexed]

    async def catch_up_filled(self, suite: Suite, filled: EntryIds, parts: Collection[str]) -> EntryIds:
        """Add and remove what came and went since `fill` wrote these entries; returns those of now."""
        entry_ids, _ = await self._signatures.read_entry_ids()
        await self._insert(np.setdiff1d(entry_ids, filled), suite, guarded=False)
        await self._remove(suite, np.setdiff1d(filled, entry_ids), parts)
        return entry_ids

    async def _complete(self, suites: Suites, state: IndexState, progress: Progress = _silent) -> Changed:
        """Make an index in this state complete; no lookup is answered until then."""
        token = uuid4().hex
        epochs = self._indexes.of(suites.serving).epochs
        await epochs.begin(token)
        if state is IndexState.RESTARTED:
            # A flush may fall between the records of an entry, so its place in the flat index proves nothing.
            changed = await self._add_and_remove(suites, guarded=False)
        else:
            changed = await self._build(suites, progress)
        if not await epochs.finish(token):
            raise Unavailable("Redis was flushed or restarted while the band index was being rebuilt.")
        return changed

    async def _build(self, suites: Suites, progress: Progress) -> Changed:
        await self._indexes.delete_foreign()
        serving, building = suites.serving, suites.building
        if building is not None:
            # Its builder notices that it has to begin again.
            parts = building.parts - serving.parts
            await self._indexes.epochs(building, parts).end()
            await self._indexes.of(building).delete_all(parts)
        entry_ids, pending = await self.fill(serving, serving.parts, progress)
        if building is not None:
            await self._insert(pending, building, guarded=False)
        await self._mark(pending)
        return Changed(entries=entry_ids.size, added=entry_ids.size, removed=0)

    async def _add_and_remove(self, suites: Suites, *, guarded: bool = True) -> Changed:
        """Add the entries that the flat index lacks, and remove those that it has too many."""
        flat_index = self._indexes.of(suites.serving).flat_index
        # Entries are committed before they are indexed. So entries of the flat index that the catalogue, read
        # later, lacks are stale for good.
        flat_ids = await flat_index.entry_ids()
        entry_ids, indexed = await self._signatures.read_entry_ids()
        lacking = entry_ids[~(indexed & np.isin(entry_ids, flat_ids))]
        await self._insert_everywhere(lacking, suites, guarded=guarded)
        stale = np.setdiff1d(flat_ids, entry_ids)
        if stale.size:
            # Books that were just being deleted have left by now.
            stale = np.intersect1d(stale, await flat_index.entry_ids())
        await self._remove(suites.serving, stale, suites.serving.parts)
        return Changed(entries=entry_ids.size, added=lacking.size, removed=stale.size)

    async def _remove(self, suite: Suite, entry_ids: EntryIds, parts: Collection[str]) -> None:
        """Remove entries, which the catalogue does not know any more: the whole index is read for them."""
        if not entry_ids.size:
            return
        index = self._indexes.of(suite)
        for prefix, width in index.widths(parts).items():
            async for keys in index.list_buckets(prefix):
                for key, data in zip(keys, await index.read_buckets(keys), strict=True):
                    records = _records_of(entry_ids, key, data or b"", width)
                    if records:
                        await index.delete_records(key, records)

    async def _insert_everywhere(self, entry_ids: EntryIds, suites: Suites, *, guarded: bool = True) -> None:
        """Write entries into the index of every suite, and mark them as indexed."""
        for suite in suites.indexed:
            # One that is being built has no epoch to rely on.
            await self._insert(entry_ids, suite, guarded=guarded and suite == suites.serving)
        await self._mark(entry_ids)

    async def _insert(self, entry_ids: EntryIds, suite: Suite, *, guarded: bool) -> None:
        for start in range(0, entry_ids.size, _WRITTEN_AT_ONCE):
            ids = entry_ids[start : start + _WRITTEN_AT_ONCE].tolist()
            entries = [book.entry for book in await self._entries.read_summaries(ids, suite)]
            await self._indexes.of(suite).insert(entries, missing=True, guarded=guarded)

    async def _mark(self, entry_ids: EntryIds) -> None:
        for start in range(0, entry_ids.size, _MARKED_AT_ONCE):
            await self._entries.update_indexed(entry_ids[start : start + _MARKED_AT_ONCE].tolist())


@asynccontextmanager
async def held(lock: Callable[[], SessionLock], patience: float) -> AsyncIterator[bool]:
    """While the lock is held; False where it could not be had within `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        async with lock() as locked:
            if locked or time.monotonic() > deadline:
                yield locked
                return
        await asyncio.sleep(PAUSE)


def _records_of(entry_ids: EntryIds, key: str, data: bytes, width: int) -> list[bytes]:
    """Those whole records of a bucket that belong to these entries."""
    whole = data[: len(data) - len(data) % width]
    places = np.flatnonzero(np.isin(record_ids(whole, width, address_of(key)), entry_ids))
    return [whole[place * width : (place + 1) * width] for place in places.tolist()]


async def _beside(answer: Awaitable[T], work: Awaitable[None]) -> T:
    """The first's answer, when both are done; none is still under way when this raises."""
    outcomes = await asyncio.gather(answer, work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return cast(T, outcomes[0])
