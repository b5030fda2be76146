"""Keeping the band index in step with the catalogue.

`reconcile` compares the entries of the flat index with those of the catalogue and mends the difference. It
builds the index from nothing where it was lost. It runs by itself after a flush, a restart or a failover,
and every minute in any case. `reindex` compares and mends every record while lookups go on.
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
from app.services.index.comparison import Difference, IndexComparison, Progress, compare, part_of
from app.services.index.contents import ExpectedIndex
from app.stores.postgres.connections import ReconcileLock
from app.stores.postgres.entries import EntryStore, SignatureQueries
from app.stores.postgres.suites import SuiteStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.epoch import Epochs, IndexState
from app.stores.redis.indexes import Indexes, own_postings

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

Write = Callable[[BandIndex, Sequence[Entry]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Counts of what a reconciliation mended."""

    entries: int
    missing: int  # in the catalogue, not wholly in the index: added
    stale: int  # records in the index that the catalogue does not call for: swept out


@dataclass(frozen=True, slots=True, eq=False)
class _Census:
    """All entries, and the suites that they have to be in."""

    suites: Suites
    indexed_ids: dict[Suite, NDArray[np.uint64]]  # in the flat index of each suite that answers lookups
    entry_ids: NDArray[np.uint64]  # (n,), ascending
    indexed: NDArray[np.bool_]  # (n,), False: pending

    @property
    def pending(self) -> NDArray[np.uint64]:
        """The entries that are not in the index yet, as far as Postgres knows."""
        return self.entry_ids[~self.indexed]


