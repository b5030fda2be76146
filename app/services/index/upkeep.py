"""Keeping the band index in step with the catalogue.

`catch_up` compares the entries of the flat index with those of the catalogue, and adds and removes what
differs. It runs every minute, and at once after a restart of Redis. Where the index was lost, by a flush or a
failover, it is built from nothing as by `rebuild`; no lookup is answered until it is whole. `verify` compares
every record, and `mend` mends what differs, while lookups go on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast
from uuid import uuid4

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.errors import Unavailable
from app.core.index.records import record_id
from app.core.model import Entry
from app.core.recipe import Suite, Suites
from app.services.index.contents import BucketCounts, Difference, ExpectedIndex, Progress, compare
from app.stores.postgres.connections import ReconcileLock
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.signatures import SignatureQueries
from app.stores.postgres.suites import SuiteStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.epoch import IndexState
from app.stores.redis.indexes import Indexes

log = structlog.get_logger()

_WRITTEN_AT_ONCE = 50
"""Entries written to the index in one round trip: some 12,000 records."""

_MENDED_AT_ONCE = 1_000
"""Differences compared with the catalogue together."""

_MARKED_AT_ONCE = 10_000
"""Entries that are noted as indexed in one transaction."""

_SECONDS_BETWEEN_TRIES = 0.2
"""Seconds after which a lock that another process holds is asked for again."""

_FORGOTTEN_AFTER = 60.0
"""Seconds after which no lookup can still hold an entry that has left the index."""

T = TypeVar("T")

EntryIds = NDArray[np.uint64]

Write = Callable[[BandIndex, Sequence[Entry]], Awaitable[None]]


def _silent(done: int, total: int) -> None:
    """Reports no progress."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What has been done to the index that serves."""

    entries: int  # in the catalogue
    added: int  # entries that were not wholly in the index
    removed: int  # records that the catalogue does not call for


