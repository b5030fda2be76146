"""Keeps a service's processes running: the embedded servers and the commands given, until a signal to stop.

A process that ends is reaped and started again. SIGTERM or SIGINT ends everything: first the commands, which
may still need the servers, then the servers. SIGHUP replaces those commands one by one that can be replaced;
it ends everything where the terminal is gone. On Linux this process adopts the orphans of its children, so
nothing that it ever started outlives it.
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
from app.replaceable import LEAVE, READY, REPORT_TO

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
    replaceable: bool = False  # it reports, and leaves when told to


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a replaceable command is waited for."""

    ready: float = 120.0  # from its start to its first report that it is ready
    silent: float = 60.0  # without a report, from its start or between two; then it counts as hung
    leaving: float = 90.0  # from LEAVE to its end


_PATIENCE = Patience()

_Process = asyncio.subprocess.Process


class Supervisor:
    """Runs `children` on `servers`; between them `prepare` is called, the place for migrations."""

    def __init__(
        self,
        servers: EmbeddedServers,
        children: Sequence[ChildSpec],
        *,
        prepare: Callable[[Servers], None] = lambda servers: None,
        log: Callable[[str], None],
        patience: Patience = _PATIENCE,
    ) -> None:
        self._servers = servers
        self._specs = children
        self._prepare = prepare
        self._log = log
        self._patience = patience
        self._starting = False
        self._stop_requested = False
        self._keeping: asyncio.Task[None] | None = None
        self._child_ended = asyncio.Event()
        self._replacing = asyncio.Event()
        self._lives: dict[str, _Process] = {}  # the latest of each replaceable command
        self._reports = _Reports()

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
        launch = partial(self._launch, environment, urls)
        self._reports.listen()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._replace_on_demand(launch))
            group.create_task(self._kill_silent())
            for server in self._servers.running:
                life = partial(self._server_life, server)
                group.create_task(self._keep(server.name, life, proven=True))
            for spec in self._specs:
                life = partial(self._command_life, spec, launch)
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

    async def _command_life(self, spec: ChildSpec, launch: "_Launch") -> int:
        process = self._lives[spec.name] = await launch(spec)
        try:
            while True:
                status = await process.wait()
                if self._lives[spec.name] is process:
                    return status
                process = self._lives[spec.name]  # that has taken its place
        except asyncio.CancelledError:
            for listener in spec.listeners:  # else who connects meanwhile would wait in vain
                listener.close()
            raise
        finally:
            await _end(process, spec.grace)

    async def _launch(
        self, environment: Mapping[str, str], urls: Mapping[str, str], spec: ChildSpec
    ) -> _Process:
        report_to = self._reports.sender.fileno()
        process = await asyncio.create_subprocess_exec(
            *exec_as_command(spec.command, folder=Path.cwd(), death_signal=signal.SIGKILL),
            env={**environment, **spec.environment},
            stdin=asyncio.subprocess.PIPE,
            pass_fds=[report_to, *(listener.fileno() for listener in spec.listeners)],
            start_new_session=True,
        )
        self._log(f"{spec.name} is started")
        assert process.stdin is not None
        process.stdin.write(json.dumps({**urls, **spec.secrets, REPORT_TO: str(report_to)}).encode())
        process.stdin.close()
        self._reports.expect(process.pid)
        return process

    async def _replace_on_demand(self, launch: "_Launch") -> None:
        while True:
            await self._replacing.wait()
            self._replacing.clear()
            replaceable = [spec for spec in self._specs if spec.replaceable]
            for spec in replaceable:
                if not await self._replace(spec, launch):
                    self._log(f"no further process is replaced; {spec.name} goes on as it was")
                    break

    async def _replace(self, spec: ChildSpec, launch: "_Launch") -> bool:
        """Start a command anew, and end the old one once the new one is ready; False if it never is."""
        old, new = self._lives.get(spec.name), await launch(spec)
        to_end = new
        try:
            ended, ready = asyncio.create_task(new.wait()), asyncio.create_task(self._reports.ready(new.pid))
            await asyncio.wait(
                (ended, ready), timeout=self._patience.ready, return_when=asyncio.FIRST_COMPLETED
            )
            is_ready = ready.done()
            for task in (ended, ready):
                task.cancel()
            # Where the old one died meanwhile, another has been started by now.
            if not is_ready or old is None or old.returncode is not None or self._lives[spec.name] is not old:
                return is_ready
            self._lives[spec.name], to_end = new, old
            self._log(f"{spec.name} is replaced")
            with suppress(ProcessLookupError, TimeoutError):
                old.send_signal(LEAVE)
                await asyncio.wait_for(old.wait(), self._patience.leaving)
            return True
        finally:
            await _end(to_end, spec.grace)

    async def _kill_silent(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._patience.silent / 4))
            for spec in self._specs:
                process = self._lives.get(spec.name)
                if not spec.replaceable or process is None or process.returncode is not None:
                    continue
                if self._reports.silence_of(process.pid) > self._patience.silent:
                    self._log(f"{spec.name} has not been heard of for {self._patience.silent:.0f} s")
                    process.kill()

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
        under_nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
            signal.SIGTERM: self._request_stop,
            signal.SIGINT: self._request_stop,
            signal.SIGHUP: partial(self._hang_up, _has_terminal() and not under_nohup),
        }
        previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
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

    def _hang_up(self, needs_terminal: bool, number: int, frame: FrameType | None) -> None:
        if needs_terminal and not _has_terminal():
            self._request_stop(number, frame)
        elif self._keeping is not None:
            self._keeping.get_loop().call_soon_threadsafe(self._replacing.set)


class _Reports:
    """What replaceable commands report of themselves."""

    def __init__(self) -> None:
        self._receiver, self.sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._receiver.setblocking(False)
        self._heard_at: dict[int, float] = {}  # by pid
        self._ready: dict[int, asyncio.Event] = {}

    def listen(self) -> None:
        asyncio.get_running_loop().add_reader(self._receiver, self._receive)

    def expect(self, pid: int) -> None:
        self._heard_at[pid], self._ready[pid] = time.monotonic(), asyncio.Event()

    def silence_of(self, pid: int) -> float:
        """Seconds since it was started or last heard of."""
        return time.monotonic() - self._heard_at[pid]

    async def ready(self, pid: int) -> None:
        """Return when it has said that it is ready."""
        await self._ready[pid].wait()

    def _receive(self) -> None:
        pid, _, state = self._receiver.recv(64).decode().partition(" ")
        if int(pid) in self._heard_at:
            self._heard_at[int(pid)] = time.monotonic()
            if state == READY:
                self._ready[int(pid)].set()


class _StopRequested(BaseException):
    """A signal to stop came while the start was still under way."""


class _GaveUp(Exception):
    """A command was never steady and keeps ending of its own accord."""


_Launch = Callable[[ChildSpec], Awaitable[_Process]]


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


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
