"""Proof that the band index holds exactly what the catalogue says it should."""

from collections.abc import Callable
from dataclasses import dataclass

from app.stores.band_index import BandIndex, Life
from app.stores.entries import Entries

_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of comparing every record of the index with the catalogue."""

    books: int
    pending: int  # durable and found, but not in the index yet
    records: int  # that the index should hold
    missing: int  # of those, how many it does not hold
    superfluous: int  # stale or double records that it holds
    broken: int  # buckets that do not consist of whole records
    whole: bool  # lookups are being answered

    @property
    def clean(self) -> bool:
        """Whether index and catalogue agree in every record."""
        return self.whole and not (self.pending or self.missing or self.superfluous or self.broken)


async def verify(entries: Entries, index: BandIndex, progress: Callable[[int, int], None]) -> Verdict:
    """Compare every record. Books posted, changed or deleted meanwhile can show as differences."""
    life = await index.life()
    books = pending = records = missing = 0
    total = await entries.count()
    after = 0
    while briefs := await entries.after(after, _AT_ONCE):
        after = briefs[-1].entry.entry_id
        indexed = [brief.entry for brief in briefs if brief.indexed]
        expected = [record for entry in indexed for record in index.records(entry)]
        records += len(expected)
        missing += (await index.holds(expected)).count(False)
        books += len(briefs)
        pending += len(briefs) - len(indexed)
        progress(books, max(books, total))
    held = 0
    async for bucket in index.scan():
        held += len(bucket.records)
    broken = 0
    async for _ in index.broken():
        broken += 1
    return Verdict(
        books=books,
        pending=pending,
        records=records,
        missing=missing,
        superfluous=held - (records - missing),
        broken=broken,
        whole=life is Life.WHOLE,
    )
