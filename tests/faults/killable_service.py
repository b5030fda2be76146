"""A whole service in processes of its own, whose parts tests kill."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.secret_search import lines_with_secrets
from tests.waiting import eventually

READY_SECONDS = 150.0

PAUSE = 0.1
"""Seconds before a request that failed is sent again."""

_SERVE = [sys.executable, "-m", "app.cli", "serve", "--processes", "2"]

PARTS = {
    "api": lambda process: process.name().startswith("api "),
    "worker": lambda process: process.name().startswith("worker "),
    "delivery": lambda process: process.name() == "delivery",
    "postgres": lambda process: "postgres" in process.name() and "-D" in process.cmdline(),
    "valkey": lambda process: "valkey" in process.name(),
}


async def answered(client: httpx.AsyncClient, method: str, path: str, **sent: Any) -> httpx.Response:
    """Send a request until it is answered, and not with 503."""
    while True:
        with suppress(httpx.TransportError):
            answer = await client.request(method, path, **sent)
            assert answer.status_code < 500 or answer.status_code == 503, answer.text
            if answer.status_code != 503:
                return answer
        await asyncio.sleep(PAUSE)


@dataclass(frozen=True)
class Service:
    """A running service."""

    url: str
    data_dir: Path
    process: psutil.Process

    def wait_until(self, health: str) -> None:
        """Wait until the service is `live` or `ready`."""

        def answers() -> bool:
            with suppress(httpx.HTTPError):
                return httpx.get(f"{self.url}/health/{health}", timeout=60).status_code == 200
            return False

        assert eventually(answers), f"the service did not become {health}"

    def parts(self, name: str) -> list[psutil.Process]:
        """The living processes of that part."""
        processes = []
        for process in self.process.children(recursive=True):
            try:
                if PARTS[name](process) and process.status() != psutil.STATUS_ZOMBIE:
                    processes.append(process)
            except psutil.NoSuchProcess:
                continue
        return processes

    async def part(self, name: str) -> psutil.Process:
        """A living process of that part; waits for it to be restarted if it was just killed."""
        async with asyncio.timeout(READY_SECONDS):
            while not (processes := self.parts(name)):  # noqa: ASYNC110 - it happens in another process
                await asyncio.sleep(0.05)
        return processes[0]

    async def kill(self, name: str) -> None:
        """Kill a process of that part."""
        while True:
            process = await self.part(name)
            # A server that cannot start yet, after its predecessor was killed, ends of its own accord.
            with suppress(psutil.NoSuchProcess):
                process.kill()
                return


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Service]:
    """`bookprint serve` in a process of its own until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}
    }
    data_dir = folder / "data"
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [*_SERVE, "--port", str(port), "--data-dir", str(data_dir), *options],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Service(f"http://127.0.0.1:{port}", data_dir, psutil.Process(process.pid))
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(100) is not None
    assert lines_with_secrets([(folder / "serve.log").read_text(errors="replace")]) == []
