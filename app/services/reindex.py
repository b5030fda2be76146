"""Keeping the band index in step with the catalogue.

`reconcile` compares the index's ledger with the catalogue and mends the difference; it runs by itself after
a flush, a restart or a failover, and every minute in any case. `reindex` writes everything again while
lookups go on.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.buckets import record_ids
from app.core.errors import Unavailable
from app.core.model import Brief, Entry
from app.stores.band_index import BandIndex, Bucket, Life
from app.stores.entries import Entries, ReconcileLock

log = structlog.get_logger()

_READ_AT_ONCE = 1000
"""Entries read from the catalogue with one query."""

_WRITTEN_AT_ONCE = 50
"""Entries written to the index in one round trip: some 7,000 commands."""

_SWEPT_AT_ONCE = 50_000
"""Records held against the catalogue with one query."""

_NO_IDS: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)

Progress = Callable[[int, int], None]
"""Called with the number of entries done and of all entries."""

Write = Callable[[Sequence[Entry]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a reconciliation found and mended."""

    entries: int
    missing: int  # in the catalogue, not in the index: added
    stale: int  # records in the index that the catalogue does not call for: swept out


class Reindex:
    """Reconciling, rebuilding and proving the band index."""

    def __init__(self, entries: Entries, index: BandIndex, lock: Callable[[], ReconcileLock]) -> None:
        self._entries = entries
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
            life = await self._index.life()
            if life is Life.WHOLE:
                return await self._mend(trust_ledger=True, write=self._index.add)
            token = uuid4().hex
            await self._index.begin_epoch(token)
            # A flush may fall between the records of an entry, so its ledger proves nothing.
            report = await self._mend(trust_ledger=life is Life.RESTARTED, write=self._index.restore)
            if not await self._index.finish_epoch(token):
                raise Unavailable("Redis was flushed or restarted while the band index was being rebuilt.")
            return report

    async def reindex(self, progress: Progress) -> Reconciled:
        """Write every entry again and sweep out what is stale, while lookups and posts go on."""
        await self._drop_broken()
        total, done = await self._entries.count(), 0
        async for briefs in self._all():
            await self._write(briefs, self._index.restore)
            done += len(briefs)
            progress(done, max(total, done))
        stale = await self._sweep()
        if await self._index.life() is not Life.WHOLE:
            await self.reconcile()
        return Reconciled(entries=done, missing=0, stale=stale)

    async def _mend(self, *, trust_ledger: bool, write: Write) -> Reconciled:
        # Entries are committed before they are indexed, so what the ledger holds and the catalogue, read
        # later, lacks is stale for good.
        known = await self._ledger() if trust_ledger else _NO_IDS
        seen = missing = 0
        async for briefs in self._all():
            held = np.isin([brief.entry.entry_id for brief in briefs], known)
            lacking = [
                brief for brief, is_held in zip(briefs, held, strict=True) if not (is_held and brief.indexed)
            ]
            await self._write(lacking, write)
            seen += len(briefs)
            missing += len(lacking)
        current = await self._entries.current(known.tolist())
        stale = await self._sweep() if current.size < known.size else 0
        return Reconciled(entries=seen, missing=missing, stale=stale)

    async def _write(self, briefs: Sequence[Brief], write: Write) -> None:
        for start in range(0, len(briefs), _WRITTEN_AT_ONCE):
            entries = [brief.entry for brief in briefs[start : start + _WRITTEN_AT_ONCE]]
            await write(entries)
        pending = [brief.entry.entry_id for brief in briefs if not brief.indexed]
        if pending:
            await self._entries.mark_indexed(pending)

    async def _sweep(self) -> int:
        """Drop every record that is double or of an entry no longer current; returns how many there were."""
        swept = held = 0
        buckets: list[Bucket] = []
        async for bucket in self._index.scan():
            buckets.append(bucket)
            held += len(bucket.records)
            if held >= _SWEPT_AT_ONCE:
                swept += await self._sweep_some(buckets)
                buckets, held = [], 0
        return swept + await self._sweep_some(buckets)

    async def _sweep_some(self, buckets: Sequence[Bucket]) -> int:
        entry_ids = [record_ids(bucket.records) for bucket in buckets]
        current = await self._entries.current(np.unique(np.concatenate([*entry_ids, _NO_IDS])).tolist())
        swept = 0
        for bucket, ids in zip(buckets, entry_ids, strict=True):
            times = Counter(bucket.records.tolist())
            stale = set(bucket.records[~np.isin(ids, current)].tolist())
            dropped = [
                record for record, count in times.items() for _ in range(count - (record not in stale))
            ]
            if dropped:
                await self._index.drop(bucket.key, dropped)
                swept += len(dropped)
        return swept

    async def _drop_broken(self) -> None:
        async for key in self._index.broken():
            log.warning("a bucket holds no whole records and is rebuilt", key=key)
            await self._index.delete(key)

    async def _ledger(self) -> NDArray[np.uint64]:
        chunks = [await self._index.ledger(chunk) for chunk in await self._index.ledger_chunks()]
        return np.concatenate([*chunks, _NO_IDS])

    async def _all(self) -> AsyncIterator[list[Brief]]:
        after = 0
        while briefs := await self._entries.after(after, _READ_AT_ONCE):
            yield briefs
            after = briefs[-1].entry.entry_id
