"""The index as it should be, computed from Postgres, and how the index that is there differs from it.

It comes one list of buckets after the other. The samples of a million books take two gigabytes. So the
posting list is made in parts, which lie in temporary files until it is their turn.
"""

import asyncio
import errno
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile, gettempdir

import numpy as np
from numpy.typing import NDArray

from app.stores.postgres.entries import SignatureQueries
from app.stores.redis.band_index import BandIndex
from app.stores.redis.keys import address_of, bucket_keys
from bookprint_core.errors import Unavailable
from bookprint_core.index.fingerprints import BANDS
from bookprint_core.index.records import (
    POSTING_BYTES,
    POSTING_CAP,
    SAMPLE_BUCKET_BITS,
    EntryColumns,
    PackedBuckets,
    band_buckets,
    differences,
    flat_segments,
    in_lists,
    pack_postings,
    packed_buckets,
    record_ids,
    sample_posting,
)
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_SAMPLE, sample_recipe

_READ_AT_ONCE = 1000
"""Buckets read in one round trip."""

_ROOM = 1024 * 1024 * 1024
"""Bytes of signatures held at a time, about."""

_POSTING_ROW = 10
"""Bytes that one posting takes in temporary files, and while a part is sorted, at most."""

_POSTED = np.dtype([("address", "<u4"), ("record", "<u4")])
"""One posting and the address of its bucket."""

EntryIds = NDArray[np.uint64]

Progress = Callable[[int, int], None]
"""Called with the number of entries done and of all entries; an index takes all entries list by list."""


@dataclass(frozen=True, slots=True, eq=False)
class BucketList:
    """Buckets of one list as the catalogue demands them."""

    keys: list[str]
    packed: PackedBuckets
    cap: int | None = None  # a bucket takes no more records

    @property
    def largest(self) -> int:
        return sys.maxsize if self.cap is None else self.cap * self.packed.width


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
        """The index of these entries, which ascend, as this one should be."""
        return cls(signatures, await signatures.read_columns(entry_ids), index)

    @property
    def size(self) -> int:
        return self._columns.entry_ids.size

    @property
    def list_count(self) -> int:
        """The number of lists that `lists` yields."""
        return 1 + BANDS + self._sample_parts

    @property
    def _sample_parts(self) -> int:
        return max(1, -(-self._posted_bytes // _ROOM))

    @property
    def _posted_bytes(self) -> int:
        """Bytes that all postings take in temporary files, and while a part is sorted, at most."""
        most = sample_recipe(DEFAULT_SAMPLE).most + self._bands.count
        return _POSTING_ROW * most * self.size

    async def lists(self) -> AsyncIterator[BucketList]:
        """All lists of buckets, the flat index last."""
        for band in range(BANDS):
            packed = band_buckets(self._columns, band)
            yield BucketList(bucket_keys(DEFAULT_FINGERPRINT, packed.addresses), packed)
        async for part in self.samples():
            yield part
        packed = flat_segments(self._columns)
        keys = [f"{self._segment_prefix}{segment}" for segment in packed.addresses.tolist()]
        yield BucketList(keys, packed)

    @property
    def segments(self) -> list[int]:
        return [int(segment) for segment in flat_segments(self._columns).addresses]

    async def samples(self) -> AsyncIterator[BucketList]:
        """The posting list, in parts, each of some buckets in a row."""
        parts = self._sample_parts
        with _told_of_full_disk(self.size, self._posted_bytes), ExitStack() as stack:
            files = [stack.enter_context(SpooledTemporaryFile(_ROOM // parts)) for _ in range(parts)]
            async for entry_ids, hashes in self._signatures.read_posted_hashes(
                self._columns.entry_ids, self._bands
            ):
                posting = sample_posting(hashes)
                posted = np.empty(hashes.size, dtype=_POSTED)
                posted["address"] = in_lists(posting.addresses, entry_ids)
                posted["record"] = pack_postings(posting.tags, entry_ids)
                belongs_to = posting.addresses * np.uint64(parts) >> np.uint64(SAMPLE_BUCKET_BITS)
                for part, file in enumerate(files):
                    file.write(posted[belongs_to == part].tobytes())
            for file in files:
                file.seek(0)
                posted = np.frombuffer(file.read(), dtype=_POSTED)
                file.close()
                packed = await asyncio.to_thread(packed_buckets, posted["address"], posted["record"])
                keys = bucket_keys(DEFAULT_SAMPLE, packed.addresses)
                yield BucketList(keys, packed, POSTING_CAP)


@contextmanager
def _told_of_full_disk(entries: int, size: int) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        if exc.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unavailable(
            f"The folder for temporary files, {gettempdir()}, is full. An index of {entries:,} books takes "
            f"up to {size / 1e9:.1f} GB there. Let TMPDIR name one with as much room."
        ) from exc


@dataclass(slots=True)
class IndexReport:
    """The result of comparing every record of the index with the catalogue."""

    books: int
    pending: int  # durable and found, but not in the index yet
    whole: bool  # lookups are being answered
    records: int = 0  # that the index should hold
    missing: int = 0  # of those, how many it does not hold
    superfluous: int = 0  # stale or double records that it holds
    broken: int = 0  # buckets that do not consist of whole records
    full: int = 0  # posting buckets that take no more records: values so common that they show nothing

    @property
    def clean(self) -> bool:
        """Whether index and catalogue agree in every record."""
        return self.whole and not (self.pending or self.missing or self.superfluous or self.broken)


async def compare(
    expected: ExpectedIndex, index: BandIndex, pending: EntryIds, report: IndexReport, progress: Progress
) -> None:
    """Count what every bucket of the index should hold and how it differs; pending entries may be in it."""
    known: set[str] = set()
    done = 0
    async for part in expected.lists():
        width = part.packed.width
        known.update(part.keys)
        for start in range(0, len(part.keys), _READ_AT_ONCE):
            keys = part.keys[start : start + _READ_AT_ONCE]
            data = part.packed.data(start, start + _READ_AT_ONCE)
            for key, target, actual in zip(keys, data, await index.read_buckets(keys), strict=True):
                report.records += len(target) // width
                if target != actual:
                    _count(key, target, actual or b"", width, pending, report)
                report.full += part.cap is not None and len(actual or b"") >= part.cap * width
        done += 1
        progress(expected.size * done // expected.list_count, expected.size)
    for prefix, width in index.widths().items():
        async for keys in index.list_buckets(prefix):
            unknown = [key for key in keys if key not in known]
            known.update(unknown)
            for key, actual in zip(unknown, await index.read_buckets(unknown), strict=True):
                _count(key, b"", actual or b"", width, pending, report)


def _count(
    key: str, target: bytes, actual: bytes, width: int, pending: EntryIds, report: IndexReport
) -> None:
    """Count how a bucket differs from what it should hold."""
    size = len(actual) // width
    report.broken += len(actual) != size * width
    missing, superfluous = differences(target, actual[: size * width], width)
    # A full bucket lacks some by design.
    room = max(0, POSTING_CAP - size + len(superfluous))
    most = room if width == POSTING_BYTES else len(missing)
    report.missing += min(len(missing), most)
    entry_ids = record_ids(b"".join(superfluous), width, address_of(key))
    report.superfluous += int((~np.isin(entry_ids, pending)).sum())
