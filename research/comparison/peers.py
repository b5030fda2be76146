"""Bookprint's index against datasketch on the same Redis, and against faiss and gaoya in process.

`peers_on_redis` says what datasketch is given. faiss and gaoya keep fingerprints in one process's memory.
"""

import argparse
import ctypes
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from app.core.recipe import DEFAULT_SUITE
from app.services.lookups import Within, find
from app.wiring import Stores
from bench.data.library_servers import Library, client_of, opened, reconcile
from bench.data.simulated_books import Books, simulate
from bench.harness.processes import processes
from bench.harness.redis_memory import empty_redis, used
from bench.harness.report import Cell, Section, Table
from research.comparison import peers_on_redis
from research.comparison.peers_on_redis import NEAR_TIMES, QUERIES, D, against_datasketch, with_stores

_ALONE = Library(1_000_000, texts=False)
_SEED = 5
_WORDS = 32  # of a document for gaoya


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure both tables; libraries in the folder of `--data` are not loaded again; some minutes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        together = against_datasketch(folder)
        alone = _in_process(folder)
    return Section(
        title="Against datasketch, faiss and gaoya",
        command="python -m research peers",
        tables=[together, alone],
        notes=[
            f"{peers_on_redis.LIBRARY.books:,} simulated books, the same on both sides; one client on a unix "
            f"socket asks {QUERIES} questions, those for ranges {NEAR_TIMES} times over; the median of "
            f"{peers_on_redis.ROUNDS} rounds. datasketch "
            "answers candidates by MinHash, without scores, and takes no questions together; every rate is "
            "held against its `insertion_session` and its one query. Bookprint answers books that its "
            "signatures confirm: fingerprint and sample, or the sample alone, which reads a bucket for each "
            "of its hashes. In bulk it builds the index from signatures in Postgres; the memory of samples "
            "alone is that of their posting list. Copies are simulated, so recall shows what an index finds "
            "of what its signatures keep, and not how well these outlast errors.",
            f"In process: {_ALONE.books:,} simulated fingerprints, d ≤ {D}. gaoya takes only texts and "
            f"makes fingerprints of its own; it got {_WORDS} words for each of a fifth as many books (its "
            "build time is scaled up), hashing them is in its figures, and its neighbours are not ours. The "
            "bytes of faiss and gaoya are resident memory; Bookprint's are those of Redis or of its arrays.",
        ],
    )


def _in_process(folder: Path) -> Table:
    rows: list[list[Cell]] = []
    for name, measure, columns in (
        ("faiss IndexBinaryFlat", _faiss, ["yes", "no", "adds; removal rewrites all", "no"]),
        (f"gaoya SimHash, {D + 2} blocks", _gaoya, ["no", "no", "adds; cannot remove", "no"]),
        ("Bookprint, flat index", _flat_index, ["yes", "from Redis", "yes", "no"]),
    ):
        with processes(1, start="spawn") as pool:
            figures = pool.submit(measure).result(1800)
        rows.append([name, *figures, *columns])
        print(f"  {name}: {figures}", flush=True)
    rows.append(["Bookprint, index in Redis", *_over_redis(folder), "yes", "yes", "yes", "yes"])
    headers = ["index", "build, s", "query, ms", "bytes per book", "hits a query"]
    return Table(
        [*headers, "exact", "durable", "live updates", "over the network"],
        rows,
        f"{_ALONE.books:,} fingerprints, d ≤ {D}, one query at a time",
    )


def _fingerprints() -> NDArray[np.uint8]:
    return np.concatenate([batch.fingerprints for batch in simulate(_ALONE.books, texts=False)])


def _chosen(n: int) -> list[int]:
    chosen: list[int] = np.random.default_rng(_SEED).choice(n, QUERIES, replace=False).tolist()
    return chosen


