"""A service of its own: `bookprint serve` on embedded servers, and the processor time of its processes."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from bench.harness.report import CannotMeasure

_READY_SECONDS = 60.0
_NOT_PASSED_ON = {"DATABASE_URL", "REDIS_URL", "NUMBA_CACHE_DIR"}


@contextmanager
def running(data_dir: Path, *options: str) -> Iterator[tuple[str, psutil.Process, float]]:
    """A running service: its URL, its first process, and the seconds until it was ready.

    `options` are further ones for `bookprint serve`.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED_ON}
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--data-dir", str(data_dir)]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, *options], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                if httpx.get(f"{url}/health/ready", timeout=2).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            if time.perf_counter() - started > _READY_SECONDS or process.poll() is not None:
                raise CannotMeasure("The service did not become ready; run `bookprint serve` to see why.")
            time.sleep(0.02)
        yield url, psutil.Process(process.pid), time.perf_counter() - started
    finally:
        process.terminate()
        process.wait(30)


def processor_seconds(service: psutil.Process) -> dict[str, float]:
    """User and system time of the processes of a service by kind, those that have ended included."""
    spent: dict[str, float] = {}
    for process in [service, *service.children(recursive=True)]:
        try:
            times, name = process.cpu_times(), kind(process)
        except psutil.NoSuchProcess:
            continue
        own = times.user + times.system + times.children_user + times.children_system
        spent[name] = spent.get(name, 0.0) + own
    return spent


def kind(process: psutil.Process) -> str:
    """What a process of the service is."""
    command = process.cmdline()
    if "uvicorn" in command:
        return "API"
    if "workers" in command:
        return "worker"
    return "Postgres" if "postgres" in process.name() else process.name().partition("-")[0].capitalize()


def post(client: httpx.Client, body: bytes) -> dict[str, Any]:
    """Post a book; what is answered."""
    answer = client.post("/v1/books", content=body, headers={"Content-Type": "application/json"})
    answer.raise_for_status()
    posted: dict[str, Any] = answer.json()
    return posted