@dataclass(slots=True)
class IndexReport:
    """The result of comparing every record of the index with the catalogue."""

    books: int = 0
    pending: int = 0  # durable and found, but not in the index yet
    records: int = 0  # that the index should hold
    missing: int = 0  # of those, how many it does not hold
    superfluous: int = 0  # stale or double records that it holds
    broken: int = 0  # buckets that do not consist of whole records
    full: int = 0  # posting buckets that take no more records: values so common that they show nothing
    whole: bool = False  # lookups are being answered

    @property
    def clean(self) -> bool:
        """Whether index and catalogue agree in every record."""
        return self.whole and not (self.pending or self.missing or self.superfluous or self.broken)


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
                    await self._insert_everywhere(one, suites, BandIndex.insert_missing)

    async def catch_up(self) -> Changed | None:
        """Make the index agree with the catalogue; None if another process is about it already."""
        async with self._lock() as locked:
            if not locked:
                return None
            # Tombstones are committed before the index is read: those of now are not needed afterwards.
            suites = await self._suites.read()
            state = await self._indexes.of(suites.serving).epochs.state()
            if state is IndexState.COMPLETE:
                changed = await self._add_and_remove(suites, BandIndex.insert_missing)
            else:
                changed = await self._complete(suites, state)
            await self._indexes.delete_unindexed(suites)
            await self._entries.delete_tombstones(_FORGOTTEN_AFTER)
            return changed

    async def rebuild(self, first: Callable[[], Awaitable[None]]) -> Changed:
        """Build the whole index after this work, even if that fails; no lookup is answered until then."""
        while True:
            async with self._lock() as locked:
                if locked:
                    suites = await self._suites.read()
                    await self._indexes.of(suites.serving).epochs.begin(uuid4().hex)
                    try:
                        await first()
                    finally:
                        changed = await self._complete(suites, IndexState.LOST)
                    return changed
            await asyncio.sleep(_SECONDS_BETWEEN_TRIES)

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
        pending = set(entry_ids[~indexed].tolist())
        report = IndexReport(books=entry_ids.size, pending=len(pending), whole=whole)
        expected = await ExpectedIndex.of(self._signatures, index, entry_ids[indexed], suite.postings)
        counts = BucketCounts()
        async for difference in compare(expected, index, counts, progress):
            report.missing += len(difference.missing)
            report.superfluous += sum(record_id(record) not in pending for record in difference.superfluous)
            report.broken += difference.broken
        report.records, report.full = counts.records, counts.full
        return report

    async def mend(self, progress: Progress) -> Changed:
        """Compare every record with the catalogue and mend what differs, while lookups and posts go on.

        Raises IndexRebuilding where Redis is flushed or restarted meanwhile.
        """
        if await self.state() is not IndexState.COMPLETE:
            await self.catch_up()
        entry_ids, indexed = await self._signatures.read_entry_ids()
        suites = await self._suites.read()
        await self._insert_everywhere(entry_ids[~indexed], suites, BandIndex.insert_missing)
        serving = suites.serving
        return await self._mend(serving, entry_ids, serving.postings, BandIndex.insert_missing, progress)

    async def fill(self, suite: Suite, postings: Collection[str]) -> EntryIds:
        """Write the whole index of a suite that is being built, with the posting lists of these recipes.

        Writes of other processes may be lost meanwhile. Returns the entries that were written.
        """
        entry_ids, _ = await self._signatures.read_entry_ids()
        await self._fill(suite, entry_ids, postings)
        return entry_ids

    async def catch_up_filled(self, suite: Suite, filled: EntryIds, postings: Collection[str]) -> EntryIds:
        """Add and remove what came and went since `fill` wrote these entries; returns those of now."""
        entry_ids, _ = await self._signatures.read_entry_ids()
        await self._insert(np.setdiff1d(entry_ids, filled), suite, BandIndex.insert_unguarded)
        if np.setdiff1d(filled, entry_ids).size:
            await self._mend(suite, entry_ids, postings, BandIndex.insert_unguarded)
        return entry_ids

    async def _complete(self, suites: Suites, state: IndexState) -> Changed:
        """Make an index in this state complete; no lookup is answered until then."""
        token = uuid4().hex
        epochs = self._indexes.of(suites.serving).epochs
        await epochs.begin(token)
        if state is IndexState.RESTARTED:
            # A flush may fall between the records of an entry, so its place in the flat index proves nothing.
            changed = await self._add_and_remove(suites, BandIndex.insert_unguarded)
        else:
            changed = await self._build(suites)
        if not await epochs.finish(token):
            raise Unavailable("Redis was flushed or restarted while the band index was being rebuilt.")
        return changed

    async def _build(self, suites: Suites) -> Changed:
        """Write the index that serves from nothing."""
        await self._indexes.delete_foreign()
        serving, building = suites.serving, suites.building
        if building is not None:
            # Its builder notices that it has to begin again.
            postings = building.postings - serving.postings
            await self._indexes.epochs(building, postings).end()
            await self._indexes.of(building).delete_all(postings)
        entry_ids, indexed = await self._signatures.read_entry_ids()
        await self._fill(serving, entry_ids, serving.postings)
        if building is not None:
            await self._insert(entry_ids[~indexed], building, BandIndex.insert_unguarded)
        await self._mark(entry_ids[~indexed])
        return Changed(entries=entry_ids.size, added=entry_ids.size, removed=0)

    async def _fill(self, suite: Suite, entry_ids: EntryIds, postings: Collection[str]) -> None:
        index = self._indexes.of(suite)
        await index.delete_all(postings)
        expected = await ExpectedIndex.of(self._signatures, index, entry_ids, postings)
        lists = expected.lists()
        part = await anext(lists, None)
        while part is not None:
            # One list travels to Redis while the next one is made.
            part = await _beside(
                anext(lists, None), index.write_buckets(part.keys, part.packed, part.largest)
            )
        await index.flat_index.list_segments(expected.segments)

    async def _add_and_remove(self, suites: Suites, write: Write) -> Changed:
        """Add the entries that the flat index lacks; mend the whole index where it has one too many."""
        flat_index = self._indexes.of(suites.serving).flat_index
        # Entries are committed before they are indexed. So entries of the flat index that the catalogue, read
        # later, lacks are stale for good.
        flat_ids = await flat_index.entry_ids()
        entry_ids, indexed = await self._signatures.read_entry_ids()
        lacking = entry_ids[~(indexed & np.isin(entry_ids, flat_ids))]
        await self._insert_everywhere(lacking, suites, write)
        removed, stale = 0, np.setdiff1d(flat_ids, entry_ids)
        # To mend is to read the whole index; books that were just being deleted have left by now.
        if stale.size and np.isin(stale, await flat_index.entry_ids()).any():
            serving = suites.serving
            mended = await self._mend(serving, entry_ids, serving.postings, BandIndex.insert_unguarded)
            removed = mended.removed
        return Changed(entries=entry_ids.size, added=lacking.size, removed=removed)

    async def _insert_everywhere(self, entry_ids: EntryIds, suites: Suites, write: Write) -> None:
        """Write entries into the index of every suite, and mark them as indexed."""
        for suite in suites.indexed:
            # One that is being built has no epoch to rely on.
            await self._insert(
                entry_ids, suite, write if suite == suites.serving else BandIndex.insert_unguarded
            )
        await self._mark(entry_ids)

    async def _insert(self, entry_ids: EntryIds, suite: Suite, write: Write) -> None:
        for start in range(0, entry_ids.size, _WRITTEN_AT_ONCE):
            ids = entry_ids[start : start + _WRITTEN_AT_ONCE].tolist()
            summaries = await self._entries.read_summaries(ids, suite)
            await write(self._indexes.of(suite), [book.entry for book in summaries])

    async def _mark(self, entry_ids: EntryIds) -> None:
        for start in range(0, entry_ids.size, _MARKED_AT_ONCE):
            await self._entries.update_indexed(entry_ids[start : start + _MARKED_AT_ONCE].tolist())

    async def _mend(
        self,
        suite: Suite,
        entry_ids: EntryIds,
        postings: Collection[str],
        write: Write,
        progress: Progress = _silent,
    ) -> Changed:
        """Compare every record of a suite with these entries, all that there are, and mend what differs."""
        index = self._indexes.of(suite)
        expected = await ExpectedIndex.of(self._signatures, index, entry_ids, postings)
        known, lacking = set(entry_ids.tolist()), set[int]()
        removed, waiting = 0, list[Difference]()
        async for difference in compare(expected, index, BucketCounts(), progress):
            lacking.update(map(record_id, difference.missing))
            waiting.append(difference)
            if len(waiting) == _MENDED_AT_ONCE:
                removed += await self._remove(index, waiting, known)
                waiting = []
        removed += await self._remove(index, waiting, known)
        await self._insert(np.array(sorted(lacking), dtype=np.uint64), suite, write)
        return Changed(entries=entry_ids.size, added=len(lacking), removed=removed)

    async def _remove(self, index: BandIndex, differences: Sequence[Difference], known: set[int]) -> int:
        """Delete superfluous records; returns how many."""
        unknown = {record_id(record) for each in differences for record in each.superfluous} - known
        # Posted since the catalogue was read: theirs are not too many.
        fresh = set((await self._entries.read_current_ids(sorted(unknown))).tolist())
        removed = 0
        for difference in differences:
            if difference.broken:
                log.warning("a bucket holds no whole records and is made anew", key=difference.key)
                await index.delete_bucket(difference.key)
                continue
            wrong = [record for record in difference.superfluous if record_id(record) not in fresh]
            if wrong:
                await index.delete_records(difference.key, wrong)
                removed += len(wrong)
        return removed


async def _beside(answer: Awaitable[T], work: Awaitable[None]) -> T:
    """The first's answer, when both are done; none is still under way when this raises."""
    outcomes = await asyncio.gather(answer, work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return cast(T, outcomes[0])
