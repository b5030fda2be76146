"""The application in a process of its own, behind a real socket."""

import asyncio
import http.client
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import httpx
import psutil

from app.settings import Settings
from app.wiring import open_services
from tests.forks import Fork
from tests.waiting import eventually


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    port: int
    process: psutil.Process

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def processor_seconds(self) -> float:
        """The processor time that it has taken so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def forget_peak(self) -> int:
        """Begin to watch the peak anew; returns the bytes held now."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
            refs.write("5")
        return self.process.memory_info().rss

    def peak_bytes(self) -> int:
        """The most memory held since `forget_peak`."""
        with open(f"/proc/{self.process.pid}/status") as status:
            [peak] = [line for line in status if line.startswith("VmHWM")]
        return int(peak.split()[1]) * 1024


def reconcile(database_url: str, redis_url: str) -> None:
    """Make the index of a new library whole, as the workers do."""

    async def reconciled() -> None:
        async with open_services(Settings(database_url=database_url, redis_url=redis_url)) as services:
            await services.upkeep.catch_up()

    asyncio.run(reconciled())


def longest_wait(server: Server, work: Callable[[], object]) -> float:
    """The most processor time that the server took until it answered a small request while `work` was done.

    Others wait for work of the server, which takes the same processor time on a busy machine.
    """
    waits = [0.0]
    done = threading.Event()

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        while not done.is_set():
            before = server.processor_seconds()
            connection.request("GET", "/health/live")
            response = connection.getresponse()
            waits.append(server.processor_seconds() - before if response.status == 200 else float("inf"))
            response.read()
            time.sleep(0.01)
        connection.close()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        work()
    finally:
        done.set()
        asking.join()
    return max(waits)


@contextmanager
def serving(database_url: str, redis_url: str, **environment: str) -> Iterator[Server]:
    """Serve with uvicorn on a free port until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["uvicorn", "--factory", "app.main:create_app", "--port", str(port)]
    process = Fork(
        [*command, "--log-level", "warning", "--no-access-log"],
        os.environ | {"DATABASE_URL": database_url, "REDIS_URL": redis_url} | environment,
        shares_readers=False,
    )
    try:
        server = Server(port, psutil.Process(process.pid))
        _wait_until_ready(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(300)


def _wait_until_ready(server: Server, process: Fork) -> None:
    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"{server.url}/health/ready", timeout=60).status_code == 200
        return False

    eventually(lambda: process.poll() is not None or is_ready())
    if process.poll() is not None or not is_ready():
        raise RuntimeError("the server did not become ready")