class Reindex:
    """Reconciling, rebuilding and mending the band indexes of all suites.

    A suite that is being built is left to its builder, but for pending entries. Entries marked as indexed
    are in every suite.
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

    async def index_entry(self, entry_id: int) -> None:
        """Finish the indexing of one entry; an entry that is no longer current needs nothing."""
        # In this order: the suites that an entry was committed under are among those read after it.
        if (await self._entries.read_current_ids([entry_id])).size:
            suites = await self._suites.read()
            for book in await self._entries.read_summaries([entry_id], suites.serving):
                if not book.indexed:
                    await self._enter(np.array([entry_id], dtype=np.uint64), suites, BandIndex.insert_missing)
                    await self._entries.update_indexed([entry_id])

    async def state(self) -> IndexState:
        """The worst state of the indexes in which lookups are answered."""
        return await (await self._epochs()).state()

    async def reconcile(self) -> Reconciled | None:
        """Make the index agree with the catalogue; None if another process is about it already."""
        async with self._lock() as locked:
            if not locked:
                return None
            # Tombstones are committed before the index is read: those of now are not needed afterwards.
            epochs = await self._epochs()
            state = await epochs.state()
            if state is IndexState.COMPLETE:
                report = await self._mend(BandIndex.insert_missing)
            else:
                report = await self._revive(epochs, state)
            await self._entries.delete_tombstones(_FORGOTTEN_AFTER)
            return report

    async def rebuild_after(self, work: Callable[[], Awaitable[None]]) -> Reconciled:
        """Build the whole index when this work is done, or has failed; no lookup is answered until then."""
        while True:
            async with self._lock() as locked:
                if locked:
                    epochs = await self._epochs()
                    await epochs.begin(uuid4().hex)
                    try:
                        await work()
                    finally:
                        report = await self._revive(epochs, IndexState.LOST)
                    return report
            await asyncio.sleep(_SECONDS_BETWEEN_TRIES)

    async def reindex(self, progress: Progress) -> Reconciled:
        """Hold every record against the catalogue and mend what differs, while lookups and posts go on."""
        if await self.state() is not IndexState.COMPLETE:
            await self.reconcile()
        census, missing, stale = await self._census(), 0, 0
        await self._enter(census.pending, census.suites, BandIndex.insert_missing)
        await self._mark(census.pending)
        answering = census.suites.answering
        for number, (suite, postings) in enumerate(own_postings(answering)):
            step = part_of(progress, number, len(answering))
            mended = await self.mend_records(suite, census.entry_ids, postings, step)
            missing, stale = missing + mended.missing, stale + mended.stale
        return Reconciled(entries=census.entry_ids.size, missing=missing, stale=stale)

    async def fill(self, suite: Suite, postings: Collection[str], progress: Progress) -> NDArray[np.uint64]:
        """Write the whole index of a suite, bucket by bucket, and the posting lists of these recipes.

        Writes of other processes may be lost meanwhile. Returns the entries that were written.
        """
        entry_ids, _ = await self._signatures.read_entry_ids()
        await self._indexes.of(suite).delete_all(postings)
        await self._fill(suite, entry_ids, postings, progress)
        return entry_ids

    async def catch_up(
        self, suite: Suite, filled: NDArray[np.uint64], postings: Collection[str]
    ) -> NDArray[np.uint64]:
        """Mend what came and went since `fill` wrote these entries; returns those that there are now."""
        entry_ids, _ = await self._signatures.read_entry_ids()
        await self._enter_one(np.setdiff1d(entry_ids, filled), suite, BandIndex.insert_unguarded)
        if np.setdiff1d(filled, entry_ids).size:
            await self.mend_records(suite, entry_ids, postings, _silent)
        return entry_ids

    async def _epochs(self) -> Epochs:
        return self._indexes.epochs(own_postings((await self._suites.read()).answering))

    async def _revive(self, epochs: Epochs, state: IndexState) -> Reconciled:
        token = uuid4().hex
        await epochs.begin(token)
        if state is IndexState.RESTARTED:
            # A flush may fall between the records of an entry, so its place in the flat index proves nothing.
            report = await self._mend(BandIndex.insert_unguarded)
        else:
            report = await self._build()
        if not await epochs.finish(token):
            raise Unavailable("Redis was flushed or restarted while the band index was being rebuilt.")
        return report

    async def _build(self) -> Reconciled:
        """Write the whole index of every suite in which lookups are answered."""
        suites = await self._suites.read()
        await self._indexes.delete_foreign()
        for suite, postings in own_postings(suites.kept):
            if suite not in suites.answering:
                # Its builder notices that it has to begin again.
                await self._indexes.epochs([(suite, postings)]).end()
            await self._indexes.of(suite).delete_all(postings)
        census = await self._census()
        for suite, postings in own_postings(census.suites.answering):
            await self._fill(suite, census.entry_ids, postings, _silent)
        if census.suites.building is not None:
            await self._enter_one(census.pending, census.suites.building, BandIndex.insert_unguarded)
        await self._mark(census.pending)
        return Reconciled(entries=census.entry_ids.size, missing=census.entry_ids.size, stale=0)

    async def _fill(
        self, suite: Suite, entry_ids: NDArray[np.uint64], postings: Collection[str], progress: Progress
    ) -> None:
        index = self._indexes.of(suite)
        expected = await ExpectedIndex.of(self._signatures, index, entry_ids, postings)
        done = 0
        lists = expected.lists()
        part = await anext(lists, None)
        while part is not None:
            # One list travels to Redis while the next one is made.
            part = await _beside(
                anext(lists, None), index.write_buckets(part.keys, part.packed, part.largest)
            )
            done += 1
            progress(expected.size * done // expected.list_count, expected.size)
        await index.flat_index.list_segments(expected.segments)

    async def _mend(self, write: Write) -> Reconciled:
        """Add the entries that a flat index lacks, and sweep an index whose flat index has one too many."""
        census = await self._census()
        entry_ids, complete = census.entry_ids, census.indexed
        for indexed_ids in census.indexed_ids.values():
            complete = complete & np.isin(entry_ids, indexed_ids)
        lacking = entry_ids[~complete]
        await self._enter(lacking, census.suites, write)
        await self._mark(census.pending)
        stale = 0
        for suite, postings in own_postings(census.suites.answering):
            extra = np.setdiff1d(census.indexed_ids[suite], entry_ids)
            # To sweep is to read the whole index; books that were just being deleted have left by now.
            if extra.size and np.isin(extra, await self._indexes.of(suite).flat_index.entry_ids()).any():
                stale += (await self.mend_records(suite, entry_ids, postings, _silent)).stale
        return Reconciled(entries=entry_ids.size, missing=lacking.size, stale=stale)

    async def _census(self) -> _Census:
        suites = await self._suites.read()
        while True:
            # Entries are committed before they are indexed. So entries of the flat index that the catalogue,
            # read later, lacks are stale for good.
            indexed_ids = {
                suite: await self._indexes.of(suite).flat_index.entry_ids() for suite in suites.answering
            }
            entry_ids, indexed = await self._signatures.read_entry_ids()
            # An entry may have been committed under suites that came since.
            now = await self._suites.read()
            if now == suites:
                return _Census(suites, indexed_ids, entry_ids, indexed)
            suites = now

    async def _enter(self, entry_ids: NDArray[np.uint64], suites: Suites, write: Write) -> None:
        """Write entries into the index of every suite; those without lookups have no epoch to rely on."""
        for suite in suites.kept:
            answering = suite in suites.answering
            await self._enter_one(entry_ids, suite, write if answering else BandIndex.insert_unguarded)

    async def _enter_one(self, entry_ids: NDArray[np.uint64], suite: Suite, write: Write) -> None:
        for start in range(0, entry_ids.size, _WRITTEN_AT_ONCE):
            ids = entry_ids[start : start + _WRITTEN_AT_ONCE].tolist()
            summaries = await self._entries.read_summaries(ids, suite)
            await write(self._indexes.of(suite), [book.entry for book in summaries])

    async def _mark(self, entry_ids: NDArray[np.uint64]) -> None:
        for start in range(0, entry_ids.size, _MARKED_AT_ONCE):
            await self._entries.update_indexed(entry_ids[start : start + _MARKED_AT_ONCE].tolist())

    async def mend_records(
        self, suite: Suite, entry_ids: NDArray[np.uint64], postings: Collection[str], progress: Progress
    ) -> Reconciled:
        """Hold every record of a suite against these entries, all that there are, and mend what differs."""
        index = self._indexes.of(suite)
        expected = await ExpectedIndex.of(self._signatures, index, entry_ids, postings)
        known = set(entry_ids.tolist())
        missing: set[int] = set()
        stale, waiting = 0, list[Difference]()
        async for difference in compare(expected, index, IndexComparison(), progress):
            waiting.append(difference)
            if len(waiting) == _MENDED_AT_ONCE:
                stale += await self._sweep(index, waiting, known, missing)
                waiting = []
        stale += await self._sweep(index, waiting, known, missing)
        await self._enter_one(np.array(sorted(missing), dtype=np.uint64), suite, BandIndex.insert_unguarded)
        return Reconciled(entries=entry_ids.size, missing=len(missing), stale=stale)

    async def _sweep(
        self, index: BandIndex, differences: Sequence[Difference], known: set[int], missing: set[int]
    ) -> int:
        """Delete superfluous records, and note entries that lack one; returns how many were deleted."""
        unknown = {
            record_id(record) for difference in differences for record in difference.superfluous
        } - known
        # Posted since the catalogue was read: theirs are not too many.
        fresh = set((await self._entries.read_current_ids(sorted(unknown))).tolist())
        dropped = 0
        for difference in differences:
            missing.update(map(record_id, difference.missing))
            if difference.broken:
                log.warning("a bucket holds no whole records and is made anew", key=difference.key)
                await index.delete_bucket(difference.key)
                continue
            wrong = [record for record in difference.superfluous if record_id(record) not in fresh]
            if wrong:
                await index.delete_records(difference.key, wrong)
                dropped += len(wrong)
        return dropped


async def _beside(answer: Awaitable[T], work: Awaitable[None]) -> T:
    """The first's answer, when both are done; none is still under way when this raises."""
    outcomes = await asyncio.gather(answer, work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return cast(T, outcomes[0])


def _silent(done: int, total: int) -> None:
    """Reports no progress."""
