"""Latency of lookups in a running service with a loaded library."""

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from app.embedded import Servers
from bench.data.bulk_load import Library, book_id
from bench.harness.driver import Outcome, Stream, drive, get
from bench.harness.report import CannotMeasure
from bench.harness.service import Address, Service, processor_seconds, running

_REST_SECONDS = 180.0
_IDLE_SECONDS, _IDLE_SHARE = 2.0, 0.15  # of one core
_PATHS, _SEED = 4_000, 3
RATE = 100.0


@dataclass(frozen=True, slots=True)
class Lookups:
    """Figures of one stream of lookups, in milliseconds unless noted."""

    median: float
    p95: float
    p99: float
    highest: float
    rate: float  # answers per second
    hits: float  # mean of the answers' "total"
    failed: int  # answers other than 200, and missing answers
    processor: float  # of all processes per lookup


@contextmanager
def served(
    servers: Servers, folder: Path, environment: Mapping[str, str] | None = None, *options: str
) -> Iterator[Service]:
    """Run `bookprint serve` on these servers with one API process and one worker per core."""
    urls = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
    with running(folder, *options, environment=urls | dict(environment or {})) as service:
        yield service


def server_processes() -> list[psutil.Process]:
    """Return the processes of Postgres and Valkey, children of the current process."""
    names = ("postgres", "valkey-server")
    return [child for child in psutil.Process().children() if child.name() in names]


def lookups(library: Library, query: str, *, rate: float | None = RATE, connections: int = 32) -> Stream:
    """Return a stream of lookups of random books; `query` is the query string with its question mark."""
    entries = random.Random(_SEED).sample(range(1, library.books + 1), min(_PATHS, library.books))
    paths = [f"/v1/books/{book_id(entry)}/near-duplicates{query}" for entry in entries]
    return Stream("lookups", [get(path) for path in paths], connections=connections, rate=rate)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile of the values at this share, 0 to 1; NaN without values."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


@dataclass(frozen=True, slots=True)
class Meter:
    """A meter of streams against one service."""

    address: Address
    processes: Sequence[psutil.Process]  # roots of all processes of the service
    seconds: float
    warm_up: float

    def measure(self, stream: Stream) -> Lookups:
        """Return the figures of a stream of lookups."""
        before = processor_seconds(*self.processes)
        [outcome] = drive(self.address, [stream], seconds=self.seconds, warm_up=self.warm_up)
        return _lookups(outcome, processor_seconds(*self.processes) - before)

    def await_idle(self, stream: Stream) -> None:
        """Send first lookups, and wait until the work that they start has ended."""
        drive(self.address, [replace(stream, rate=20.0)], seconds=2, warm_up=0)
        deadline, before = time.monotonic() + _REST_SECONDS, processor_seconds(*self.processes)
        while time.monotonic() < deadline:
            time.sleep(_IDLE_SECONDS)
            now = processor_seconds(*self.processes)
            if now - before < _IDLE_SHARE * _IDLE_SECONDS:
                return
            before = now


def _lookups(outcome: Outcome, spent: float) -> Lookups:
    times = [1000 * each for each in outcome.latencies]
    if len(times) < 2:
        raise CannotMeasure(f"The service answered no lookups: {dict(outcome.statuses)}")
    return Lookups(
        median=statistics.median(times),
        p95=quantile(times, 0.95),
        p99=quantile(times, 0.99),
        highest=max(times),
        rate=outcome.rate,
        hits=statistics.fmean(outcome.totals) if outcome.totals else 0.0,
        failed=sum(count for status, count in outcome.statuses.items() if status != 200) + outcome.unanswered,
        processor=1000 * spent / max(1, outcome.all_answered),
    )
