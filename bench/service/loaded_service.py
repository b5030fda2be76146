"""A running service on a loaded library, and what one stream of lookups sees of it."""

import asyncio
import http.client
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import psutil
import redis

from app.embedded import EmbeddedServers, Servers
from app.settings import Settings
from app.wiring import open_services
from bench.data.bulk_load import book_id, load
from bench.harness.report import CannotMeasure
from bench.service.open_loop_driver import Outcome, Stream, drive, get
from bench.service.service_process import kind

_READY_SECONDS = 900.0
_NOT_PASSED_ON = {"NUMBA_CACHE_DIR"}
_SETTLING_SECONDS = 180.0
_IDLE_SECONDS, _IDLE_SHARE = 2.0, 0.15  # of one core
_PATHS = 4_000
_SEED = 3
RATE = 100.0

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Library:
    """A simulated library."""

    books: int
    texts: bool  # False: fingerprints only

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.books}-{'all' if self.texts else 'fingerprints'}"

    @property
    def title(self) -> str:
        """What the report calls it."""
        return f"{self.books:,}" if self.texts else f"{self.books:,}, fingerprints only"


@dataclass(frozen=True, slots=True)
class Lookups:
    """What one stream of lookups saw, milliseconds."""

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

    def plain(self) -> dict[str, Any]:
        """As values for JSON."""
        return asdict(self)


@contextmanager
def opened(library: Library, folder: Path) -> Iterator[Servers]:
    """Embedded servers with this library in Postgres; loaded first where it is not there."""
    data_dir = folder / library.name
    with EmbeddedServers(data_dir) as servers:
        seconds = load(servers.database_url, library.books, texts=library.texts)
        if seconds is not None:
            print(f"  loaded {library.title} books in {seconds:.0f} s", flush=True)
        yield servers


def client_of(servers: Servers) -> "redis.Redis":
    """A plain connection to the library's Redis."""
    return redis.Redis.from_url(servers.redis_url, socket_timeout=600)


def reconcile(servers: Servers) -> float:
    """Bring the index in step with the catalogue as the product does, or build it if lost; the seconds."""

    async def run() -> float:
        settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
        async with open_services(settings) as services:
            started = time.perf_counter()
            if await services.reindex.reconcile() is None:
                raise CannotMeasure("Another process is reconciling the index of this library.")
            return time.perf_counter() - started

    return asyncio.run(run())


@contextmanager
def served(servers: Servers, folder: Path) -> Iterator[tuple[Address, psutil.Process]]:
    """`bookprint serve` with one API process and a worker for each core on these servers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = cast(int, probe.getsockname()[1])
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED_ON}
    environment |= {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--data-dir", str(folder)]
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    address = ("127.0.0.1", port)
    try:
        deadline = time.monotonic() + _READY_SECONDS
        while not _is_ready(address):
            if process.poll() is not None or time.monotonic() > deadline:
                raise CannotMeasure(f"The service did not become ready; see {folder / 'serve.log'}.")
            time.sleep(0.2)
        yield address, psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_ready(address: Address) -> bool:
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


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
        """What the first stream sees while the others go on, and what became of those."""
        before = self._processor_seconds()
        outcome, *others = drive(self.address, [stream, *beside], seconds=self.seconds, warm_up=self.warm_up)
        after = self._processor_seconds()
        # The warm-up costs as much as it lasts.
        answered = max(1, len(outcome.latencies)) * (1 + self.warm_up / self.seconds)
        spent = {name: 1000 * (after[name] - before.get(name, 0.0)) / answered for name in after}
        return _seen(outcome, spent), others

    def settle(self, stream: Stream) -> None:
        """Ask once for what the service reads first, and wait until what starts with it has ended."""
        drive(self.address, [replace(stream, rate=20.0)], seconds=2, warm_up=0)
        deadline = time.monotonic() + _SETTLING_SECONDS
        before = sum(self._processor_seconds().values())
        while time.monotonic() < deadline:
            time.sleep(_IDLE_SECONDS)
            now = sum(self._processor_seconds().values())
            if now - before < _IDLE_SHARE * _IDLE_SECONDS:
                return
            before = now

    def _processor_seconds(self) -> dict[str, float]:
        spent: dict[str, float] = {}
        for root in self.processes:
            for process in [root, *root.children(recursive=True)]:
                try:
                    times, name = process.cpu_times(), kind(process)
                except psutil.NoSuchProcess:
                    continue
                spent[name] = spent.get(name, 0.0) + times.user + times.system
        return spent


def _seen(outcome: Outcome, spent: dict[str, float]) -> Lookups:
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
        rate=(len(in_order) - outcome.unanswered) / outcome.seconds,
        hits=statistics.fmean(outcome.totals) if outcome.totals else 0.0,
        failed=sum(count for status, count in outcome.statuses.items() if status != 200) + outcome.unanswered,
        late=quantile(late, 0.99),
        processor={name: round(value, 3) for name, value in spent.items() if value >= 0.001},
    )


def middle(rounds: Sequence[Lookups]) -> dict[str, Any]:
    """The median of each figure over the rounds, with the rounds themselves."""
    names = ("median", "p95", "p99", "highest", "rate", "hits", "late")
    figures: dict[str, Any] = {
        name: round(statistics.median(getattr(one, name) for one in rounds), 3) for name in names
    }
    figures["failed"] = sum(one.failed for one in rounds)
    figures["count"] = sum(one.count for one in rounds)
    return figures | {"rounds": [one.plain() for one in rounds]}
