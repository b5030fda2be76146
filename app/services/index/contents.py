"""The index as it should be, computed from Postgres, and how the index that is there differs from it.

It comes one list of buckets after the other. Reading the MinHash of a million books at once would take half a
gigabyte. So the posting lists are made in passes, each of which reads only its part of the signatures.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.index.bands import BANDS
from app.core.index.packing import (
    EntryColumns,
    PackedBuckets,
    band_buckets,
    differences,
    flat_segments,
    posting_buckets,
)
from app.core.index.records import (
    FINGERPRINT_RECORD,
    FLAT_RECORD,
    NO_POSTING,
    POSTING_BYTES,
    POSTING_CAP,
    SAMPLE_BUCKET_BITS,
    Posting,
    minhash_posting,
    sample_posting,
)
from app.core.recipe import minhash_recipe
from app.stores.postgres.signatures import SignatureQueries
from app.stores.redis.band_index import BandIndex

_READ_AT_ONCE = 1000
"""Buckets read in one round trip."""

_ROOM = 1024 * 1024 * 1024
"""Bytes of signatures held at a time, about."""

_SAMPLE_ROW = 1800
"""Bytes that one entry's sample takes in a pass that holds all of it, about."""


Progress = Callable[[int, int], None]
"""Called with the number of entries done and of all entries; an index takes all entries list by list."""


@dataclass(frozen=True, slots=True, eq=False)
class BucketList:
    """Buckets of one list as the catalogue demands them."""

    keys: list[str]
    packed: PackedBuckets
    width: int  # bytes of a record
    cap: int | None = None  # a bucket takes no more records

    @property
    def largest(self) -> int:
        """The most bytes of a bucket."""
        return sys.maxsize if self.cap is None else self.cap * self.width


