"""The expected index, computed from Postgres, and its differences from the present index.

The index is computed in parts of a table. Because the samples of a million books occupy two gigabytes,
postings are divided into parts and stored in temporary files until each part is processed.
"""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile, gettempdir

import numpy as np
from numpy.typing import NDArray

from app.stores.postgres.signatures import SignatureQueries
from app.stores.redis.band_index import BandIndex
from app.stores.redis.keys import bucket_keys
from bookprint_core.errors import Unavailable
from bookprint_core.index.fingerprints import BANDS
from bookprint_core.index.records import (
    FLAT_RECORD,
    FULL,
    EntryColumns,
    PackedBuckets,
    band_records,
    capped,
    differences,
    filled_buckets,
    flat_segments,
)
from bookprint_core.index.tables import POSTINGS, BucketTable, Records, posting_records, records_in
from bookprint_core.recipe import DEFAULT_SAMPLE, sample_recipe

_SEGMENTS_AT_ONCE = 100
"""Number of segments of the flat index read in one round trip."""

_ROOM = 1024 * 1024 * 1024
"""Approximate bytes of signatures in memory at a time."""

_POSTING_ROW = 10
"""Maximum bytes of a posting in temporary files, and while a part is sorted."""

_POSTED = np.dtype([("hash", "<u4"), ("entry_id", "<u4")])
"""Type of a posting in a temporary file, with only the compared bits of its hash."""

EntryIds = NDArray[np.uint64]

Progress = Callable[[int, int], None]
"""Function called with the number of processed entries and the number of all entries."""


@dataclass(frozen=True, slots=True, eq=False)
class TablePart:
    """The expected records of some partitions, in every `step`-th bucket from `first` on."""

    records: Records
    partitions: Sequence[int]
    first: int = 0
    step: int = 1


