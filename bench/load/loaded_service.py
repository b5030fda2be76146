"""A running service on a loaded library, and the latency of lookups in it."""

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from app.embedded import Servers
from bench.data.bulk_load import book_id
from bench.data.library_servers import Library
from bench.harness.report import CannotMeasure
from bench.load.open_loop_driver import Outcome, Stream, drive, get
from bench.service.service_process import Address, Service, processor_seconds, running

_REST_SECONDS = 180.0
_IDLE_SECONDS, _IDLE_SHARE = 2.0, 0.15  # of one core
_PATHS = 4_000
_SEED = 3
RATE = 100.0


@dataclass(frozen=True, slots=True)
class Lookups:
    """Figures of one stream of lookups, milliseconds."""

    count: int
    median: float
    p95: float
    p99: float
    highest: float
    rate: float  # answered a second
    hits: float  # mean of the answers' "total"
    failed: int  # answers other than 200, and none at all
    late: float  # 99th percentile of how late the driver itself sent
    processor: dict[str, float]  # milliseconds of each kind of process for one lookup


@contextmanager
def served(servers: Servers, folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Service]:
    """`bookprint serve` with one API process and a worker for each core on these servers."""
    urls = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
    with running(folder, environment=urls | dict(environment or {})) as service:
        yield service


def server_processes() -> list[psutil.Process]:
    """Postgres and Valkey, which run as children of this process."""
    names = ("postgres", "valkey-server")
    return [child for child in psutil.Process().children() if child.name() in names]


def lookups(library: Library, query: str, *, rate: float | None = RATE, connections: int = 32) -> Stream:
    """Lookups of random books; `query` is the part of the path from the question mark on."""
    entries = random.Random(_SEED).sample(range(1, library.books + 1), min(_PATHS, library.books))
    paths = [f"/v1/books/{book_id(entry)}/near-duplicates{query}" for entry in entries]
    return Stream("lookups", [get(path) for path in paths], connections=connections, rate=rate)


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures streams against one service."""

    address: Address
    processes: Sequence[psutil.Process]  # roots of everything that serves
    seconds: float
    warm_up: float

    def measure(self, stream: Stream, *beside: Stream) -> tuple[Lookups, list[Outcome]]:
        """The lookups of the first stream while the others go on, and the outcomes of those."""
        before = processor_seconds(*self.processes)
        outcome, *others = drive(self.address, [stream, *beside], seconds=self.seconds, warm_up=self.warm_up)
        after = processor_seconds(*self.processes)
        answered = max(1, outcome.all_answered)
        spent = {name: 1000 * (after[name] - before.get(name, 0.0)) / answered for name in after}
        return _lookups(outcome, spent), others

    def await_idle(self, stream: Stream) -> None:
        """Ask once for what the service reads first, and wait until what starts with it has ended."""
        drive(self.address, [replace(stream, rate=20.0)], seconds=2, warm_up=0)
        deadline = time.monotonic() + _REST_SECONDS
        before = sum(processor_seconds(*self.processes).values())
        while time.monotonic() < deadline:
            time.sleep(_IDLE_SECONDS)
            now = sum(processor_seconds(*self.processes).values())
            if now - before < _IDLE_SHARE * _IDLE_SECONDS:
                return
            before = now


def _lookups(outcome: Outcome, spent: dict[str, float]) -> Lookups:
    if len(outcome.latencies) < 2:
        raise CannotMeasure(f"The service answered no lookups: {dict(outcome.statuses)}")
    in_order = sorted(1000 * each for each in outcome.latencies)
    late = sorted(1000 * each for each in outcome.delays) or [0.0]

    def quantile(values: Sequence[float], share: float) -> float:
        return values[min(len(values) - 1, int(share * len(values)))]

    return Lookups(
        count=len(in_order),
        median=statistics.median(in_order),
        p95=quantile(in_order, 0.95),
        p99=quantile(in_order, 0.99),
        highest=in_order[-1],
        rate=outcome.rate,
        hits=statistics.fmean(outcome.totals) if outcome.totals else 0.0,
        failed=sum(count for status, count in outcome.statuses.items() if status != 200) + outcome.unanswered,
        late=quantile(late, 0.99),
        processor={name: round(value, 3) for name, value in spent.items() if value >= 0.001},
    )


def medians(rounds: Sequence[Lookups]) -> dict[str, Any]:
    """The median of each figure over the rounds, and all that failed."""
    names = ("median", "p95", "p99", "highest", "rate", "hits", "late")
    figures: dict[str, Any] = {
        name: round(statistics.median(getattr(each, name) for each in rounds), 3) for name in names
    }
    figures["processor"] = round(statistics.median(sum(each.processor.values()) for each in rounds), 3)
    return figures | {"failed": sum(each.failed for each in rounds)}
