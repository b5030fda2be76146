"""The command line as a user runs it: commands in this process or one of their own, a real service."""

import asyncio
import io
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from unittest.mock import patch

import httpx
import psutil

from app.cli.commands import run
from app.embedded.processes import is_alive
from app.settings import Settings
from tests.forks import Fork
from tests.open_services import open_with_stores
from tests.paged_books import run_jobs
from tests.secret_search import lines_with_secrets
from tests.waiting import eventually

BOOKPRINT = [sys.executable, "-P", "-m", "app.cli"]
START_SECONDS = 150.0  # the kernels may have to be compiled first
STOP_SECONDS = 90.0
UNSET = {"DATABASE_URL", "REDIS_URL", "BOOKPRINT_AUTH", "BOOKPRINT_DATA_DIR", "COLUMNS"}


_READY = re.compile(r"ready at (https?://\S+) \(([0-9.]+) s\)")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of a user who has set nothing but one worker; compiled code goes where the tests keep theirs."""
    plain = {name: value for name, value in os.environ.items() if name not in UNSET}
    cache = {"XDG_CACHE_HOME": str(Path(os.environ["NUMBA_CACHE_DIR"]).parent / "user-cache")}
    return plain | cache | {"BOOKPRINT_WORKERS": "1"} | dict(extra or {})


def bookprint(
    *arguments: str | Path, given: bytes = b"", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in this process; what is `given` is its standard input."""
    command = ["bookprint", *map(str, arguments)]
    entered = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="\n")
    with (
        patch.dict(os.environ, environment(variables), clear=True),
        patch.multiple(sys, argv=command, stdin=entered),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            run()
        except SystemExit as ending:
            status = ending.code
    assert isinstance(status, int)
    return subprocess.CompletedProcess(command, status, _written(output), _written(errors))


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def in_a_process(
    *arguments: str | Path, meanwhile: Callable[[Fork], None] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a fork of a process that has loaded it."""
    command = ["app.cli", *map(str, arguments)]
    with open(os.devnull) as nothing, TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        streams = [stream.fileno() for stream in (nothing, output, errors)]
        process = Fork(command, environment(variables), streams, shares_readers=True)
        if meanwhile is not None:
            meanwhile(process)
        status = process.wait(STOP_SECONDS)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, status, output.read(), errors.read())


@dataclass(frozen=True, slots=True)
class Service:
    """A running API, and its servers for commands that reach them themselves.

    It has no worker: where others work, one that gives way to all of them may never come to its jobs.
    """

    url: str
    servers: Mapping[str, str]  # environment variables that name them

    @property
    def settings(self) -> Settings:
        return Settings(database_url=self.servers["DATABASE_URL"], redis_url=self.servers["REDIS_URL"])

    def relate(self) -> None:
        """Work off all jobs, and measure the clusters."""

        async def work() -> None:
            async with open_with_stores(self.settings) as services:
                await run_jobs(services)
                while await services.clusters.measure():
                    pass

        asyncio.run(work())

    def delete_books(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as client:
            while items := client.get("/v1/books?limit=1000").json()["items"]:
                for item in items:
                    client.delete(item["links"]["self"])


@dataclass(slots=True)
class Serve:
    """A running `bookprint serve`."""

    process: subprocess.Popen[str]
    data_dir: Path
    lines: list[str] = field(default_factory=list)
    url: str = ""
    seconds: float = 0.0  # from start to ready, by its own account

    def family(self) -> list[psutil.Process]:
        """The process and all that it started and that runs."""
        parent = psutil.Process(self.process.pid)
        return [each for each in (parent, *parent.children(recursive=True)) if is_alive(each)]

    def stop(self) -> int:
        """Send SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)

    def read(self) -> None:
        """Collect what it prints until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    def await_ready(self) -> None:
        """Wait for the line that says it is ready."""
        eventually(lambda: _READY.search("".join(self.lines)) or self.process.poll() is not None)
        match = _READY.search("".join(self.lines))
        assert match, f"the service is not ready:\n{''.join(self.lines)}"
        self.url, self.seconds = match[1], float(match[2])


@contextmanager
def serving(data_dir: Path, *options: str | Path, **variables: str) -> Iterator[Serve]:
    """`bookprint serve` on a free port, ready; stopped at the end if it still runs."""
    process = subprocess.Popen(
        [*BOOKPRINT, "serve", "--port", "0", "--data-dir", str(data_dir), *map(str, options)],
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    service = Serve(process, data_dir)
    reader = threading.Thread(target=service.read, daemon=True)
    reader.start()
    try:
        service.await_ready()
        yield service
    finally:
        if process.poll() is None:
            service.stop()
        reader.join(5)
    assert lines_with_secrets(service.lines) == []
