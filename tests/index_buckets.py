"""The band index as tests look into it, and its writes as they fail."""

import numpy as np
import pytest

from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import RedisClient
from app.stores.redis.epoch import size_of
from app.stores.redis.keys import bucket_keys, epochs_of
from bookprint_core.errors import Unavailable
from bookprint_core.index.tables import BucketTable, Records


def let_redis_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until undone, writes to the band index fail as if Redis were gone."""

    async def fail(*_: object, **__: object) -> None:
        raise Unavailable("Redis is gone.")

    monkeypatch.setattr(BandIndex, "insert", fail)
    monkeypatch.setattr(BandIndex, "delete", fail)


async def sizes_of(index: BandIndex, table: BucketTable) -> list[int]:
    """The buckets that each partition of a table has."""
    marks = (await index.epochs.read(complete=False)).marks
    return [size_of(marks[epoch]) for epoch in epochs_of(table)]


async def placed(index: BandIndex, *parts: Records) -> list[tuple[str, bytes]]:
    """The key of the bucket of each record, and the record."""
    found: list[tuple[str, bytes]] = []
    for records in parts:
        table = records.keys.table
        addresses, levels = records.keys.place(np.array(await sizes_of(index, table)))
        packed = [record.tobytes() for record in records.packed(levels)]
        found += zip(bucket_keys(table, addresses), packed, strict=True)
    return found


async def buckets_of(client: RedisClient) -> dict[str, bytes]:
    """Every bucket of the index, and every segment of the flat index."""
    names = [name async for names in client.names("bp:3{*") for name in names]
    keys = [name for name in names if not name.endswith(("epoch", "changes", "segments"))]
    values = await client.read(keys)
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}
