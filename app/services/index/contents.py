"""What the band index must hold of the catalogue, one list of buckets after the other.

Reading the MinHash of a million books at once would take half a gigabyte, so the posting lists are made in
passes, each of which reads only the part of the signatures that it needs.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.index.bands import BANDS
from app.core.index.packing import EntryColumns, PackedBuckets, band_buckets, flat_segments, posting_buckets
from app.core.index.records import (
    FINGERPRINT_RECORD,
    FLAT_RECORD,
    POSTING_BYTES,
    POSTING_CAP,
    SAMPLE_BUCKET_BITS,
    Posting,
    minhash_posting,
    pack_postings,
    sample_posting,
)
from app.core.recipe import minhash_recipe
from app.stores.postgres.signatures import SignatureReader
from app.stores.redis.band_index import BandIndex

_ROOM = 1024 * 1024 * 1024
"""Bytes of signatures held at a time, about."""

_SAMPLE_ROW = 1800
"""Bytes that one entry's sample takes in a pass that holds all of it, about."""


@dataclass(frozen=True, slots=True, eq=False)
class BucketList:
    """A list of buckets, filled as the catalogue demands."""

    prefix: str  # of all keys of the list; the bucket's number follows
    width: int  # bytes of a record
    filled: PackedBuckets
    cap: int | None = None  # a bucket takes no more records

    @property
    def keys(self) -> list[str]:
        """The keys of the buckets that hold anything."""
        return [f"{self.prefix}{bucket}" for bucket in self.filled.buckets.tolist()]

    @property
    def most(self) -> int:
        """How many bytes a bucket takes."""
        return sys.maxsize if self.cap is None else self.cap * self.width


class ExpectedIndex:
    """What the index of one suite must hold of some entries."""

    def __init__(
        self, signatures: SignatureReader, index: BandIndex, columns: EntryColumns, postings: Collection[str]
    ) -> None:
        self.postings = postings
        self._signatures = signatures
        self._index = index
        self._columns = columns

    @classmethod
    async def of(
        cls,
        signatures: SignatureReader,
        index: BandIndex,
        entry_ids: NDArray[np.uint64],
        postings: Collection[str],
    ) -> "ExpectedIndex":
        """The projection of these entries, which ascend, with posting lists of these recipes alone."""
        return cls(signatures, index, await signatures.columns(entry_ids, index.suite), postings)

    @property
    def size(self) -> int:
        """How many entries it is of."""
        return self._columns.entry_ids.size

    @property
    def list_count(self) -> int:
        """How many lists `lists` tells of."""
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
        """All lists of buckets, the roll last."""
        for band in self.bands():
            yield band
        if self._index.suite.minhash in self.postings:
            async for part in self.minhash():
                yield part
        if self._index.suite.sample in self.postings:
            async for part in self.samples():
                yield part
        yield self.flat_index()

    def bands(self) -> Sequence[BucketList]:
        """The eight bands."""
        return [
            BucketList(
                self._index.band_prefix(band), FINGERPRINT_RECORD.itemsize, band_buckets(self._columns, band)
            )
            for band in range(BANDS)
        ]

    def flat_index(self) -> BucketList:
        """The chunks of the roll."""
        return BucketList(
            self._index.flat_index.segment_prefix, FLAT_RECORD.itemsize, flat_segments(self._columns)
        )

    async def minhash(self) -> AsyncIterator[BucketList]:
        """The posting lists of the MinHash values."""
        recipe = self._index.suite.minhash
        entries = max(1, self._columns.entry_ids.size)
        count = minhash_recipe(recipe).permutations
        # A power of two divides the number of lists.
        at_once = min(count, 1 << max(0, (_ROOM // (4 * entries)).bit_length() - 1))
        for first in range(0, count, at_once):
            entry_ids, values = await self._signatures.minhash_values(
                self._columns.entry_ids, recipe, first, at_once
            )
            for number, column in enumerate(values, first):
                filled = await asyncio.to_thread(_posted, minhash_posting(column), entry_ids)
                yield self._postings(recipe, number, filled)

    async def samples(self) -> AsyncIterator[BucketList]:
        """The one posting list of the shingle samples, in parts."""
        recipe = self._index.suite.sample
        passes = self._sample_passes
        for part in range(passes):
            buckets = [np.zeros(0, dtype=np.uint32)]
            records = [np.zeros((0, POSTING_BYTES), dtype=np.uint8)]
            async for entry_ids, found in self._signatures.sample_hashes(self._columns.entry_ids, recipe):
                posting = sample_posting(found)
                chosen = posting.places.buckets * np.uint64(passes) >> np.uint64(SAMPLE_BUCKET_BITS) == part
                buckets.append(posting.places.buckets[chosen])
                records.append(pack_postings(posting.tags[chosen], entry_ids[chosen]).copy())
            filled = await asyncio.to_thread(
                posting_buckets, np.concatenate(buckets), np.concatenate(records)
            )
            yield self._postings(recipe, 0, filled)

    def _postings(self, recipe: str, of: int, filled: PackedBuckets) -> BucketList:
        return BucketList(self._index.posting_prefix(recipe, of), POSTING_BYTES, filled, POSTING_CAP)


def _posted(posting: Posting, entry_ids: NDArray[np.uint64]) -> PackedBuckets:
    return posting_buckets(posting.places.buckets, pack_postings(posting.tags, entry_ids))
