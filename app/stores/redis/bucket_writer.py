"""Writing to the buckets of the band index, whose partitions grow meanwhile.

A writer stores the epochs of all partitions, which contain their sizes. Each change of a partition is one
script call that does nothing if the epoch has changed. If only the size has changed, the writer computes the
buckets of the records anew; if the building has changed, it raises `IndexRebuilding`.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from app.stores.redis.client import Command, RedisClient
from app.stores.redis.epoch import Marks, building_of, rebuilding, size_of
from app.stores.redis.keys import bucket_keys, epochs_of
from app.stores.redis.scripts import GROW, Script
from bookprint_core.index.tables import BucketNumbers, BucketTable, Records, addresses

_RECORDS_AT_ONCE = 64
"""Maximum number of records that one call writes."""

_DIVIDED_AT_ONCE = 256
"""Maximum number of buckets that one call divides; it divides fewer unless most are empty."""

_GROWING_AT_ONCE = 4
"""Number of partitions that grow in one round trip, so that lookups wait at most a millisecond."""


class BucketWriter:
    """Writer of records to the index whose epochs were read as `marks`."""

    def __init__(
        self, client: RedisClient, marks: Marks, sizes: Mapping[BucketTable, int] | None = None
    ) -> None:
        """Create with `sizes`, the minimum number of buckets of each partition of a table before writing.

        Raises `IndexRebuilding` if an epoch is missing.
        """
        if not all(marks.values()):
            raise rebuilding()
        self._client = client
        self._marks = dict(marks)
        self._least = sizes or {}

    async def change(self, script: Script, records: Records) -> None:
        """Call a script that processes records separately; raises `IndexRebuilding` in another building."""
        table = records.keys.table
        epochs = epochs_of(table)
        records = records.chosen(np.argsort(records.keys.partitions, kind="stable"))
        while records.entry_ids.size:
            await self._grow()
            sizes = np.array([size_of(self._marks[epoch]) for epoch in epochs])
            places, levels = records.keys.place(sizes)
            keys, data = bucket_keys(table, places), records.packed(levels).tobytes()
            id_bits = table.id_bits(levels).astype(np.uint8).tobytes()
            parts = [*_parts(records.keys.partitions)]
            calls: list[Command] = [
                (
                    "EVALSHA",
                    script.sha,
                    end - start + 1,
                    *keys[start:end],
                    epochs[partition],
                    data[start * table.width : end * table.width],
                    id_bits[start:end],
                    self._marks[epochs[partition]] or b"",
                )
                for partition, start, end in parts
            ]
            answers = await self._client.call(calls)
            refused = np.zeros(records.entry_ids.size, dtype=np.bool_)
            for (partition, start, end), answer in zip(parts, answers, strict=True):
                if answer != 1:
                    self._note(epochs[partition], answer)
                    refused[start:end] = True
            records = records.chosen(refused)

    async def _grow(self) -> None:
        """Grow each partition to its minimum number of buckets."""
        while True:
            growing = [
                (epoch, self._growth(table, partition, epoch))
                for table, size in self._least.items()
                for partition, epoch in enumerate(epochs_of(table))
                if size_of(self._marks[epoch]) < size
            ][:_GROWING_AT_ONCE]
            if not growing:
                return
            answers = await self._client.run([call for _, call in growing])
            for (epoch, _), answer in zip(growing, answers, strict=True):
                self._note(epoch, answer)

    def _growth(self, table: BucketTable, partition: int, epoch: str) -> Command:
        """Return a call that grows a partition, at most to twice the number of buckets of its level."""
        size = size_of(self._marks[epoch])
        level = size.bit_length() - 1
        count = min(self._least[table] - size, (2 << level) - size, _DIVIDED_AT_ONCE)
        new = np.arange(size, size + count, dtype=np.uint32)
        pairs = np.stack([new - np.uint32(1 << level), new], axis=1).ravel()
        keys = bucket_keys(table, addresses(np.full(pairs.size, partition, dtype=np.uint32), pairs))
        byte, bit = divmod(8 * table.width - 32 + int(table.id_bits(np.array(level, dtype=np.uint32))), 8)
        held = self._marks[epoch] or b""
        return ("EVALSHA", GROW.sha, len(keys) + 1, *keys, epoch, table.width, byte, 1 << bit, held)

    def _note(self, epoch: str, held: bytes | None) -> None:
        if building_of(held) != building_of(self._marks[epoch]):
            raise rebuilding()
        self._marks[epoch] = held


def _parts(partitions: BucketNumbers) -> Iterator[tuple[int, int, int]]:
    """Yield the partition, start and end of the rows that one call writes."""
    bounds: NDArray[np.intp] = np.flatnonzero(np.diff(partitions, prepend=-1, append=-1))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        for first in range(start, end, _RECORDS_AT_ONCE):
            yield int(partitions[first]), first, min(end, first + _RECORDS_AT_ONCE)
