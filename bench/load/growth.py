"""Growth of time and memory with the library: ten thousand books, ten times as many, and so forth.

    python -m bench growth --books 10000000 --data DIR

Each simulated library lies in DIR, as those of `scale` do. What was loaded before is found there again, even
of one that was not loaded to its end. A library that does not fit into memory or onto the disk, by what a
book took in the one before, is made as large as fits, and is the last one. Valkey takes no more memory than
that. Everything shares the machine.
"""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path

import psutil
import sqlalchemy as sa

from app.core.errors import Unavailable
from app.embedded import EmbeddedServers
from bench.data.bulk_load import load
from bench.data.library_servers import Library, client_of, reconcile
from bench.data.simulated_books import BATCH
from bench.harness.redis_memory import empty_redis, used
from bench.harness.report import Section, Table
from bench.load.loaded_service import Meter, lookups, served

_FIRST = 10_000
_USUAL = 1_000_000
_ROOM = 5 * 2**30
"""Memory beside the index: signatures of a rebuild, buffers of Postgres, processes."""
_ROW = 4 * 31
"""Bytes a book of the flat index in an API process, two workers and the process that builds the index."""
_LOG = 2 * 2**30
"""Bytes that Postgres's log takes while tables are written."""
_POSTINGS = 256 * 8
"""Bytes a book of the temporary files in which a rebuild sorts the postings of samples."""
_LEAST = 2**28
"""Memory that Valkey gets in any case."""
_SERVERS = ("postgres", "valkey-server")
_GROWING = ("built", "memory", "near", "near_processor", "verified", "verified_processor")


@dataclass(frozen=True, slots=True)
class _Step:
    """The figures of one size of the library."""

    books: int
    loaded_a_second: float | None
    built: float  # seconds
    redis: float  # bytes a book
    postgres: float  # bytes a book
    memory: float  # MB, of all processes
    near: float  # milliseconds: median of lookups within 7 bits
    near_processor: float
    verified: float
    verified_processor: float
    hits: float
    failed: int


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Measure every size up to `--books`, as far as memory and disk go."""
    most = options.books or _USUAL
    sizes = [size for exponent in range(9) if (size := _FIRST * 10**exponent) < most]
    steps: list[_Step] = []
    ended = ""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for books in [*sizes, most]:
            memory = psutil.virtual_memory().available
            size = books
            if steps:
                last, own = steps[-1], folder / Library(books, texts=True).name
                loaded = sum(file.stat().st_size for file in own.rglob("*") if file.is_file())
                disk = shutil.disk_usage(folder).free + loaded
                size = fitting(books, redis=last.redis, postgres=last.postgres, memory=memory, disk=disk)
            if size < books:
                ended = f"{books:,} books do not fit into memory or onto the disk; {size:,} do."
            if steps and size <= steps[-1].books:
                break
            try:
                steps.append(
                    _measured(Library(size, texts=True), folder, memory - _ROOM, options.seconds or 8.0)
                )
            except Unavailable as exc:
                ended = f"Ended at {size:,} books: {exc}"
            if ended:
                break
            print(f"  {steps[-1]}", flush=True)
    print(f"  {ended or 'Nothing was left out.'}", flush=True)
    return _section(steps, most, ended)


def fitting(books: int, *, redis: float, postgres: float, memory: int, disk: int) -> int:
    """As many of these books as fit, by the bytes that one takes; whole batches if not all."""
    by_memory = (memory - _ROOM) / (redis + _ROW)
    by_disk = (disk - _LOG) / (postgres + _POSTINGS)
    least = max(0, min(by_memory, by_disk))
    return books if least >= books else int(least) // BATCH * BATCH


def _measured(library: Library, folder: Path, largest: int, seconds: float) -> _Step:
    with EmbeddedServers(folder / library.name) as servers, client_of(servers) as client:
        loaded = load(servers.database_url, library.books, texts=True)
        # A snapshot copies every page that is written meanwhile.
        client.config_set("save", "")
        client.config_set("maxmemory", max(largest, _LEAST))
        empty_redis(client)
        empty = used(client)
        built = reconcile(servers)
        redis_bytes = used(client) - empty
        children = [child for child in psutil.Process().children() if child.name() in _SERVERS]
        with served(servers, folder / library.name / "service") as service:
            roots = [service.process, *children]
            meter = Meter(service.address, roots, seconds, 2.0)
            meter.await_idle(lookups(library, "?d=7"))
            near, verified = (meter.measure(lookups(library, query))[0] for query in ("?d=7", ""))
            memory = sum(_shares(each) for root in roots for each in (root, *root.children(recursive=True)))
        engine = sa.create_engine(servers.database_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            postgres = connection.scalar(sa.text("SELECT pg_database_size(current_database())"))
        return _Step(
            books=library.books,
            loaded_a_second=round(loaded.books / loaded.seconds) if loaded else None,
            built=round(built, 1),
            redis=round(redis_bytes / library.books, 1),
            postgres=round(postgres / library.books, 1),
            memory=round(memory / 1e6),
            near=near.median,
            near_processor=round(sum(near.processor.values()), 3),
            verified=verified.median,
            verified_processor=round(sum(verified.processor.values()), 3),
            hits=verified.hits,
            failed=near.failed + verified.failed,
        )


def _shares(process: psutil.Process) -> int:
    """The memory of a process; what it shares with others is counted once."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


def _section(steps: Sequence[_Step], most: int, ended: str) -> Section:
    rows = [[*astuple(step)] for step in steps]
    ratios = [
        [
            f"{before.books:,} to {after.books:,}",
            *(_ratio(getattr(before, name), getattr(after, name)) for name in _GROWING),
        ]
        for before, after in pairwise(steps)
    ]
    return Section(
        title="Growth with the library",
        command=f"python -m bench growth --books {most} --data DIR",
        tables=[
            Table(
                [
                    "books",
                    "loaded, books/s",
                    "index built, s",
                    "Redis, bytes a book",
                    "Postgres, bytes a book",
                    "all processes, MB",
                    "d = 7, ms",
                    "processor, ms",
                    "verified, ms",
                    "processor, ms",
                    "hits",
                    "failed",
                ],
                rows,
                "Libraries with all signatures",
            ),
            Table(
                ["from, to", "index built", "all processes", "d = 7", "processor", "verified", "processor"],
                ratios,
                "Times the step before",
            ),
        ],
        notes=[
            "Simulated books with all signatures and no texts. Lookups over HTTP, 100 a second in open loop, "
            "medians; processor time of API, workers, Postgres and Valkey for one. Memory counts what "
            "processes share once, and the pages of Postgres and Valkey. " + ended
        ],
    )


def _ratio(before: float, after: float) -> float | None:
    return round(after / before, 2) if before else None
