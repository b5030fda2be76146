"""The band index in Redis: a copy of the catalogue's signatures for finding near entries.

Every bucket is one string of fixed-width records (`bookprint_core.index.records`). The index contains eight
bands of fingerprints, postings by hashes of samples and of MinHash bands, and the flat index of all entries.
The flat index is written last: an entry in the flat index is also in its buckets.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.stores.redis.bucket_writer import BucketWriter
from app.stores.redis.client import RedisClient
from app.stores.redis.epoch import Epochs, size_of
from app.stores.redis.flat_index_replica import FlatIndexReplica
from app.stores.redis.keys import ALL_KEYS, bucket_keys, epochs_of, flat_index_prefix, least_sizes
from app.stores.redis.scripts import ADD_POSTINGS, ADD_RECORDS, MEND_POSTINGS, REMOVE_RECORDS
from bookprint_core.index.fingerprints import BANDS
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.records import ENTRIES_PER_SEGMENT, PackedBuckets, band_records, posted_hashes
from bookprint_core.index.tables import (
    BAND_BUCKETS,
    TABLES,
    BucketKeys,
    BucketNumbers,
    BucketTable,
    Records,
    addresses,
    posting_records,
)
from bookprint_core.matching.search import NO_KEYS, IndexRead, Plan
from bookprint_core.model import Entry, require_same_recipe
from bookprint_core.recipe import DEFAULT_FINGERPRINT

_WRITTEN_AT_ONCE = 500
"""Number of complete buckets written in one round trip."""

_READ_AT_ONCE = 1000
"""Number of buckets read in one round trip when all buckets are read."""

_NO_BANDS = BucketKeys(BAND_BUCKETS, NO_KEYS.partitions, NO_KEYS.values)


@dataclass(frozen=True, slots=True, eq=False)
class BucketsRead:
    """Some buckets of one partition, read when the partition had `size` buckets."""

    size: int
    addresses: BucketNumbers  # (n,), ascending
    values: Sequence[bytes | None]  # (n,)


class BandIndex:
    """Store of the buckets and the flat index."""

    def __init__(self, client: RedisClient, bands: MinHashBands) -> None:
        self.bands = bands
        self.epochs = Epochs(client, least_sizes(bands))
        self.flat_index = FlatIndexReplica(client, flat_index_prefix(bands))
        self._client = client

    async def read(self, plan: Plan) -> IndexRead:
        """Return the buckets of a plan and the flat index, read together.

        Raises `IndexRebuilding` if the index is not complete.
        """
        reading = await self.flat_index.read(plan.bands or _NO_BANDS, plan.sample)
        return IndexRead(reading.flat, *reading.buckets)

    async def insert(self, entries: Sequence[Entry], *, missing: bool = False, guarded: bool = True) -> None:
        """Write entries; writing them again changes nothing.

        With `missing`, parts of an entry may be in the index already. Raises `Unavailable` unless every entry
        is certainly in a complete index afterwards. An index that is being built has no valid epoch and is
        not `guarded`.
        """
        if not entries:
            return
        listed = ("SCARD", self.flat_index.segments_key)
        read = await self.epochs.read(listed, complete=guarded)
        count = max(ENTRIES_PER_SEGMENT * read.answers[0], len(entries))
        largest = max(entry.entry_id for entry in entries)
        sizes = {table: table.size_for(count, largest) for table in TABLES}
        writer = BucketWriter(self._client, read.marks, sizes)
        bands, posted = self.records(entries)
        await writer.change(ADD_RECORDS, bands)
        for records in posted:
            await writer.change(MEND_POSTINGS if missing else ADD_POSTINGS, records)
        await self.flat_index.insert(entries)
        if guarded:
            await self.epochs.require(read.marks)

    async def delete(self, entries: Sequence[Entry]) -> None:
        """Remove entries from the index; other entries are skipped."""
        if entries:
            bands, posted = self.records(entries)
            await self.delete_records([bands, *posted])
            await self.flat_index.delete(entries)

    async def delete_records(self, records: Sequence[Records]) -> None:
        """Remove records from their present buckets."""
        if not records:
            return
        writer = BucketWriter(self._client, (await self.epochs.read(complete=False)).marks)
        for each in records:
            await writer.change(REMOVE_RECORDS, each)

    async def buckets(
        self, table: BucketTable, partition: int, first: int = 0, step: int = 1
    ) -> AsyncIterator[BucketsRead]:
        """Yield all buckets of a partition, or every `step`-th bucket from `first` on, in batches.

        Buckets are read by ascending number. A record that moves to a new bucket meanwhile is read there.
        """
        size, epoch = table.least, epochs_of(table)[partition]
        while first < size:
            numbers = np.arange(first, min(size, first + step * _READ_AT_ONCE), step, dtype=np.uint32)
            places = addresses(np.full(numbers.size, partition, dtype=np.uint32), numbers)
            mark, *values = await self._client.read([epoch, *bucket_keys(table, places)])
            size = size_of(mark) or size
            yield BucketsRead(size, places, values)
            first += step * _READ_AT_ONCE

    async def read_strings(self, keys: Sequence[str]) -> list[bytes | None]:
        """Read the strings at these keys, whether or not the index is complete."""
        return await self._client.read(keys)

    async def write_buckets(self, keys: Sequence[str], packed: PackedBuckets) -> None:
        """Write complete buckets, while the index is out of service."""
        for start in range(0, len(keys), _WRITTEN_AT_ONCE):
            end = start + _WRITTEN_AT_ONCE
            await self._client.write(dict(zip(keys[start:end], packed.data(start, end), strict=True)))

    async def resize(self, entries: int, largest_id: int) -> dict[BucketTable, NDArray[np.int64]]:
        """Set the number of buckets in an empty index, out of service; return it for each partition."""
        sizes = {table: table.size_for(entries, largest_id) for table in TABLES}
        await self.epochs.resize({epoch: size for table, size in sizes.items() for epoch in epochs_of(table)})
        return {table: np.full(table.partitions, size) for table, size in sizes.items()}

    async def delete_all(self) -> None:
        """Delete the index, also of other recipes or an earlier form; no lookup may read it meanwhile.

        The epochs of this index stay. Other epochs are deleted first: without them their index is not read.
        """
        kept = {*least_sizes(self.bands)}
        for pattern in ALL_KEYS:
            async for keys in self._client.names(pattern):
                await self._client.run([("UNLINK", key) for key in keys if key not in kept])

    async def ping(self) -> None:
        """Raise `Unavailable` if Redis, or a node of the cluster, does not answer."""
        await self._client.ping()

    async def require_noeviction(self) -> None:
        """Raise BookprintError if Redis, or a node of the cluster, may drop keys when its memory is full."""
        await self._client.require_noeviction()

    def records(self, entries: Sequence[Entry]) -> tuple[Records, list[Records]]:
        """Return the records of these entries in the bands, and the postings of each entry."""
        fingerprints = {
            entry.entry_id: entry.fingerprint for entry in entries if entry.fingerprint is not None
        }
        for fingerprint in fingerprints.values():
            require_same_recipe(fingerprint.recipe, DEFAULT_FINGERPRINT)
        posted = []
        for entry in entries:
            hashes = posted_hashes(entry, self.bands)
            posted.append(posting_records(hashes, np.full(hashes.size, entry.entry_id, dtype=np.uint64)))
        bits = np.frombuffer(b"".join(each.bits for each in fingerprints.values()), dtype=np.uint8)
        entry_ids = np.array([*fingerprints], dtype=np.uint64)
        return band_records(bits.reshape(-1, 16), entry_ids, range(BANDS)), posted
