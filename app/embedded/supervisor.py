"""Keeps a service's processes running: the embedded servers and the commands given, until told to stop.

Whatever dies is reaped and started again. SIGTERM, SIGINT or SIGHUP ends everything: first the commands, for
they may still need the servers, then the servers. On Linux this process adopts what its children leave:
nothing that it ever started outlives it.
"""

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol

import psutil

from app.embedded.exec_as import prctl
from app.embedded.processes import Steps, end, kill, mark, spawn, stop_all
from app.embedded.servers import EmbeddedServers, Servers

_FIRST_DELAY = 0.1  # seconds before a restart; doubles with each
_LONGEST_DELAY = 2.0
_STEADY_AFTER = 10.0  # seconds of life after which a death counts as the first again
_MOST_FALSE_STARTS = 5  # exits of its own accord after which a command that never was steady is hopeless
_PR_SET_CHILD_SUBREAPER = 36


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"bookprint: {line}\n")


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A command to keep running; it finds the servers by DATABASE_URL and REDIS_URL."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)  # beside what it inherits
    grace: float = 8.0  # seconds from SIGTERM to SIGKILL


class Supervisor:
    """Runs `children` on `servers`; between them `prepare` is called, the place for migrations."""

    def __init__(
        self,
        servers: EmbeddedServers,
        children: Sequence[ChildSpec],
        *,
        prepare: Callable[[Servers], None] = lambda servers: None,
        log: Callable[[str], None] = _to_stderr,
    ) -> None:
        self._servers = servers
        self._specs = children
        self._prepare = prepare
        self._log = log
        self._children: list[_Child] = []
        self._starting = False
        self._asked = False

    def run(self) -> int:
        """Start everything in order and keep it running until a signal; needs the main thread.

        Returns the exit status for the whole: 0 after a signal, 1 when a command would not stay up. An error
        of the servers' start or of `prepare` passes through, after everything was stopped.
        """
        earlier = {child.pid for child in psutil.Process().children()}
        _adopt_orphans()
        with self._signals() as wake:
            try:
                self._start()
                return self._watch(wake)
            except _StopAsked:
                return 0
            finally:
                self._starting = False
                self._stop(earlier)

    def _start(self) -> None:
        self._starting = True
        if self._asked:
            raise _StopAsked
        self._log("starting the servers")
        servers = self._servers.start()
        for server in self._servers.running:
            self._log(f"{server.name} is ready")
        self._prepare(servers)
        self._starting = False  # what is left is short; cut in the middle, it would lose a command's process
        for spec in self._specs:
            child = _Child(spec, self._servers, servers)
            child.launch()
            self._children.append(child)
            self._log(f"{child.name} is started")

    def _watch(self, wake: socket.socket) -> int:
        wards = [_Supervised(server, proven=True) for server in self._servers.running]
        wards += [_Supervised(child) for child in self._children]
        while not self._asked:
            for ward in wards:
                ward.look(self._log)
                if ward.is_hopeless():
                    return 1
            _reap_adopted({ward.part.pid for ward in wards})
            waits = [ward.due - time.monotonic() for ward in wards if ward.due is not None]
            select.select([wake], [], [], max(0.0, min(waits, default=1.0)))
            with suppress(BlockingIOError):
                wake.recv(4096)
        return 0

    def _stop(self, earlier: set[int]) -> None:
        self._log("stopping")
        stop_all(self._children)
        self._servers.stop()
        for _ in range(3):  # what a stray leaves behind comes to us in turn
            kill([child for child in psutil.Process().children() if child.pid not in earlier])
            _reap_adopted(earlier)
        self._log("everything is stopped")

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """A socket that becomes readable on every signal, while a request to stop is noted or raised."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        numbers = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as it is under nohup
            numbers.append(signal.SIGHUP)
        previous = {number: signal.signal(number, self._on_stop) for number in numbers}
        # Any handler makes SIGCHLD reach the wake-up socket; with the default one it is dropped.
        previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        wakeup = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield ours
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in previous.items():
                signal.signal(number, handler)
            ours.close()
            theirs.close()

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        first, self._asked = not self._asked, True
        if first and self._starting:
            raise _StopAsked


class _StopAsked(BaseException):
    """A signal to stop came while the start was still under way."""


class _Part(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def pid(self) -> int | None: ...
    def launch(self) -> None: ...
    def exit_status(self) -> int | None: ...


class _Supervised:
    """One process under supervision, with the history that decides when it is started again."""

    def __init__(self, part: _Part, proven: bool = False) -> None:
        self.part = part
        self._proven = proven  # it has shown that it can stay up
        self.due: float | None = None  # when to start it again, by the monotonic clock; None while it runs
        self._started = time.monotonic()
        self._delay = _FIRST_DELAY
        self._false_starts = 0

    def is_hopeless(self) -> bool:
        """Whether it has never stayed up and keeps ending of its own accord."""
        return not self._proven and self._false_starts >= _MOST_FALSE_STARTS

    def look(self, log: Callable[[str], None]) -> None:
        """Notice a death, or start again what is due."""
        now = time.monotonic()
        if self.due is None:
            status = self.part.exit_status()
            if status is not None:
                self._plan(status, now, log)
        elif now >= self.due:
            try:
                self.part.launch()
            except (OSError, RuntimeError) as error:
                log(f"{self.part.name} could not be started: {error}")
                self.due = now + _LONGEST_DELAY
            else:
                log(f"{self.part.name} is started again")
                self.due, self._started = None, now

    def _plan(self, status: int, now: float, log: Callable[[str], None]) -> None:
        if now - self._started >= _STEADY_AFTER:
            self._delay = _FIRST_DELAY
            self._proven = True
        self._false_starts = self._false_starts + 1 if status >= 0 else 0
        ending = (
            f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        )
        plan = "giving up" if self.is_hopeless() else f"starting it again in {self._delay:.1f} s"
        log(f"{self.part.name} {ending}; {plan}")
        self.due = now + self._delay
        self._delay = min(2 * self._delay, _LONGEST_DELAY)


class _Child:
    """The process of a ChildSpec, leading a session of its own: its offspring can be ended with it."""

    def __init__(self, spec: ChildSpec, embedded: EmbeddedServers, servers: Servers) -> None:
        self.name = spec.name
        self._spec = spec
        self._steps: Steps = ((signal.SIGTERM, spec.grace),)
        self._environment = {
            **os.environ,
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
            **spec.environment,
            **mark(embedded.data_dir),
        }

    def launch(self) -> None:
        self._process = spawn(
            self._spec.command,
            folder=Path.cwd(),
            environment=self._environment,
            death_signal=signal.SIGKILL,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_status(self) -> int | None:
        status = self._process.poll()
        if status is not None:
            self._end_offspring()
        return status

    def stop(self) -> None:
        end(self._process, self._steps)
        self._end_offspring()

    def _end_offspring(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _reap_adopted(own: Collection[int | None]) -> None:
    """Reap the dead among our children but `own`: those left to us by children that ended before them."""
    with suppress(ChildProcessError):
        while dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if dead.si_pid in own:
                return
            os.waitpid(dead.si_pid, os.WNOHANG)
