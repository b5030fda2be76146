"""`bookprint serve` in processes of its own, and the processor time that they take."""

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from bench.harness.checkout import Checkout, this_checkout
from bench.harness.report import CannotMeasure

_READY_SECONDS = 900.0
_JOBS_SECONDS = 600.0
_POLL_SECONDS = 0.25

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    address: Address
    process: psutil.Process  # the first one; all others descend from it
    start_seconds: float  # from the command until it was ready

    @property
    def url(self) -> str:
        """Its root."""
        return f"http://{self.address[0]}:{self.address[1]}"

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """An HTTP client with the service's root as its base."""
        with httpx.Client(base_url=self.url, timeout=120) as client:
            yield client


@contextmanager
def running(
    data_dir: Path,
    *options: str,
    checkout: Checkout | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Service]:
    """`bookprint serve` of a checkout (this one by default), which ends when this process does.

    `options` and `environment` are added to those that it needs; what it writes is in DATA_DIR/serve.log.
    Raises CannotMeasure where it does not become ready.
    """
    checkout = checkout or this_checkout()
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "serve.log"
    address = ("127.0.0.1", _free_port())
    serve = ["-m", "app.cli", "serve", "--port", str(address[1]), "--data-dir", str(data_dir), *options]
    started = time.perf_counter()
    with checkout.started([checkout.python, *serve], log, environment) as process:
        while not _is_ready(address):
            if process.poll() is not None or time.perf_counter() - started > _READY_SECONDS:
                written = log.read_text(encoding="utf-8", errors="replace")
                raise CannotMeasure(f"The service did not become ready:\n{written[-4000:]}")
            time.sleep(0.02)
        yield Service(address, psutil.Process(process.pid), time.perf_counter() - started)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_ready(address: Address) -> bool:
    try:
        return httpx.get(f"http://{address[0]}:{address[1]}/health/ready", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


def processor_seconds(*roots: psutil.Process) -> dict[str, float]:
    """User and system time of these processes and their children by kind, those that have ended included."""
    spent: dict[str, float] = {}
    for process in [each for root in roots for each in (root, *root.children(recursive=True))]:
        try:
            times, name = process.cpu_times(), kind(process)
        except psutil.NoSuchProcess:
            continue
        own = times.user + times.system + times.children_user + times.children_system
        spent[name] = spent.get(name, 0.0) + own
    return spent


def kind(process: psutil.Process) -> str:
    """The part of the service that a process is."""
    command, name = process.cmdline(), process.name()
    if {"app.api", "uvicorn"} & {*command} or name.startswith("api "):
        return "API"
    if "workers" in command or name.startswith("worker ") or name == "delivery":
        return "worker"
    if "app.fork_server" in command:
        return "the process that forks"
    return "Postgres" if "postgres" in process.name() else process.name().partition("-")[0].capitalize()


def post(client: httpx.Client, body: bytes) -> dict[str, Any]:
    """Post a book; the answer."""
    answer = client.post("/v1/books", content=body, headers={"Content-Type": "application/json"})
    answer.raise_for_status()
    posted: dict[str, Any] = answer.json()
    return posted


def await_jobs(client: httpx.Client) -> None:
    """Return once no job waits or runs; raises where one has failed or they take over ten minutes."""
    deadline = time.monotonic() + _JOBS_SECONDS
    while _jobs_wait(client):
        if time.monotonic() > deadline:
            raise CannotMeasure(f"Jobs still wait after {_JOBS_SECONDS:.0f} s.")
        time.sleep(_POLL_SECONDS)


def _jobs_wait(client: httpx.Client) -> bool:
    answer = client.get("/metrics").text
    jobs = [
        sample.labels
        for family in text_string_to_metric_families(answer)
        for sample in family.samples
        if sample.name == "bookprint_jobs" and sample.value
    ]
    if any(labels["state"] == "failed" for labels in jobs):
        raise RuntimeError(f"Jobs failed: {jobs}")
    return bool(jobs)