def _resident() -> int:
    """Bytes of this process that are in memory, once what was freed has been given back."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


def _timed(ask: Callable[[int], int], rows: Sequence[int]) -> tuple[float, float]:
    """Median milliseconds of a query, and hits of the average one."""
    ask(rows[0])
    seconds, hits = [], 0
    for row in rows:
        started = time.perf_counter()
        hits += ask(row)
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds), hits / len(rows)


def _faiss() -> list[Cell]:
    import faiss

    faiss.omp_set_num_threads(1)
    fingerprints = _fingerprints()
    before = _resident()
    started = time.perf_counter()
    index = faiss.IndexBinaryFlat(128)
    index.add(fingerprints)
    seconds = time.perf_counter() - started
    size = _resident() - before
    rows = _chosen(len(fingerprints))
    # Its radius is exclusive.
    milliseconds, hits = _timed(
        lambda row: int(index.range_search(fingerprints[row : row + 1], D + 1)[0][1]), rows
    )
    return [seconds, milliseconds, size / len(fingerprints), hits]


def _gaoya() -> list[Cell]:
    from gaoya.simhash import SimHashStringIndex

    books = _ALONE.books // 5
    chosen = set(_chosen(books))
    asked: list[str] = []
    index = SimHashStringIndex(hash_size=128, num_blocks=D + 2, hamming_distance=D + 1)
    before, seconds, first = _resident(), 0.0, 0
    for batch in simulate(books):
        texts = _as_words(batch)
        started = time.perf_counter()
        for number, text in enumerate(texts, first):
            index.insert_document(number, text)
        seconds += time.perf_counter() - started
        asked += [text for number, text in enumerate(texts, first) if number in chosen]
        first += len(texts)
        del batch, texts
    size = _resident() - before
    milliseconds, hits = _timed(lambda row: len(index.query(asked[row])), range(len(asked)))
    return [seconds * _ALONE.books / books, milliseconds, size / books, hits]


def _as_words(batch: Books) -> list[str]:
    """A text for each book, of which books of one work share as many words as they share MinHash values."""
    assert batch.minhash is not None
    return [" ".join(format(value, "x") for value in row) for row in batch.minhash[:, :_WORDS].tolist()]


def _flat_index() -> list[Cell]:
    from app.core.index.flat_index import FlatIndex
    from app.core.index.records import FLAT_RECORD

    fingerprints = _fingerprints()
    records = np.zeros(len(fingerprints), dtype=FLAT_RECORD)
    records["entry_id"] = np.arange(1, len(fingerprints) + 1)
    records["bits"], records["signed"] = fingerprints, True
    before = _resident()
    started = time.perf_counter()
    flat_index = FlatIndex(records)
    seconds = time.perf_counter() - started
    size = _resident() - before
    milliseconds, hits = _timed(
        lambda row: flat_index.within(fingerprints[row].tobytes(), D).entry_ids.size,
        _chosen(len(fingerprints)),
    )
    return [seconds, milliseconds, size / len(fingerprints), hits]


def _over_redis(folder: Path) -> list[Cell]:
    with opened(_ALONE, folder) as servers, client_of(servers) as client:
        empty_redis(client)
        empty = used(client)
        seconds = reconcile(servers)
        size = (used(client) - empty) / _ALONE.books
        [*batches] = simulate(_ALONE.books, texts=False)
        sizes = len(batches[0])
        queries = [batches[row // sizes].sketch(row % sizes).to_entry(0) for row in _chosen(_ALONE.books)]

        async def use(stores: Stores) -> tuple[float, float]:
            times, hits = [], 0
            for number, query in enumerate([*queries[:5], *queries]):
                started = time.perf_counter()
                near = (await find(stores.indexes.of(DEFAULT_SUITE), query, Within(D), 0)).hits
                if number >= 5:
                    times.append(time.perf_counter() - started)
                    hits += near.entry_ids.size
            return 1000 * statistics.median(times), hits / len(times)

        milliseconds, hits = with_stores(servers, use)
    return [seconds, milliseconds, size, hits]
