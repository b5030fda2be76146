"""Keeping the band index in step with the catalogue.

`reconcile` compares the entries of the roll with those of the catalogue and mends the difference, or builds
the index anew where nothing in it can be relied on; it runs by itself after a flush, a restart or a failover,
and every minute in any case. `reindex` compares and mends every record while lookups go on.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.buckets import record_id
from app.core.errors import Unavailable
from app.core.model import Brief, Entry
from app.services.inspection import Difference, Inspection, Progress, inspect
from app.services.projection import Projection
from app.stores.band_index import BandIndex
from app.stores.entries import Entries, ReconcileLock
from app.stores.epoch import Life
from app.stores.signature_columns import SignatureColumns

log = structlog.get_logger()

_WRITTEN_AT_ONCE = 50
"""Entries written to the index in one round trip: some 12,000 records."""

_FEW = 5_000
"""So many missing entries are written one by one; for more, building the index anew is faster."""

_MENDED_AT_ONCE = 1_000
"""Differences held against the catalogue together."""

_FORGOTTEN_AFTER = 60.0
"""Seconds after which no lookup can still hold an entry that has left the index."""

Write = Callable[[Sequence[Entry]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a reconciliation found and mended."""

    entries: int
    missing: int  # in the catalogue, not wholly in the index: added
    stale: int  # records in the index that the catalogue does not call for: swept out


class Reindex:
    """Reconciling, rebuilding and mending the band index."""

    def __init__(
        self,
        entries: Entries,
        signatures: SignatureColumns,
        index: BandIndex,
        lock: Callable[[], ReconcileLock],
    ) -> None:
        self._entries = entries
        self._signatures = signatures
        self._index = index
        self._lock = lock

    async def index_entry(self, entry_id: int) -> None:
        """Finish the indexing of one entry; an entry that is no longer current needs nothing."""
        for brief in await self._entries.briefs([entry_id]):
            if not brief.indexed:
                await self._index.add([brief.entry])
                await self._entries.mark_indexed([entry_id])

    async def reconcile(self) -> Reconciled | None:
        """Make the index agree with the catalogue; None if another process is about it already."""
        async with self._lock() as locked:
            if not locked:
                return None
            # Departures are committed before the index is read, so whatever this one met is gone at its end.
            life = await self._index.epoch.life()
            if life is Life.WHOLE:
                report = await self._mend(self._index.add)
            else:
                report = await self._revive(life)
            await self._entries.forget_departures(_FORGOTTEN_AFTER)
            return report

    async def reindex(self, progress: Progress) -> Reconciled:
        """Hold every record against the catalogue and mend what differs, while lookups and posts go on."""
        if await self._index.epoch.life() is not Life.WHOLE:
            await self.reconcile()
        entry_ids, indexed = await self._signatures.entry_ids()
        report = await self._mend_records(entry_ids, progress)
        await self._mark(entry_ids[~indexed])
        return report

    async def _revive(self, life: Life) -> Reconciled:
        token = uuid4().hex
        await self._index.epoch.begin(token)
        # A flush may fall between the records of an entry, so its place in the roll proves nothing then.
        report = await self._mend(self._index.restore) if life is Life.RESTARTED else await self._build()
        if not await self._index.epoch.finish(token):
            raise Unavailable("Redis was flushed or restarted while the band index was being rebuilt.")
        return report

    async def _build(self) -> Reconciled:
        """Write the whole index, bucket by bucket."""
        await self._index.clear()
        entry_ids, indexed = await self._signatures.entry_ids()
        projection = await Projection.of(self._signatures, self._index, entry_ids)
        async for part in projection.lists():
            data = part.filled.data
            if part.cap is not None:
                data = [bucket[: part.cap * part.width] for bucket in data]
            await self._index.write(part.keys, data)
        await self._index.nodes.run(self._index.roll.listing(projection.roll().filled.buckets))
        await self._mark(entry_ids[~indexed])
        return Reconciled(entries=entry_ids.size, missing=entry_ids.size, stale=0)

    async def _mend(self, write: Write) -> Reconciled:
        """Add the entries that the roll lacks, and sweep the index if it has one too many."""
        # Entries are committed before they are indexed, so what the roll holds and the catalogue, read later,
        # lacks is stale for good.
        held = await self._index.roll.entry_ids()
        entry_ids, indexed = await self._signatures.entry_ids()
        lacking = entry_ids[~(np.isin(entry_ids, held) & indexed)]
        for start in range(0, lacking.size, _WRITTEN_AT_ONCE):
            await self._write(
                await self._entries.briefs(lacking[start : start + _WRITTEN_AT_ONCE].tolist()), write
            )
        stale = 0
        if not np.isin(held, entry_ids).all():
            stale = (await self._mend_records(entry_ids, _silent)).stale
        return Reconciled(entries=entry_ids.size, missing=lacking.size, stale=stale)

    async def _write(self, briefs: Sequence[Brief], write: Write) -> None:
        await write([brief.entry for brief in briefs])
        await self._entries.mark_indexed([brief.entry.entry_id for brief in briefs if not brief.indexed])

    async def _mark(self, entry_ids: NDArray[np.uint64]) -> None:
        if entry_ids.size:
            await self._entries.mark_indexed(entry_ids.tolist())

    async def _mend_records(self, entry_ids: NDArray[np.uint64], progress: Progress) -> Reconciled:
        projection = await Projection.of(self._signatures, self._index, entry_ids)
        known = set(entry_ids.tolist())
        missing: set[int] = set()
        stale, some = 0, []
        async for difference in inspect(projection, self._index, Inspection(), progress):
            some.append(difference)
            if len(some) == _MENDED_AT_ONCE:
                stale += await self._settle(some, known, missing)
                some = []
        stale += await self._settle(some, known, missing)
        lacking = sorted(missing)
        for start in range(0, len(lacking), _WRITTEN_AT_ONCE):
            await self._write(
                await self._entries.briefs(lacking[start : start + _WRITTEN_AT_ONCE]), self._index.restore
            )
        return Reconciled(entries=entry_ids.size, missing=len(lacking), stale=stale)

    async def _settle(self, differences: Sequence[Difference], known: set[int], missing: set[int]) -> int:
        """Drop what does not belong, and note which entries lack a record; how many records were dropped."""
        unknown = {
            record_id(record) for difference in differences for record in difference.superfluous
        } - known
        # Posted since the catalogue was read: theirs are not too many.
        fresh = set((await self._entries.current(sorted(unknown))).tolist())
        dropped = 0
        for difference in differences:
            missing.update(map(record_id, difference.missing))
            if difference.broken:
                log.warning("a bucket holds no whole records and is made anew", key=difference.key)
                await self._index.delete(difference.key)
                continue
            wrong = [record for record in difference.superfluous if record_id(record) not in fresh]
            if wrong:
                await self._index.drop(difference.key, wrong)
                dropped += len(wrong)
        return dropped


def _silent(done: int, total: int) -> None:
    """Reports no progress."""
