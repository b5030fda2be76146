"""Keeps a service's processes running: the embedded servers and the commands given, until a signal to stop.

A process that ends is reaped and started again. SIGTERM, SIGINT or SIGHUP ends everything: first the
commands, which may still need the servers, then the servers. On Linux this process adopts the orphans of
its children, so nothing that it ever started outlives it.
"""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

import psutil

from app.embedded.exec_as import prctl
from app.embedded.processes import exec_as_command, is_alive, kill, mark
from app.embedded.server import Server
from app.embedded.servers import EmbeddedServers, Servers

_FIRST_DELAY = 0.1  # seconds before a restart; doubles with each
_LONGEST_DELAY = 2.0
_STEADY_AFTER = 10.0  # seconds of life after which a death counts as the first again
_MOST_FALSE_STARTS = 5  # exits of its own accord after which a command that never was steady is hopeless
_SECONDS_TO_CLAIM = 1.0  # within which a process that ended is reaped by the code that started it
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A command to keep running; a JSON object on its standard input has DATABASE_URL and REDIS_URL."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)  # beside what it inherits
    secrets: Mapping[str, str] = field(default_factory=dict)  # beside the two URLs
    listeners: Sequence[socket.socket] = ()  # that it inherits by their numbers; closed when all is to stop
    grace: float = 8.0  # seconds from SIGTERM to SIGKILL


class Supervisor:
    """Runs `children` on `servers`; between them `prepare` is called, the place for migrations."""

    def __init__(
        self,
        servers: EmbeddedServers,
        children: Sequence[ChildSpec],
        *,
        prepare: Callable[[Servers], None] = lambda servers: None,
        log: Callable[[str], None],
    ) -> None:
        self._servers = servers
        self._specs = children
        self._prepare = prepare
        self._log = log
        self._starting = False
        self._stop_requested = False
        self._keeping: asyncio.Task[None] | None = None
        self._child_ended = asyncio.Event()

    def run(self) -> int:
        """Start everything in order and keep it running until a signal; needs the main thread.

        Returns the exit status for the whole: 0 after a signal, 1 when a command would not stay up. An error
        of the servers' start or of `prepare` passes through, after everything was stopped.
        """
        if sys.platform == "linux":
            prctl(_PR_SET_CHILD_SUBREAPER, 1)
        status = 0
        with self._stop_signals():
            try:
                asyncio.run(self._keep_all(self._start()))
            except* _GaveUp:
                status = 1
            except* (_StopRequested, asyncio.CancelledError):
                pass
            finally:
                self._keeping, self._starting = None, False
                self._stop()
        return status

    def _start(self) -> Servers:
        self._starting = True
        if self._stop_requested:
            raise _StopRequested
        self._log("starting the servers")
        servers = self._servers.start()
        for server in self._servers.running:
            self._log(f"{server.name} is ready")
        self._prepare(servers)
        return servers

    async def _keep_all(self, servers: Servers) -> None:
        self._keeping, self._starting = asyncio.current_task(), False
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._on_child_ended)
        urls = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
        environment = {**os.environ, **mark(self._servers.data_dir)}
        async with asyncio.TaskGroup() as group:
            for server in self._servers.running:
                life = partial(self._server_life, server)
                group.create_task(self._keep(server.name, life, proven=True))
            for spec in self._specs:
                life = partial(self._command_life, spec, environment, urls)
                group.create_task(self._keep(spec.name, life))

    async def _keep(self, name: str, life: Callable[[], Awaitable[int]], *, proven: bool = False) -> None:
        """Live one life after the other; raises _GaveUp unless it is `proven` that a process can stay up."""
        delay, false_starts = _FIRST_DELAY, 0
        while True:
            started = time.monotonic()
            try:
                status = await life()
            except (OSError, RuntimeError) as error:
                self._log(f"{name} could not be started: {error}")
                await asyncio.sleep(_LONGEST_DELAY)
                continue
            if time.monotonic() - started >= _STEADY_AFTER:
                delay, proven = _FIRST_DELAY, True
            killed = status < 0
            ending = (
                f"was killed by {signal.Signals(-status).name}" if killed else f"ended with status {status}"
            )
            false_starts = 0 if killed else false_starts + 1
            if not proven and false_starts >= _MOST_FALSE_STARTS:
                self._log(f"{name} {ending}; giving up")
                raise _GaveUp
            self._log(f"{name} {ending}; starting it again in {delay:.1f} s")
            await asyncio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    async def _server_life(self, server: Server) -> int:
        if server.exit_status() is not None:
            server.launch()
            self._log(f"{server.name} is started again")
        while (status := server.exit_status()) is None:
            await self._child_ended.wait()
        return status

    async def _command_life(
        self, spec: ChildSpec, environment: Mapping[str, str], urls: Mapping[str, str]
    ) -> int:
        process = await asyncio.create_subprocess_exec(
            *exec_as_command(spec.command, folder=Path.cwd(), death_signal=signal.SIGKILL),
            env={**environment, **spec.environment},
            stdin=asyncio.subprocess.PIPE,
            pass_fds=[listener.fileno() for listener in spec.listeners],
            start_new_session=True,
        )
        self._log(f"{spec.name} is started")
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps({**urls, **spec.secrets}).encode())
            process.stdin.close()
            return await process.wait()
        except asyncio.CancelledError:
            for listener in spec.listeners:  # else who connects meanwhile would wait in vain
                listener.close()
            raise
        finally:
            await _end(process, spec.grace)

    def _on_child_ended(self) -> None:
        self._child_ended.set()
        self._child_ended.clear()
        dead = {child.pid for child in psutil.Process().children() if not is_alive(child)}
        asyncio.get_running_loop().call_later(_SECONDS_TO_CLAIM, _reap, dead)

    def _stop(self) -> None:
        self._log("stopping")
        self._servers.stop()
        for _ in range(3):  # the orphans of an orphan become our children in turn
            orphans = psutil.Process().children()
            kill(orphans)
            _reap({orphan.pid for orphan in orphans})
        self._log("everything is stopped")

    @contextmanager
    def _stop_signals(self) -> Iterator[None]:
        numbers = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as it is under nohup
            numbers.append(signal.SIGHUP)
        previous = {number: signal.signal(number, self._request_stop) for number in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        first, self._stop_requested = not self._stop_requested, True
        if first and self._keeping is not None:
            self._keeping.get_loop().call_soon_threadsafe(self._keeping.cancel)
        elif first and self._starting:
            raise _StopRequested


class _StopRequested(BaseException):
    """A signal to stop came while the start was still under way."""


class _GaveUp(Exception):
    """A command was never steady and keeps ending of its own accord."""


async def _end(process: asyncio.subprocess.Process, grace: float) -> None:
    """End a command with all that it started in its session, by force once `grace` seconds are over."""
    with suppress(ProcessLookupError, TimeoutError):
        process.terminate()
        await asyncio.wait_for(process.wait(), grace)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _reap(pids: set[int]) -> None:
    """Reap children that nothing here has claimed: those adopted from other processes."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