class ExpectedIndex:
    """The expected index of one suite for some entries."""

    def __init__(
        self, signatures: SignatureQueries, index: BandIndex, columns: EntryColumns, postings: Collection[str]
    ) -> None:
        self.postings = postings
        self._signatures = signatures
        self._index = index
        self._columns = columns

    @classmethod
    async def of(
        cls,
        signatures: SignatureQueries,
        index: BandIndex,
        entry_ids: NDArray[np.uint64],
        postings: Collection[str],
    ) -> "ExpectedIndex":
        """The index of these entries, which ascend, with posting lists of these recipes alone."""
        return cls(signatures, index, await signatures.read_columns(entry_ids, index.suite), postings)

    @property
    def size(self) -> int:
        """The number of entries."""
        return self._columns.entry_ids.size

    @property
    def list_count(self) -> int:
        """The number of lists that `lists` yields."""
        suite, count = self._index.suite, BANDS + 1
        if suite.minhash in self.postings:
            count += minhash_recipe(suite.minhash).permutations
        if suite.sample in self.postings:
            count += self._sample_passes
        return count

    @property
    def _sample_passes(self) -> int:
        return max(1, -(-_SAMPLE_ROW * self.size // _ROOM))

    async def lists(self) -> AsyncIterator[BucketList]:
        """All lists of buckets, the flat index last."""
        suite = self._index.suite
        for band in range(BANDS):
            packed = band_buckets(self._columns, band)
            yield BucketList(
                self._index.bucket_keys(suite.fingerprint, packed), packed, FINGERPRINT_RECORD.itemsize
            )
        if suite.minhash in self.postings:
            async for part in self.minhash():
                yield part
        if suite.sample in self.postings:
            async for part in self.samples():
                yield part
        packed = flat_segments(self._columns)
        yield BucketList(self._index.segment_keys(packed), packed, FLAT_RECORD.itemsize)

    @property
    def segments(self) -> list[int]:
        """The numbers of the segments of the flat index."""
        return [int(segment) for segment in flat_segments(self._columns).addresses]

    async def minhash(self) -> AsyncIterator[BucketList]:
        """The posting lists of the MinHash values."""
        recipe = self._index.suite.minhash
        entries = max(1, self._columns.entry_ids.size)
        count = minhash_recipe(recipe).permutations
        # A power of two divides the number of lists.
        at_once = min(count, 1 << max(0, (_ROOM // (4 * entries)).bit_length() - 1))
        for first in range(0, count, at_once):
            entry_ids, values = await self._signatures.read_minhash_values(
                self._columns.entry_ids, recipe, first, at_once
            )
            lists = np.arange(first, first + at_once, dtype=np.uint32)
            for number, column in zip(lists, values, strict=True):
                yield await self._postings(recipe, minhash_posting(column, number), entry_ids)

    async def samples(self) -> AsyncIterator[BucketList]:
        """The one posting list of FracMinHash, in parts."""
        recipe, passes = self._index.suite.sample, self._sample_passes
        for part in range(passes):
            postings, chosen_ids = [NO_POSTING], [np.zeros(0, dtype=np.uint64)]
            async for entry_ids, hashes in self._signatures.read_sample_hashes(
                self._columns.entry_ids, recipe
            ):
                posting = sample_posting(hashes)
                chosen = posting.addresses * np.uint64(passes) >> np.uint64(SAMPLE_BUCKET_BITS) == part
                postings.append(Posting(posting.addresses[chosen], posting.tags[chosen]))
                chosen_ids.append(entry_ids[chosen])
            joined = Posting(
                np.concatenate([posting.addresses for posting in postings]),
                np.concatenate([posting.tags for posting in postings]),
            )
            yield await self._postings(recipe, joined, np.concatenate(chosen_ids))

    async def _postings(self, recipe: str, posting: Posting, entry_ids: NDArray[np.uint64]) -> BucketList:
        packed = await asyncio.to_thread(posting_buckets, posting, entry_ids)
        return BucketList(self._index.bucket_keys(recipe, packed), packed, POSTING_BYTES, POSTING_CAP)


@dataclass(frozen=True, slots=True)
class Difference:
    """A bucket that does not hold exactly what it should."""

    key: str
    missing: Sequence[bytes]  # records
    superfluous: Sequence[bytes]  # records, each as often as it is there too often
    broken: bool = False  # it does not even consist of whole records


@dataclass(slots=True)
class BucketCounts:
    """What has been compared so far."""

    records: int = 0  # that the index should hold
    full: int = 0  # buckets that take no more records


async def compare(
    expected: ExpectedIndex, index: BandIndex, seen: BucketCounts, progress: Progress
) -> AsyncIterator[Difference]:
    """Every bucket of an index that differs from what it should hold."""
    known: set[str] = set()
    done = 0
    async for part in expected.lists():
        known.update(part.keys)
        for start in range(0, len(part.keys), _READ_AT_ONCE):
            keys = part.keys[start : start + _READ_AT_ONCE]
            data = part.packed.data(start, start + _READ_AT_ONCE)
            for key, target, actual in zip(keys, data, await index.read_buckets(keys), strict=True):
                seen.records += len(target) // part.width
                seen.full += part.cap is not None and len(actual or b"") >= part.cap * part.width
                difference = _difference(part, key, target, actual or b"")
                if difference is not None:
                    yield difference
        done += 1
        progress(expected.size * done // expected.list_count, expected.size)
    for prefix, width in index.widths(expected.postings).items():
        async for keys in index.list_buckets(prefix):
            unknown = [key for key in keys if key not in known]
            known.update(unknown)
            for key, actual in zip(unknown, await index.read_buckets(unknown), strict=True):
                if actual:
                    length = len(actual) - len(actual) % width
                    superfluous = differences(b"", actual[:length], width)[1]
                    yield Difference(key, [], superfluous, broken=length != len(actual))


def _difference(part: BucketList, key: str, expected: bytes, actual: bytes) -> Difference | None:
    if expected == actual:
        return None
    if len(actual) % part.width:
        return Difference(key, differences(expected, b"", part.width)[0], [], broken=True)
    missing, superfluous = differences(expected, actual, part.width)
    if part.cap is not None:
        # A full bucket lacks some by design.
        missing = missing[: max(0, part.cap - len(actual) // part.width + len(superfluous))]
    if not missing and not superfluous:
        return None
    return Difference(key, missing, superfluous)
