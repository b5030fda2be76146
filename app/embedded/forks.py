"""The fork server, from which the commands of a service are forked, and its forks."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from app.embedded.processes import spawn

_HAS_ENDED = "the process that forks has ended"

_MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "16777216",
    "MALLOC_ARENA_MAX": "1",
}
"""Settings of glibc: size in bytes from which arrays are mapped one by one, bytes kept free, number of heaps.

Signing a book makes arrays of some MB. By default glibc would map and clear this memory again for every book.
"""


def shared_memory(size: int) -> IO[bytes]:
    """Return zeroed memory for processes that inherit it. Pages are allocated when first written.

    On macOS it is a temporary file, because macOS has no unnamed shared memory.
    """
    if sys.platform == "linux":
        memory: IO[bytes] = os.fdopen(os.memfd_create("bookprint"), "r+b")
    else:
        memory = TemporaryFile()  # noqa: SIM115
    memory.truncate(size)
    return memory


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A module whose `main` runs in a fork, with the two URLs as JSON on standard input."""

    name: str
    module: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # added to the inherited environment
    secrets: Mapping[str, str] = field(default_factory=dict)  # added to DATABASE_URL and REDIS_URL
    # Sockets and files that the fork inherits by number. They are closed when everything stops.
    listeners: Sequence[socket.socket | IO[bytes]] = ()
    grace: float = 8.0  # seconds from SIGTERM to SIGKILL
    replaceable: bool = False  # reports its state, and ends after LEAVE


class Fork:
    """A running or ended fork, with part of the interface of asyncio's subprocesses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.heard_at = time.monotonic()  # time of its start or its last report
        self._ready, self._ended = asyncio.Event(), asyncio.Event()

    def note_end(self, status: int) -> None:
        self.returncode = status
        self._ended.set()

    async def wait(self) -> int:
        """Return the exit status once the fork has ended; negative: the signal that killed it."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def note_report(self, is_ready: bool) -> None:
        self.heard_at = time.monotonic()
        if is_ready:
            self._ready.set()

    async def gets_ready(self, seconds: float) -> bool:
        """Wait until the fork reports that it is ready. Returns False if it ends first or time runs out."""
        ended, ready = asyncio.create_task(self._ended.wait()), asyncio.create_task(self._ready.wait())
        await asyncio.wait((ended, ready), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in (ended, ready):
            task.cancel()
        return self._ready.is_set()

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def end(self, grace: float) -> None:
        """End the fork and all processes of its session, by force after `grace` seconds."""
        self.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), grace)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self.wait()


class ForkServer:
    """A process that loads `names` and then forks commands; see `app.fork_server`."""

    def __init__(
        self,
        names: Sequence[str],
        environment: Mapping[str, str],
        inherited: Sequence[socket.socket | IO[bytes]],
    ) -> None:
        """Start the process, which loads in the background. Forks can inherit the sockets in `inherited`."""
        self._control, theirs = socket.socketpair()
        numbers = [each.fileno() for each in inherited]
        options = [str(theirs.fileno()), ",".join(map(str, numbers))]
        command = [sys.executable, "-P", "-m", "app.fork_server", *options, *names]
        with theirs:
            self._process = spawn(
                command,
                folder=Path.cwd(),
                environment={**_MALLOC, **environment},
                death_signal=signal.SIGKILL,
                pass_fds=[theirs.fileno(), *numbers],
            )
        self._writer: asyncio.StreamWriter | None = None
        self.forks: dict[int, Fork] = {}  # running forks, by pid
        self.loaded, self._ended = asyncio.Event(), asyncio.Event()
        self._started: asyncio.Future[Fork] | None = None
        self._asking = asyncio.Lock()

    async def live(self) -> None:
        """Read the answers of the process until it ends or this task is cancelled. Its forks end with it."""
        reader, self._writer = await asyncio.open_connection(sock=self._control)
        try:
            with suppress(ConnectionError):
                async for line in reader:
                    self._note(json.loads(line))
        finally:
            self._writer.close()
            self._process.kill()
            self._process.wait()
            if self._started is not None and not self._started.done():
                self._started.set_exception(RuntimeError(_HAS_ENDED))
            for fork in self.forks.values():
                fork.note_end(-signal.SIGKILL)
            self.forks.clear()
            self.loaded.set()
            self._ended.set()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    async def ended(self) -> int:
        """Return the exit status of the process once it has ended."""
        await self._ended.wait()
        return self._process.wait()

    async def fork(self, spec: ChildSpec, given: Mapping[str, str], sockets: Sequence[int]) -> Fork:
        """Fork a command once everything is loaded; raises RuntimeError if the process has ended."""
        await self.loaded.wait()
        async with self._asking:
            if self._writer is None or self.has_ended:
                raise RuntimeError(_HAS_ENDED)
            request: dict[str, Any] = {
                "name": spec.name,
                "module": spec.module,
                "arguments": list(spec.arguments),
                "environment": dict(spec.environment),
                "input": json.dumps({**given, **spec.secrets}),
                "sockets": [*sockets, *(listener.fileno() for listener in spec.listeners)],
            }
            self._started = asyncio.get_running_loop().create_future()
            self._writer.write(json.dumps(request).encode() + b"\n")
            return await self._started

    def _note(self, answer: Mapping[str, Any]) -> None:
        match answer:
            case {"loaded": _}:
                self.loaded.set()
            case {"started": pid}:
                fork = self.forks[pid] = Fork(pid)
                if self._started is not None and not self._started.done():
                    self._started.set_result(fork)
            case {"ended": pid, "status": status}:
                self.forks.pop(pid).note_end(status)

    def kill(self) -> None:
        """Kill the process; its forks end with it."""
        self._process.kill()
        self._process.wait()
