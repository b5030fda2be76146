"""Processes of `bookprint serve`, and their processor time."""

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

from bench.harness.checkout import Checkout, tail, this_checkout
from bench.harness.report import CannotMeasure

_READY_SECONDS, _JOBS_SECONDS, _POLL_SECONDS = 900.0, 600.0, 0.25

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    address: Address
    process: psutil.Process  # the root of all processes
    start_seconds: float  # from the command until the service was ready

    @property
    def url(self) -> str:
        """Return the root URL of the service."""
        return f"http://{self.address[0]}:{self.address[1]}"

    def client(self) -> httpx.Client:
        """Return an HTTP client with the root URL as its base."""
        return httpx.Client(base_url=self.url, timeout=120)


@contextmanager
def running(
    data_dir: Path,
    *options: str,
    checkout: Checkout | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Service]:
    """Run `bookprint serve` of a checkout, by default the current one, with output in DATA_DIR/serve.log.

    Raises CannotMeasure if it does not become ready.
    """
    checkout = checkout or this_checkout()
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "serve.log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address: Address = probe.getsockname()
    serve = ["-m", "app.cli", "serve", "--port", str(address[1]), "--data-dir", str(data_dir), *options]
    started = time.perf_counter()
    with checkout.started([checkout.python, *serve], log, environment) as process:
        while not _is_ready(address):
            if process.poll() is not None or time.perf_counter() - started > _READY_SECONDS:
                raise CannotMeasure(f"The service did not become ready:\n{tail(log)}")
            time.sleep(0.02)
        yield Service(address, psutil.Process(process.pid), time.perf_counter() - started)


def _is_ready(address: Address) -> bool:
    try:
        return httpx.get(f"http://{address[0]}:{address[1]}/health/ready", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


def processor_seconds(*roots: psutil.Process) -> float:
    """Return the user and system time of these processes and all their children, ended ones included."""
    spent = 0.0
    for process in [each for root in roots for each in (root, *root.children(recursive=True))]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        spent += times.user + times.system + times.children_user + times.children_system
    return spent


def post(client: httpx.Client, body: bytes) -> str:
    """Post a book and return its id."""
    answer = client.post("/v1/books", content=body, headers={"Content-Type": "application/json"})
    answer.raise_for_status()
    posted: dict[str, Any] = answer.json()
    return str(posted["id"])


def await_jobs(client: httpx.Client) -> None:
    """Wait until no job waits or runs; raises CannotMeasure if a job failed or after ten minutes."""
    deadline = time.monotonic() + _JOBS_SECONDS
    while jobs := [
        sample.labels["state"]
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name == "bookprint_jobs" and sample.value
    ]:
        if "failed" in jobs or time.monotonic() > deadline:
            raise CannotMeasure(f"Jobs failed, or are still waiting after {_JOBS_SECONDS:.0f} s: {jobs}")
        time.sleep(_POLL_SECONDS)
