"""How a bucket of the band index is best kept in Redis: one packed string, or one set.

The same uniform fingerprints go into both shapes of the eight-band index, on one Valkey and in one run.
Uniform fingerprints spread as thinly as can be; one crowded bucket of 5,000 copies shows the other end.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import redis

from app.core.index.bands import band_keys, probes
from app.core.index.records import hits_within, pack_fingerprint
from app.embedded import EmbeddedServers
from app.stores.redis.scripts import ADD_RECORDS
from bench.harness.redis_memory import empty_redis
from bench.harness.report import Cell, Section, Table

_BOOKS = 200_000
_COPIES = 5_000
_QUERIES = 200
_BATCH = 500
_SEED = 7


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to keep a bucket: how a book's records are added, and how buckets are read."""

    name: str
    add: Callable[["redis.client.Pipeline", Sequence[str], bytes], object]
    read: Callable[["redis.Redis", Sequence[str]], list[bytes]]


def _add_packed(pipeline: "redis.client.Pipeline", keys: Sequence[str], record: bytes) -> None:
    pipeline.evalsha(ADD_RECORDS.sha, len(keys), *keys, *[record] * len(keys))


def _read_packed(client: "redis.Redis", keys: Sequence[str]) -> list[bytes]:
    return [bucket for bucket in client.mget(keys) if isinstance(bucket, bytes)]


def _add_to_sets(pipeline: "redis.client.Pipeline", keys: Sequence[str], record: bytes) -> None:
    for key in keys:
        pipeline.sadd(key, record)


def _read_sets(client: "redis.Redis", keys: Sequence[str]) -> list[bytes]:
    pipeline = client.pipeline(transaction=False)
    for key in keys:
        pipeline.smembers(key)
    return [b"".join(members) for members in pipeline.execute()]


SHAPES = (
    Shape("packed string", _add_packed, _read_packed),
    Shape("set", _add_to_sets, _read_sets),
)


def run(out_dir: Path) -> Section:
    """Measure both shapes."""
    rng = np.random.default_rng(_SEED)
    fingerprints = [rng.bytes(16) for _ in range(_BOOKS)]
    copied = rng.bytes(16)
    with tempfile.TemporaryDirectory() as folder, EmbeddedServers(Path(folder)) as servers:
        client = redis.Redis.from_url(servers.redis_url)
        client.script_load(ADD_RECORDS.body)
        rows = [_measure(client, shape, fingerprints, copied) for shape in SHAPES]
        client.close()
    return Section(
        title="Buckets of the band index: packed strings against sets",
        command="python -m bench buckets",
        tables=[
            Table(
                headers=[
                    "bucket",
                    "books/s added",
                    "bytes per book",
                    "d ≤ 7, ms",
                    "d ≤ 15, ms",
                    "d ≤ 23, ms",
                    f"one bucket of {_COPIES:,}, ms",
                    f"bytes per copy of {_COPIES:,}",
                ],
                rows=rows,
                caption=f"{_BOOKS:,} uniform fingerprints (seed {_SEED}) in 8 bands of 16 bits",
            )
        ],
        notes=[
            f"Latencies are medians of {_QUERIES} look-ups by one client, from fingerprint to sorted hits. "
            "Both shapes refuse a record that is there already. Bytes are Valkey's `used_memory` per book."
        ],
    )


def _measure(client: "redis.Redis", shape: Shape, fingerprints: Sequence[bytes], copied: bytes) -> list[Cell]:
    empty_redis(client)
    empty = _used(client)
    started = time.perf_counter()
    _fill(client, shape, fingerprints, first_id=0)
    rate = len(fingerprints) / (time.perf_counter() - started)
    per_book = (_used(client) - empty) / len(fingerprints)
    latencies = [_latency(client, shape, fingerprints[:_QUERIES], flips) for flips in range(3)]
    before = _used(client)
    _fill(client, shape, [copied] * _COPIES, first_id=len(fingerprints))
    per_copy = (_used(client) - before) / _COPIES
    crowded = _latency(client, shape, [copied] * _QUERIES, 0)
    return [shape.name, round(rate), round(per_book), *latencies, crowded, round(per_copy)]


def _fill(client: "redis.Redis", shape: Shape, fingerprints: Sequence[bytes], first_id: int) -> None:
    for start in range(0, len(fingerprints), _BATCH):
        pipeline = client.pipeline(transaction=False)
        for entry_id, bits in enumerate(fingerprints[start : start + _BATCH], first_id + start):
            keys = [f"b:{band}:{bucket}" for band, bucket in enumerate(band_keys(bits))]
            shape.add(pipeline, keys, pack_fingerprint(bits, entry_id))
        pipeline.execute()


def _latency(client: "redis.Redis", shape: Shape, queries: Sequence[bytes], flips: int) -> float:
    """Median milliseconds of an exact range query that probes buckets within so many flipped bits."""
    times = []
    for bits in queries:
        started = time.perf_counter()
        keys = probes(bits, flips).keys("b:")
        hits = hits_within(shape.read(client, keys), bits, 8 * flips + 7)
        times.append(time.perf_counter() - started)
        assert hits.distances[0] == 0
    return round(1000 * statistics.median(times), 3)


def _used(client: "redis.Redis") -> int:
    return int(client.info("memory")["used_memory"])
