"""The command line as a user runs it: processes, a real service."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

import psutil

from app.embedded.processes import is_alive
from tests.forks import Fork
from tests.secret_search import lines_with_secrets

BOOKPRINT = [sys.executable, "-P", "-m", "app.cli"]
START_SECONDS = 90.0  # the kernels may have to be compiled first
STOP_SECONDS = 20.0
UNSET = {"DATABASE_URL", "REDIS_URL", "BOOKPRINT_AUTH", "BOOKPRINT_DATA_DIR", "COLUMNS"}

_READY = re.compile(r"ready at (https?://\S+) \(([0-9.]+) s\)")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of a user who has set nothing but one worker; compiled code goes where the tests keep theirs."""
    plain = {name: value for name, value in os.environ.items() if name not in UNSET}
    cache = {"XDG_CACHE_HOME": str(Path(os.environ["NUMBA_CACHE_DIR"]).parent / "user-cache")}
    return plain | cache | {"BOOKPRINT_WORKERS": "1"} | dict(extra or {})


def bookprint(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a fork of a process that has loaded it."""
    command = ["app.cli", *map(str, arguments)]
    with open(os.devnull) as nothing, TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        streams = [stream.fileno() for stream in (nothing, output, errors)]
        status = Fork(command, environment(variables), streams, shares_readers=True).wait(120)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, status, output.read(), errors.read())


@dataclass(slots=True)
class Service:
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
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if match := _READY.search("".join(self.lines)):
                self.url, self.seconds = match[1], float(match[2])
                return
            time.sleep(0.05)
        raise AssertionError(f"the service is not ready:\n{''.join(self.lines)}")


@contextmanager
def serving(data_dir: Path, *options: str | Path, **variables: str) -> Iterator[Service]:
    """A service on a free port, ready; stopped at the end if it still runs."""
    process = subprocess.Popen(
        [*BOOKPRINT, "serve", "--port", "0", "--data-dir", str(data_dir), *map(str, options)],
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    service = Service(process, data_dir)
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
