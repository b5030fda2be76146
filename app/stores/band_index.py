"""The band index in Redis: a projection of the catalogue that answers "which entries are near".

Every bucket is one string of fixed-width records (`app.core.buckets`). Beside the buckets stand the roll (all
fingerprints, in chunks, for distances whose buckets would cost more than reading everything) and the ledger
(the ids of all entries, in chunks). The ledger is written last: an entry in the ledger is in its buckets too.

The epoch names the life of the Redis server in which the index was found whole. A flush deletes it; after a
restart or a failover it no longer fits the server's run id. Until the index has been reconciled with the
catalogue, reads and writes raise `IndexRebuilding`. Every pipeline reads the epoch first and last, so a flush
in the midst of it does not pass unnoticed.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from app.core.banding import band_keys, flips_needed, probe_keys
from app.core.buckets import (
    ENTRIES_PER_CHUNK,
    FINGERPRINT_RECORD,
    ID_RECORD,
    POSTING_BUCKETS,
    POSTING_RECORD,
    Hits,
    hits_within,
    pack_fingerprint,
    pack_id,
    pack_posting,
    sharing_values,
    split,
    unpack_ids,
)
from app.core.errors import IndexRebuilding
from app.core.model import Entry, Fingerprint, MinHashSignature, require_same_recipe
from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from app.stores.outages import redis_outages
from app.stores.scripts import (
    ADD_RECORDS,
    FINISH_EPOCH,
    OPEN_EPOCH,
    READ_EPOCH,
    REMOVE_RECORDS,
    SCRIPTS,
    Script,
)

_GETS_PER_CHUNK = 3
"""Reading a chunk of the roll (24 KB) takes about as long as reading three buckets."""

BUCKETS_PROBED = (8, 136, 1096)
"""Buckets to read where bands may differ in up to 0, 1 or 2 bits."""

_SCANNED_AT_ONCE = 2000

_EPOCH = "bp:epoch"

Command = tuple[Any, ...]


class Life(Enum):
    """What is known of the index."""

    WHOLE = "whole"  # it agrees with the catalogue
    RESTARTED = "restarted"  # it was whole in an earlier life of the server: sound, but some may be missing
    LOST = "lost"  # flushed, never built, or its rebuilding was broken off: nothing in it can be relied on


@dataclass(frozen=True, slots=True)
class Record:
    """One record and the key of the bucket that holds it."""

    key: str
    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """One bucket as it was read."""

    key: str
    records: NDArray[np.void]  # (n,), of the width that the kind of bucket has


class BandIndex:
    """The buckets of one fingerprint recipe and one MinHash recipe."""

    def __init__(
        self,
        redis: Redis,
        fingerprint_recipe: str = DEFAULT_FINGERPRINT,
        minhash_recipe: str = DEFAULT_MINHASH,
    ) -> None:
        self._redis = redis
        self._fingerprint_recipe = fingerprint_recipe
        self._minhash_recipe = minhash_recipe
        self._bands = f"bp:{fingerprint_recipe}"
        self._postings = f"bp:{minhash_recipe}"
        self._ledger = f"bp:{fingerprint_recipe}+{minhash_recipe}"

    async def add(self, entries: Sequence[Entry]) -> None:
        """Write entries; repeating it changes nothing.

        Raises `Unavailable` unless every entry is surely in a whole index afterwards.
        """
        await self._guarded([command for entry in entries for command in self._adding(entry)])

    async def restore(self, entries: Sequence[Entry]) -> None:
        """Write entries while the index is being reconciled and has no epoch to rely on."""
        await self._run([command for entry in entries for command in self._adding(entry)])

    async def remove(self, entries: Sequence[Entry]) -> None:
        """Take entries out; one that is not in is passed over."""
        await self._run([_call(REMOVE_RECORDS, self.records(entry)[::-1]) for entry in entries])

    async def within(self, fingerprints: Sequence[Fingerprint], d: int) -> list[Hits]:
        """For each fingerprint every entry at Hamming distance <= d; exact for every d from 0 to 128."""
        for fingerprint in fingerprints:
            require_same_recipe(fingerprint.recipe, self._fingerprint_recipe)
        if d > 7:
            epoch, [members] = await self._guarded([("SMEMBERS", f"{self._ledger}:chunks")])
            probe_count = len(fingerprints) * BUCKETS_PROBED[flips_needed(d)] if d <= 23 else None
            if probe_count is None or _GETS_PER_CHUNK * len(members) < probe_count:
                roll = await self._read([f"{self._bands}:roll:{int(chunk)}" for chunk in members], epoch)
                return [hits_within(roll, fingerprint.bits, d) for fingerprint in fingerprints]
        probes = [
            [
                f"{self._bands}:band:{band}:{bucket}"
                for band, bucket in probe_keys(fingerprint.bits, flips_needed(d))
            ]
            for fingerprint in fingerprints
        ]
        buckets = iter(await self._read([key for keys in probes for key in keys]))
        return [
            hits_within([next(buckets) for _ in keys], fingerprint.bits, d)
            for fingerprint, keys in zip(fingerprints, probes, strict=True)
        ]

    async def sharing(self, minhash: MinHashSignature, at_least: int) -> dict[int, int]:
        """Entries that share at least this many MinHash values, with how many they share."""
        require_same_recipe(minhash.recipe, self._minhash_recipe)
        buckets = await self._read(
            [self._posting_key(i, int(value)) for i, value in enumerate(minhash.values)]
        )
        return sharing_values(buckets, minhash.values, at_least)

    async def life(self) -> Life:
        """What is known of the index in this life of the Redis server."""
        [mark, epoch] = await self._run([("GET", _EPOCH), _epoch(READ_EPOCH)])
        if epoch is not None:
            return Life.WHOLE
        return Life.LOST if mark is None or mark.startswith(b"building:") else Life.RESTARTED

    async def ping(self) -> None:
        """Raises `Unavailable` if Redis does not answer."""
        await self._run([("PING",)])

    async def begin_epoch(self, token: str) -> None:
        """Take the index out of service; a flush or a restart from now on is noticed by `finish_epoch`."""
        await self._run([_epoch(OPEN_EPOCH, token)])

    async def finish_epoch(self, token: str) -> bool:
        """Declare the index whole, if Redis has lived through since `begin_epoch`; says whether it did."""
        [finished] = await self._run([_epoch(FINISH_EPOCH, token)])
        return bool(finished)

    async def ledger(self, chunk: int) -> NDArray[np.uint64]:
        """The ids that this chunk of the ledger holds, ascending."""
        [bucket] = await self._run([("GET", f"{self._ledger}:ledger:{chunk}")])
        return unpack_ids(bucket)

    async def ledger_chunks(self) -> list[int]:
        """The chunks of the ledger that exist, ascending."""
        [chunks] = await self._run([("SMEMBERS", f"{self._ledger}:chunks")])
        return sorted(int(chunk) for chunk in chunks)

    async def holds(self, records: Sequence[Record]) -> list[bool]:
        """For each record whether its bucket holds it."""
        keys = list(dict.fromkeys(record.key for record in records))
        [found] = await self._run([("MGET", *keys)]) if keys else [[]]
        buckets = dict(zip(keys, found, strict=True))
        return [record.data in split(buckets[record.key], len(record.data)) for record in records]

    async def drop(self, key: str, records: Sequence[bytes]) -> None:
        """Remove these records, all of one width, from one bucket."""
        await self._run([_call(REMOVE_RECORDS, [Record(key, record) for record in records])])

    async def delete(self, key: str) -> None:
        """Remove a whole bucket."""
        await self._run([("DEL", key)])

    async def scan(self) -> AsyncIterator[Bucket]:
        """Every bucket with its records; what comes or goes meanwhile may be missed."""
        async for key, data in self._buckets():
            if len(data) % _width(key) == 0:
                yield Bucket(key, np.frombuffer(data, dtype=np.dtype((np.void, _width(key)))))

    async def broken(self) -> AsyncIterator[str]:
        """The keys of buckets that do not consist of whole records."""
        async for key, data in self._buckets():
            if len(data) % _width(key):
                yield key

    async def _buckets(self) -> AsyncIterator[tuple[str, bytes]]:
        for prefix in (self._bands, self._postings, self._ledger):
            seen: set[str] = set()
            cursor: int | None = None
            while cursor != 0:
                with redis_outages():
                    cursor, found = await self._redis.scan(
                        cursor or 0, match=f"{prefix}:*", count=_SCANNED_AT_ONCE
                    )
                names = {key.decode() for key in cast(list[bytes], found)} - seen
                seen |= names
                keys = [name for name in names if not name.endswith(":chunks")]
                [buckets] = await self._run([("MGET", *keys)]) if keys else [[]]
                for key, data in zip(keys, buckets, strict=True):
                    if data is not None:
                        yield key, data

    def records(self, entry: Entry) -> list[Record]:
        """Everything that the index holds of an entry, the ledger last."""
        chunk = entry.entry_id // ENTRIES_PER_CHUNK
        records = []
        if entry.fingerprint is not None:
            require_same_recipe(entry.fingerprint.recipe, self._fingerprint_recipe)
            bits = entry.fingerprint.bits
            data = pack_fingerprint(bits, entry.entry_id)
            records = [
                Record(f"{self._bands}:band:{band}:{bucket}", data)
                for band, bucket in enumerate(band_keys(bits))
            ]
            records.append(Record(f"{self._bands}:roll:{chunk}", data))
        if entry.minhash is not None:
            require_same_recipe(entry.minhash.recipe, self._minhash_recipe)
            records += [
                Record(self._posting_key(i, value), pack_posting(value, entry.entry_id))
                for i, value in enumerate(entry.minhash.values.tolist())
            ]
        records.append(Record(f"{self._ledger}:ledger:{chunk}", pack_id(entry.entry_id)))
        return records

    def _adding(self, entry: Entry) -> list[Command]:
        chunk = entry.entry_id // ENTRIES_PER_CHUNK
        return [
            ("SADD", f"{self._ledger}:chunks", chunk),
            _call(ADD_RECORDS, self.records(entry)),
        ]

    def _posting_key(self, position: int, value: int) -> str:
        return f"{self._postings}:value:{position}:{value % POSTING_BUCKETS}"

    async def _read(self, keys: Sequence[str], epoch: bytes | None = None) -> list[bytes | None]:
        """Buckets as they stood in one whole index, in the given epoch where one is given."""
        _, answers = await self._guarded([("MGET", *keys)] if keys else [], epoch)
        return answers[0] if keys else []

    async def _guarded(
        self, commands: Sequence[Command], epoch: bytes | None = None
    ) -> tuple[bytes, list[Any]]:
        """Run commands whose outcome only counts if the index was whole, in one epoch, from first to last."""
        epoch_now = _epoch(READ_EPOCH)
        before, *answers, after = await self._run([epoch_now, *commands, epoch_now])
        if before is None or before != after or (epoch is not None and before != epoch):
            raise IndexRebuilding(
                "The band index is being rebuilt from the catalogue. Try again in a few seconds.",
                retry_after=2,
            )
        return before, answers

    async def _run(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands in one round trip; a server that has lost the scripts is taught them."""
        with redis_outages():
            try:
                return await self._execute(commands)
            except NoScriptError:
                for script in SCRIPTS:
                    await self._redis.script_load(script.body)
                return await self._execute(commands)

    async def _execute(self, commands: Sequence[Command]) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return await pipeline.execute()


def _width(key: str) -> int:
    """Bytes of the records in this bucket, told by its key."""
    match key.split(":")[2]:
        case "band" | "roll":
            return FINGERPRINT_RECORD.itemsize
        case "value":
            return POSTING_RECORD.itemsize
        case _:
            return ID_RECORD.itemsize


def _call(script: Script, records: Sequence[Record]) -> Command:
    keys = [record.key for record in records]
    return ("EVALSHA", script.sha, len(keys), *keys, *(record.data for record in records))


def _epoch(script: Script, *arguments: str) -> Command:
    return ("EVALSHA", script.sha, 1, _EPOCH, *arguments)
