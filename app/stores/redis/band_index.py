"""The band index in Redis: a copy of the catalogue that answers "which entries are near".

Every bucket is one string of fixed-width records (`bookprint_core.index.records`). There are eight bands of
fingerprints, and a posting list of FracMinHash and of MinHash bands. Beside them stands the flat index of all
entries. It is written last: an entry in the flat index is in its buckets too.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.stores.redis.client import RedisClient
from app.stores.redis.epoch import Epochs
from app.stores.redis.flat_index_replica import FlatIndexReplica
from app.stores.redis.keys import (
    ALL_KEYS,
    bucket_keys,
    bucket_prefix,
    epoch_keys,
    epochs_of,
    flat_index_prefix,
    is_bucket,
)
from app.stores.redis.scripts import ADD_POSTINGS, ADD_RECORDS, MEND_POSTINGS, REMOVE_RECORDS
from bookprint_core.index.fingerprints import BANDS, probes
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.records import (
    BAND_RECORD,
    FLAT_RECORD,
    LIST_BITS,
    NO_POSTING,
    POSTING_BYTES,
    PackedBuckets,
    in_lists,
    pack_bands,
    pack_postings,
    posted_hashes,
    sample_posting,
)
from bookprint_core.matching.search import IndexRead, Plan
from bookprint_core.model import Entry, require_same_recipe
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_SAMPLE

_BUCKETS_AT_ONCE = 500
"""Whole buckets written in one round trip."""


@dataclass(frozen=True, slots=True)
class BucketRecords:
    """Records of one recipe and the addresses of the buckets that they belong to."""

    recipe: str
    addresses: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        """The keys of the buckets, one for each record."""
        return bucket_keys(self.recipe, np.array(self.addresses, dtype=np.uint32))

    @property
    def epochs(self) -> list[str]:
        """The keys of the epochs of their partitions."""
        return epochs_of(self.recipe, np.array(self.addresses, dtype=np.uint32))


class BandIndex:
    """The buckets and the flat index."""

    def __init__(self, client: RedisClient, bands: MinHashBands) -> None:
        self.bands = bands
        self.epochs = Epochs(client, epoch_keys(bands))
        self.flat_index = FlatIndexReplica(client, flat_index_prefix(bands))
        self._client = client

    async def read(self, plan: Plan) -> IndexRead:
        """The buckets of a plan and the flat index, in one round trip.

        Raises `IndexRebuilding` where it cannot be relied on.
        """
        bands = NO_POSTING.addresses if plan.bands is None else plan.bands
        latest = self.flat_index.latest
        lists = 1 if latest is None else latest.posting_lists
        while True:
            firsts = np.arange(lists, dtype=np.uint64)[:, None] << np.uint64(LIST_BITS)
            posted = in_lists(plan.sample.addresses, firsts).ravel()
            reading = await self.flat_index.read((DEFAULT_FINGERPRINT, bands), (DEFAULT_SAMPLE, posted))
            if reading.flat.posting_lists <= lists:
                return IndexRead(reading.flat, reading.values[: bands.size], reading.values[bands.size :])
            lists = reading.flat.posting_lists

    async def insert(self, entries: Sequence[Entry], *, missing: bool = False, guarded: bool = True) -> None:
        """Write entries; repeating it changes nothing.

        With `missing` a part of an entry may be there already. Raises `Unavailable` unless every entry is
        surely in a complete index afterwards; where it is not `guarded`, the index is being built and has no
        epoch to rely on.
        """
        if not entries:
            return
        records = [self.records([entry]) for entry in entries]
        touched = (epoch for parts in records for part in parts for epoch in part.epochs)
        epochs = Epochs(self._client, [self.flat_index.epoch, *touched])
        marks = await epochs.require() if guarded else None
        keys = [key for bands, _ in records for key in bands.keys]
        await self._client.call_each(ADD_RECORDS, keys, [each for bands, _ in records for each in bands.data])
        postings = MEND_POSTINGS if missing else ADD_POSTINGS
        for _, posted in records:
            await self._client.call_each(postings, posted.keys, posted.data)
        await self.flat_index.insert(entries)
        if guarded:
            await epochs.require(marks)

    async def delete(self, entries: Sequence[Entry]) -> None:
        """Take entries out; entries that are not in are passed over."""
        if entries:
            for part in self.records(entries):
                await self._client.call_each(REMOVE_RECORDS, part.keys, part.data)
            await self.flat_index.delete(entries)

    async def read_buckets(self, keys: Sequence[str]) -> list[bytes | None]:
        """The buckets with these keys, whether or not the index is complete."""
        return await self._client.read(keys)

    async def write_buckets(self, keys: Sequence[str], packed: PackedBuckets, largest: int) -> None:
        """Write whole buckets, at most `largest` bytes of each, while the index is out of service."""
        for start in range(0, len(keys), _BUCKETS_AT_ONCE):
            end = start + _BUCKETS_AT_ONCE
            data = (bucket[:largest] for bucket in packed.data(start, end))
            await self._client.write(dict(zip(keys[start:end], data, strict=True)))

    async def delete_records(self, key: str, records: Sequence[bytes]) -> None:
        await self._client.call_each(REMOVE_RECORDS, [key] * len(records), records)
        if key.startswith(self.flat_index.segment_prefix):
            await self.flat_index.note_deleted(records)

    async def delete_all(self) -> None:
        """Remove the index, also one of other recipes; no lookup may be answered from it.

        The epochs of this index stay. Others go first: without them nothing is read there.
        """
        kept = set(epoch_keys(self.bands))
        for pattern in ALL_KEYS:
            async for keys in self._client.names(pattern):
                await self._client.run([("UNLINK", key) for key in keys if key not in kept])

    def widths(self) -> dict[str, int]:
        """Bytes of a record, by what the keys of buckets begin with: bands, posting list, flat index."""
        widths = {DEFAULT_FINGERPRINT: BAND_RECORD.itemsize, DEFAULT_SAMPLE: POSTING_BYTES}
        prefixes = {bucket_prefix(recipe): width for recipe, width in widths.items()}
        return prefixes | {self.flat_index.segment_prefix: FLAT_RECORD.itemsize}

    async def list_buckets(self, prefix: str) -> AsyncIterator[list[str]]:
        """The keys of all buckets that begin so, some at a time."""
        async for keys in self._client.names(f"{prefix}*"):
            yield [key for key in keys if is_bucket(key)]

    async def ping(self) -> None:
        """Raises `Unavailable` if Redis, or a node of the cluster, does not answer."""
        await self._client.ping()

    async def require_noeviction(self) -> None:
        """Raise BookprintError where Redis, or a node of the cluster, may drop keys to make room."""
        await self._client.require_noeviction()

    def records(self, entries: Sequence[Entry]) -> tuple[BucketRecords, BucketRecords]:
        """The records of these entries in the bands and in the posting list."""
        bands, posted = BucketRecords(DEFAULT_FINGERPRINT), BucketRecords(DEFAULT_SAMPLE)
        for entry in entries:
            entry_ids = np.array([entry.entry_id], dtype=np.uint64)
            if entry.fingerprint is not None:
                require_same_recipe(entry.fingerprint.recipe, DEFAULT_FINGERPRINT)
                bits = entry.fingerprint.bits
                bands.addresses.extend(probes(bits, 0).tolist())
                record = pack_bands(np.frombuffer(bits, dtype=np.uint8), entry_ids)
                bands.data.extend([record.tobytes()] * BANDS)
            posting = sample_posting(posted_hashes(entry, self.bands))
            posted.addresses.extend(in_lists(posting.addresses, entry_ids).tolist())
            posted.data.extend(record.tobytes() for record in pack_postings(posting.tags, entry_ids))
        return bands, posted
