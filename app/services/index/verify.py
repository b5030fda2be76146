"""Proof that the band index holds exactly what the catalogue says it should."""

from dataclasses import dataclass

from app.core.index.records import record_id
from app.services.index.comparison import IndexComparison, Progress, compare, part_of
from app.services.index.contents import ExpectedIndex
from app.stores.postgres.entries import SignatureQueries
from app.stores.postgres.suites import SuiteStore
from app.stores.redis.epoch import IndexState
from app.stores.redis.indexes import Indexes, own_postings


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of comparing every record of the index with the catalogue."""

    books: int
    pending: int  # durable and found, but not in the index yet
    records: int  # that the index should hold
    missing: int  # of those, how many it does not hold
    superfluous: int  # stale or double records that it holds
    broken: int  # buckets that do not consist of whole records
    full: int  # posting buckets that take no more records: values so common that they show nothing
    whole: bool  # lookups are being answered

    @property
    def clean(self) -> bool:
        """Whether index and catalogue agree in every record."""
        return self.whole and not (self.pending or self.missing or self.superfluous or self.broken)


async def verify(
    signatures: SignatureQueries, indexes: Indexes, suites: SuiteStore, progress: Progress
) -> IndexReport:
    """Compare every record of every suite in which lookups are answered.

    Books posted, changed or deleted meanwhile can show as differences. Raises BookprintError where Redis may
    drop parts of the index.
    """
    await indexes.require_noeviction()
    answering = (await suites.read()).answering
    state = await indexes.epochs(own_postings(answering)).state()
    entry_ids, indexed = await signatures.read_entry_ids()
    pending = set(entry_ids[~indexed].tolist())
    seen = IndexComparison()
    missing = superfluous = broken = 0
    for number, (suite, postings) in enumerate(own_postings(answering)):
        index = indexes.of(suite)
        expected = await ExpectedIndex.of(signatures, index, entry_ids[indexed], postings)
        async for difference in compare(expected, index, seen, part_of(progress, number, len(answering))):
            missing += len(difference.missing)
            superfluous += sum(record_id(record) not in pending for record in difference.superfluous)
            broken += difference.broken
    return IndexReport(
        books=entry_ids.size,
        pending=len(pending),
        records=seen.records,
        missing=missing,
        superfluous=superfluous,
        broken=broken,
        full=seen.full,
        whole=state is IndexState.COMPLETE,
    )