class ExpectedIndex:
    """The expected index of some entries."""

    def __init__(self, signatures: SignatureQueries, columns: EntryColumns, index: BandIndex) -> None:
        self._signatures = signatures
        self._columns = columns
        self._segment_prefix, self._bands = index.flat_index.segment_prefix, index.bands

    @classmethod
    async def of(
        cls, signatures: SignatureQueries, entry_ids: NDArray[np.uint64], index: BandIndex
    ) -> "ExpectedIndex":
        """Return the expected index of these ascending entries, with the bands and keys of `index`."""
        return cls(signatures, await signatures.read_columns(entry_ids), index)

    @property
    def size(self) -> int:
        return self._columns.entry_ids.size

    @property
    def part_count(self) -> int:
        """The number of parts, including the flat index."""
        return 1 + BANDS + self._sample_parts

    @property
    def _sample_parts(self) -> int:
        """The number of parts of the postings: a power of two, so that a part contains whole buckets."""
        return 1 << (self._posted_bytes // _ROOM).bit_length()

    @property
    def _posted_bytes(self) -> int:
        """Maximum bytes of all postings in temporary files, and while a part is sorted."""
        most = sample_recipe(DEFAULT_SAMPLE).most + self._bands.count
        return _POSTING_ROW * most * self.size

    async def parts(self) -> AsyncIterator[TablePart]:
        """Yield all records of the tables, in parts."""
        signed = self._columns.signed
        for band in range(BANDS):
            bits, entry_ids = self._columns.bits[signed], self._columns.entry_ids[signed]
            yield TablePart(band_records(bits, entry_ids, [band]), [band])
        count = self._sample_parts
        with _told_of_full_disk(self.size, self._posted_bytes), ExitStack() as stack:
            files = [stack.enter_context(SpooledTemporaryFile(_ROOM // count)) for _ in range(count)]
            async for entry_ids, hashes in self._signatures.read_posted_hashes(
                self._columns.entry_ids, self._bands
            ):
                posted = np.empty(hashes.size, dtype=_POSTED)
                posted["hash"], posted["entry_id"] = hashes.astype(np.uint32), entry_ids
                for part, file in enumerate(files):
                    file.write(posted[posted["hash"] % count == part].tobytes())
            for part, file in enumerate(files):
                file.seek(0)
                posted = np.frombuffer(file.read(), dtype=_POSTED)
                file.close()
                records = posting_records(
                    posted["hash"].astype(np.uint64), posted["entry_id"].astype(np.uint64)
                )
                if count <= POSTINGS.partitions:
                    yield TablePart(records, range(part, POSTINGS.partitions, count))
                else:
                    first, partition = divmod(part, POSTINGS.partitions)
                    yield TablePart(records, [partition], first, count // POSTINGS.partitions)

    async def buckets(
        self, sizes: Mapping[BucketTable, NDArray[np.int64]]
    ) -> AsyncIterator[tuple[list[str], PackedBuckets]]:
        """Yield all buckets and their keys for partitions of these sizes, the flat index last."""
        async for part in self.parts():
            table = part.records.keys.table
            packed = await asyncio.to_thread(_filled, part.records, sizes[table])
            yield bucket_keys(table, packed.addresses), packed
        segments = self.segments()
        yield [f"{self._segment_prefix}{segment}" for segment in segments.addresses.tolist()], segments

    def segments(self) -> PackedBuckets:
        """Return the segments of the flat index."""
        return flat_segments(self._columns)


def _filled(records: Records, sizes: NDArray[np.int64]) -> PackedBuckets:
    return filled_buckets(capped(records) if records.keys.table is POSTINGS else records, sizes)


@contextmanager
def _told_of_full_disk(entries: int, size: int) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        if exc.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unavailable(
            f"The folder for temporary files, {gettempdir()}, is full. An index of {entries:,} books needs "
            f"up to {size / 1e9:.1f} GB there. Set TMPDIR to a folder with as much room."
        ) from exc


@dataclass(slots=True)
class IndexReport:
    """The result of comparing every record of the index with the catalogue."""

    books: int
    pending: int  # stored, but not in the index yet
    whole: bool  # the index is complete and answers lookups
    records: int = 0  # expected records
    missing: int = 0  # expected records that the index does not contain
    superfluous: int = 0  # stale or double records in the index
    broken: int = 0  # buckets that do not consist of whole records
    full: int = 0  # hashes that accept no more postings, because they are too common

    @property
    def clean(self) -> bool:
        """Whether index and catalogue agree in all records."""
        return self.whole and not (self.pending or self.missing or self.superfluous or self.broken)


async def compare(
    expected: ExpectedIndex, index: BandIndex, pending: EntryIds, report: IndexReport, progress: Progress
) -> None:
    """Count the expected records and the differences of every bucket; pending entries may be in the index."""
    done = 0
    async for part in expected.parts():
        for partition in part.partitions:
            await _compare_partition(part, partition, index, pending, report)
        done += 1
        progress(expected.size * done // expected.part_count, expected.size)
    segments = expected.segments()
    numbers = sorted({*segments.addresses.tolist()} | await index.flat_index.segments())
    for start in range(0, len(numbers), _SEGMENTS_AT_ONCE):
        some = numbers[start : start + _SEGMENTS_AT_ONCE]
        values = await index.read_strings([f"{index.flat_index.segment_prefix}{number}" for number in some])
        for target, actual in zip(segments.at(np.array(some, dtype=np.uint32)), values, strict=True):
            missing, superfluous = _difference(target, actual or b"", segments.width, report)
            report.missing += len(missing)
            entry_ids = np.frombuffer(b"".join(superfluous), dtype=FLAT_RECORD)["entry_id"]
            report.superfluous += int((~np.isin(entry_ids, pending)).sum())
    progress(expected.size, expected.size)


async def _compare_partition(
    part: TablePart, partition: int, index: BandIndex, pending: EntryIds, report: IndexReport
) -> None:
    table = part.records.keys.table
    records = part.records.chosen(part.records.keys.partitions == partition)
    size, packed = 0, None
    async for read in index.buckets(table, partition, part.first, part.step):
        if packed is None or read.size != size:
            size = read.size
            packed = await asyncio.to_thread(filled_buckets, records, np.full(table.partitions, size))
        targets = packed.at(read.addresses)
        for address, target, actual in zip(read.addresses.tolist(), targets, read.values, strict=True):
            lists = _difference(target, actual or b"", table.width, report)
            if not any(lists):
                continue
            missing, superfluous = (records_in(table, address, size, b"".join(each)) for each in lists)
            full = (superfluous.entry_ids == FULL) & (table is POSTINGS)
            # Some postings of a full hash are missing by design.
            excused = np.isin(missing.keys.values, superfluous.keys.values[full])
            report.full += int(full.sum())
            report.missing += int((~excused).sum())
            report.superfluous += int((~full & ~np.isin(superfluous.entry_ids, pending)).sum())


def _difference(
    target: bytes, actual: bytes, width: int, report: IndexReport
) -> tuple[list[bytes], list[bytes]]:
    """Return the missing records of a bucket, and its superfluous records."""
    report.records += len(target) // width
    if target == actual:
        return [], []
    whole = len(actual) - len(actual) % width
    report.broken += len(actual) != whole
    return differences(target, actual[:whole], width)
