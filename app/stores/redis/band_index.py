"""The band index in Redis: a projection of the catalogue that answers "which entries are near".

Every bucket is one string of fixed-width records (`app.core.index.records`): those of the eight bands, those
of the 128 MinHash posting lists and those of the shingle sample's list. Beside them stands the roll, the list
of all entries. It is written last: an entry in the roll is in its buckets too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.core.index.bands import BANDS, probes
from app.core.index.packing import PackedBuckets
from app.core.index.probing import probe_radius
from app.core.index.records import (
    FINGERPRINT_RECORD,
    FLAT_RECORD,
    POSTING_BYTES,
    Hits,
    Posting,
    Shared,
    hits_within,
    minhash_posting,
    pack_fingerprint,
    pack_postings,
    sample_posting,
    sharing,
)
from app.core.matching.verification import VERIFICATION, Candidates, needs_sample, verified
from app.core.model import Entry, Fingerprint, require_same_recipe
from app.core.recipe import DEFAULT_SUITE, Suite
from app.stores.redis.epoch import Epoch
from app.stores.redis.flat_index_replica import FlatIndexReplica, Reading
from app.stores.redis.nodes import CallEach, Command, Instruction, Nodes, ReadBuckets, WriteBuckets
from app.stores.redis.scripts import ADD_POSTINGS, ADD_RECORDS, MEND_POSTINGS, REMOVE_RECORDS, Script

_BUCKETS_AT_ONCE = 500
"""Whole buckets per command."""

_BYTES_AT_ONCE = 4_000_000
"""Bytes of whole buckets per round trip, about."""

_NOTHING = Hits(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint8))

_NO_POSTING = minhash_posting(np.zeros(0, dtype=np.uint32))


@dataclass(frozen=True, slots=True, eq=False)
class Proposed:
    """Entries that may be related to a query, with ascending ids; arrays of one length."""

    entry_ids: NDArray[np.uint64]
    distances: NDArray[np.uint8]  # 129 where either book has no fingerprint
    shared: NDArray[np.int64]  # equal MinHash values or hashes in both samples, whichever are more
    near: NDArray[np.bool_]  # a verified near-duplicate


class Found(NamedTuple):
    """Hits, nearest first, and what they rest on."""

    hits: Hits
    load: int  # of the roll, for which the catalogue may vouch
    vouched: bool  # it has: the index was whole, so what is not among the hits was not there


class Records(NamedTuple):
    """Records and the keys of the buckets that they belong to."""

    keys: list[str]
    data: list[bytes]


class _Read(NamedTuple):
    """What the index said to a query."""

    reading: Reading
    bits: bytes | None
    near: Hits
    buckets: list[Sequence[bytes | None]]  # of the posting lists

    def candidates(
        self, kin: NDArray[np.uint64], equal: Shared, shared: Shared | None
    ) -> tuple[NDArray[np.uint64], Candidates]:
        """What is near and the kin, as far as they have signatures: their ids, ascending, and signatures."""
        flat_index = self.reading.flat_index
        near = self.near.entry_ids
        rows = flat_index.rows(np.union1d(near, kin) if near.size else kin)
        entry_ids = flat_index.entry_ids(rows)
        return entry_ids, Candidates(
            distances=flat_index.distances(self.bits, rows),
            equal_values=equal.counts_of(entry_ids),
            shared=np.zeros(rows.size, dtype=np.int64) if shared is None else shared.counts_of(entry_ids),
            shingle_counts=flat_index.shingle_counts(rows),
            levels=flat_index.levels(rows),
        )


class BandIndex:
    """The buckets and the roll of one suite of recipes."""

    def __init__(self, nodes: Nodes, suite: Suite = DEFAULT_SUITE) -> None:
        self.suite = suite
        self.nodes = nodes
        self.epoch = Epoch(nodes)
        self.flat_index = FlatIndexReplica(
            nodes, self.epoch, f"bp:{suite.fingerprint}+{suite.minhash}+{suite.sample}"
        )

    async def add(self, entries: Sequence[Entry]) -> None:
        """Write new entries; repeating it changes nothing.

        Raises `Unavailable` unless every entry is surely in a whole index afterwards.
        """
        if entries:
            await self.epoch.guarded(*self._adding(entries, ADD_POSTINGS))

    async def mend(self, entries: Sequence[Entry]) -> None:
        """Write what there is not of entries; raises as `add` does."""
        if entries:
            await self.epoch.guarded(*self._adding(entries, MEND_POSTINGS))

    async def restore(self, entries: Sequence[Entry]) -> None:
        """Mend entries while the index is being reconciled and has no epoch to rely on."""
        if entries:
            await self.nodes.run(*self._adding(entries, MEND_POSTINGS))

    async def remove(self, entries: Sequence[Entry]) -> None:
        """Take entries out; one that is not in is passed over."""
        if entries:
            records = self.records(entries)
            await self.nodes.run(
                [CallEach(REMOVE_RECORDS, *part) for part in records], *self.flat_index.removing(entries)
            )

    async def within(self, fingerprint: Fingerprint, d: int) -> Found:
        """Every entry at Hamming distance <= d, exactly, for every d from 0 to 128."""
        read = await self._read(self._bits(fingerprint), d)
        return Found(read.near, read.reading.load, read.reading.vouched)

    async def nearest(self, fingerprint: Fingerprint, k: int) -> Found:
        """The k entries at the smallest distances, exactly."""
        bits = self._bits(fingerprint)
        reading = await self.flat_index.read()
        return Found(reading.flat_index.nearest(bits, k), reading.load, reading.vouched)

    async def near_duplicates(self, query: Entry) -> Found:
        """Every entry that the verification rule confirms; the distance is 129 where one has no fingerprint.

        The rule accepts nothing that neither the bands nor a posting list proposes, so none is missed but
        through a full posting bucket. Few lookups meet a candidate that only the shingle samples can settle;
        the others do without their buckets, which are the fuller ones.
        """
        minhash, sample = self._postings_of(query)
        read = await self._read(
            self._bits_of(query), VERIFICATION.distance_alone, _postings(self.suite.minhash, minhash)
        )
        reading, vouched = read.reading, read.reading.vouched
        equal = sharing(read.buckets[0], minhash.tags)
        entry_ids, candidates = read.candidates(equal.at_least(VERIFICATION.kin), equal, None)
        if needs_sample(query, candidates).any():
            reading = await self.flat_index.read(_postings(self.suite.sample, sample))
            [held], vouched = reading.answers, vouched and reading.vouched
            candidates = replace(candidates, shared=sharing(held, sample.tags).counts_of(entry_ids))
        near = verified(query, candidates)
        hits = Hits(entry_ids[near], np.minimum(candidates.distances[near], 129)).sorted()
        return Found(hits, reading.load, vouched)

    async def proposed(self, query: Entry) -> Proposed:
        """Every entry that may be related to the query, be it only by a small part of either book.

        These are its near-duplicates, and whatever has three MinHash values or three hashes of the shingle
        sample in common with it.
        """
        minhash, sample = self._postings_of(query)
        read = await self._read(
            self._bits_of(query),
            VERIFICATION.distance_alone,
            _postings(self.suite.minhash, minhash),
            _postings(self.suite.sample, sample),
        )
        equal, shared = map(sharing, read.buckets, (minhash.tags, sample.tags))
        kin = np.union1d(equal.at_least(VERIFICATION.kin), shared.at_least(VERIFICATION.kin))
        entry_ids, candidates = read.candidates(kin, equal, shared)
        return Proposed(
            entry_ids,
            np.minimum(candidates.distances, 129),
            np.maximum(candidates.equal_values, candidates.shared),
            verified(query, candidates),
        )

    async def _read(self, bits: bytes | None, d: int, *postings: Instruction) -> _Read:
        """What lies within distance d of the bits, by bands or scan, and buckets of posting lists."""
        probing, flips = ([], None) if bits is None else self._probing(bits, d)
        reading = await self.flat_index.read(*probing, *postings)
        buckets = reading.answers
        if bits is None:
            near = _NOTHING
        elif flips is None:
            near = reading.flat_index.within(bits, d)
        else:
            near, buckets = hits_within(buckets[0], bits, d), buckets[1:]
        return _Read(reading, bits, near, buckets)

    def _probing(self, bits: bytes, d: int) -> tuple[list[Instruction], int | None]:
        """What to read for distance d, and with how many flips; nothing and None: scan the roll."""
        latest = self.flat_index.latest
        if latest is None:
            return [], None
        flips = probe_radius(bits, d, latest.bucket_sizes, latest.size, self.nodes.key_nanoseconds)
        if flips is None:
            return [], None
        return [ReadBuckets(_prefix(self.suite.fingerprint), probes(bits, flips))], flips

    def _adding(self, entries: Sequence[Entry], script: Script) -> list[Sequence[Instruction]]:
        records = [self.records([entry]) for entry in entries]
        return [
            [CallEach(ADD_RECORDS, *bands) for bands, _ in records]
            + [CallEach(script, *postings) for _, postings in records],
            *self.flat_index.adding(entries),
        ]

    def records(self, entries: Sequence[Entry]) -> tuple[Records, Records]:
        """What the bands and what the posting lists hold of these entries."""
        bands, postings = Records([], []), Records([], [])
        for entry in entries:
            if entry.fingerprint is not None:
                bits = self._bits(entry.fingerprint)
                bands.keys.extend(probes(bits, 0).keys(_prefix(self.suite.fingerprint)))
                bands.data.extend([pack_fingerprint(bits, entry.entry_id)] * BANDS)
            for recipe, posting in zip(self._posted, self._postings_of(entry), strict=True):
                postings.keys.extend(posting.places.keys(_prefix(recipe)))
                entry_ids = np.full(posting.tags.size, entry.entry_id, dtype=np.uint64)
                postings.data.extend(map(bytes, pack_postings(posting.tags, entry_ids)))
        return bands, postings

    @property
    def _posted(self) -> tuple[str, str]:
        return self.suite.minhash, self.suite.sample

    def _postings_of(self, entry: Entry) -> tuple[Posting, Posting]:
        minhash = sample = _NO_POSTING
        if entry.minhash is not None:
            require_same_recipe(entry.minhash.recipe, self.suite.minhash)
            minhash = minhash_posting(entry.minhash.values)
        if entry.sample is not None:
            require_same_recipe(entry.sample.recipe, self.suite.sample)
            sample = sample_posting(entry.sample.hashes)
        return minhash, sample

    def prefixes(self, postings: Collection[str]) -> list[tuple[str, int]]:
        """How the keys of buckets begin, of posting lists for these recipes, and how wide records are."""
        return [
            (_prefix(self.suite.fingerprint), FINGERPRINT_RECORD.itemsize),
            *((_prefix(recipe), POSTING_BYTES) for recipe in self._posted if recipe in postings),
            (self.flat_index.segment_prefix, FLAT_RECORD.itemsize),
        ]

    async def clear(self, postings: Collection[str]) -> None:
        """Remove every bucket, with posting lists of these recipes; no lookup may be answered from them."""
        await self.flat_index.forget_changes()
        for prefix, _ in self.prefixes(postings):
            async for names in self.nodes.names(prefix):
                await self.nodes.run([Command("UNLINK", name) for name in names])
        await self.nodes.run(self.flat_index.forgetting())

    async def write(self, prefix: str, filled: PackedBuckets, most: int) -> None:
        """Write whole buckets of a list, at most so many bytes of each, while the index is out of service."""
        count, waiting = filled.buckets.size, 0
        some: list[Instruction] = []
        for start in range(0, count, _BUCKETS_AT_ONCE):
            end = min(start + _BUCKETS_AT_ONCE, count)
            some.append(WriteBuckets(prefix, filled, start, end, most))
            waiting += int(filled.bounds[end] - filled.bounds[start])
            if waiting > _BYTES_AT_ONCE:
                await self.nodes.run(some)
                some, waiting = [], 0
        await self.nodes.run(some)

    async def drop(self, key: str, records: Sequence[bytes]) -> None:
        """Take these records out of one bucket."""
        await self.nodes.run(
            [CallEach(REMOVE_RECORDS, [key] * len(records), list(records))],
            self.flat_index.noting(key, records),
        )

    async def delete(self, key: str) -> None:
        """Remove a whole bucket."""
        await self.nodes.run([Command("DEL", key)])

    def band_prefix(self, band: int) -> str:
        """The keys of this band, but for the number of the bucket."""
        return f"{_prefix(self.suite.fingerprint)}{band}:"

    def posting_prefix(self, recipe: str, of: int) -> str:
        """The keys of this posting list of a recipe, but for the number of the bucket."""
        return f"{_prefix(recipe)}{of}:"

    def _bits_of(self, query: Entry) -> bytes | None:
        return None if query.fingerprint is None else self._bits(query.fingerprint)

    def _bits(self, fingerprint: Fingerprint) -> bytes:
        require_same_recipe(fingerprint.recipe, self.suite.fingerprint)
        return fingerprint.bits


def _postings(recipe: str, posting: Posting) -> ReadBuckets:
    return ReadBuckets(_prefix(recipe), posting.places)


def _prefix(recipe: str) -> str:
    return f"bp:{recipe}:"
