"""Growth of time and memory with the library: ten thousand books, then ten times as many, and so on.

    python -m bench scale --books 10000000 --data DIR

Each simulated library is stored in DIR and used again; an interrupted load continues. The first library whose
index does not fit into memory is the last. API, workers, Postgres, Valkey and the driver share the machine.
"""

import argparse
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path

import psutil
import sqlalchemy as sa

from app.embedded import EmbeddedServers
from bench.data.bulk_load import Library, client_of, load, reconcile
from bench.harness.driver import get
from bench.harness.report import Cell, Section, Table
from bench.load.lookups import Meter, lookups, served, server_processes
from bookprint_core.errors import Unavailable

_FIRST, _USUAL = 10_000, 1_000_000
_ROOM = 5 * 2**30
"""Bytes of memory in addition to the index: signatures of a rebuild, buffers of Postgres, processes."""
_LEAST = 2**28
"""Minimum memory of Valkey in bytes."""
_QUERIES = {"d = 7": "?d=7", "d = 15": "?d=15", "d = 23": "?d=23", "k = 10": "?k=10", "verified": ""}
_CLIENTS = 8

_LIBRARY = ["books", "loaded, books/s", "index built, s", "Redis, bytes a book", "Postgres, bytes a book"]
_LOOKUP = ["books", "lookup", "median, ms", "95 %", "99 %", "highest", "spread of the median"]


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure every size up to `--books` that memory and disk allow."""
    most = options.books or _USUAL
    libraries: list[list[Cell]] = []
    answered: list[list[Cell]] = []
    ended = ""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for books in [*(size for n in range(9) if (size := _FIRST * 10**n) < most), most]:
            memory = psutil.virtual_memory().available
            try:
                row, rows = _measure(Library(books), folder, memory - _ROOM, options)
                libraries.append(row)
                answered += rows
            except Unavailable as exc:
                ended = f"Ended at {books:,} books: {exc}"
            print(f"  {libraries[-1:]} {ended}", flush=True)
            if ended:
                break
    return Section(
        title="Scale: simulated libraries over HTTP",
        command=f"python -m bench scale --books {most} --data DIR",
        tables=[
            Table([*_LIBRARY, "all processes, MB"], libraries, "Libraries with all signatures"),
            Table(
                [*_LOOKUP, "processor, ms", "lookups/s", "hits", "failed"],
                answered,
                "Lookups over HTTP, 100 a second in open loop unless said otherwise",
            ),
        ],
        notes=[
            "Simulated books with all signatures and no texts. One API process and a worker for each core. "
            "Latency counts from when a lookup fell due. Each figure is the median of the rounds. Processor "
            "time is that of all processes for one lookup. Memory counts what processes share once. At 100 "
            "requests a second the processor sleeps between two of them; `/health/live` looks nothing up and "
            f"shows how much of a latency that is. {ended}"
        ],
    )


def _measure(
    library: Library, folder: Path, largest: int, options: argparse.Namespace
) -> tuple[list[Cell], list[list[Cell]]]:
    """Load a library, build its index and measure lookups; return the rows of both tables."""
    with EmbeddedServers(folder / library.name) as servers, client_of(servers) as client:
        loaded = load(servers.database_url, library.books)
        client.config_set("save", "")  # a snapshot copies every page written meanwhile
        client.config_set("maxmemory", max(largest, _LEAST))
        client.config_set("lazyfree-lazy-user-flush", "no")  # FLUSHALL answers when the memory is free
        client.flushall()
        empty = client.info("memory")["used_memory"]
        built = reconcile(servers)
        of_redis = (client.info("memory")["used_memory"] - empty) / library.books
        roots = server_processes()
        with served(servers, folder / library.name / "service") as service:
            roots.append(service.process)
            meter = Meter(service.address, roots, options.seconds or 8.0, 2.0)
            rows = list(_lookups(meter, library, options.rounds or 3))
            memory = sum(map(_share, [each for root in roots for each in (root, *root.children(True))]))
        engine = sa.create_engine(servers.database_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            size: int = connection.scalar(sa.text("SELECT pg_database_size(current_database())"))
    bytes_a_book = [round(of_redis, 1), round(size / library.books, 1)]
    loading = round(loaded.books / loaded.seconds) if loaded else None
    return [library.books, loading, round(built, 1), *bytes_a_book, round(memory / 1e6)], rows


def _lookups(meter: Meter, library: Library, rounds: int) -> Iterator[list[Cell]]:
    """Yield a row for each kind of lookup."""
    streams = {name: lookups(library, query) for name, query in _QUERIES.items()}
    meter.await_idle(streams["d = 7"])
    streams["no lookup, `/health/live`"] = replace(streams["d = 7"], requests=[get("/health/live")])
    streams[f"d = 7, closed loop of {_CLIENTS}"] = lookups(library, "?d=7", rate=None, connections=_CLIENTS)
    for name, stream in streams.items():
        rows = [astuple(meter.measure(stream)) for _ in range(rounds)]
        median, p95, p99, highest, rate, hits, _, processor = map(statistics.median, zip(*rows, strict=True))
        spread = f"{min(row[0] for row in rows):.2f}–{max(row[0] for row in rows):.2f}"
        times = [round(each, 3) for each in (median, p95, p99, highest)]
        counts = [round(each, 3) for each in (processor, rate, hits)]
        yield [f"{library.books:,}", name, *times, spread, *counts, sum(row[6] for row in rows)]


def _share(process: psutil.Process) -> int:
    """Return the memory of a process in bytes; shared memory is divided among its processes."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0
