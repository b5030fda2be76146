"""Child processes that read, with limits of memory and time: killed, and not waited for.

A file can make any parser loop, crash or fill the memory. Children are forked from a process that has
loaded all readers and has no thread (multiprocessing's fork server). One beyond a limit is killed, and so is
one whose parent has ended. The limits are against accidents and floods; they are no sandbox for code.
"""

import os
import resource
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, Self, TypeVarTuple
from weakref import WeakSet

import psutil

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(["app.readers.isolation", "app.readers.content", "app.readers.recognition"])

_SECONDS_TO_START = 120.0
_SECONDS_TO_END = 1.0
_GRACE = 1.0
"""Seconds after which the kernel ends a child that outlives its time, should its parent be gone."""

# multiprocessing looks at all children whenever it starts one, and must not meet one half closed.
_LOCK = threading.Lock()

Ts = TypeVarTuple("Ts")


class OutOfTime(Exception):
    """The child took longer than it may, and was killed."""


class Died(Exception):
    """The child has ended by itself; the message says how, as "signal 9" or "status 1"."""


class Parent:
    """The parent, as its child speaks to it; the child's time runs until it sends a message."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._start_time()

    def send(self, message: object) -> None:
        """Send what can be pickled."""
        self._connection.send(message)

    def receive(self) -> Any:
        """The next message; the time runs anew from here on. Raises EOFError where the parent hangs up."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        message = self._connection.recv()
        self._start_time()
        return message

    def _start_time(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._seconds + _GRACE)


class Child:
    """A child process, as its parent speaks to it; leaving it as a context ends it."""

    def __init__(
        self, seconds: float, memory_bytes: int, life: Callable[[Parent, *Ts], None], *args: *Ts
    ) -> None:
        self._seconds = seconds
        self._ready = False
        self._how: str | None = None  # it has ended
        self._connection, theirs = _PROCESSES.Pipe()
        with theirs, _LOCK:
            everything = (theirs, seconds, memory_bytes, life, args)
            self._process = _PROCESSES.Process(target=_live, args=everything, daemon=True)
            self._process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def send(self, message: object) -> None:
        """Send what can be pickled; raises Died."""
        self._wait_until_ready()
        try:
            self._connection.send(message)
        except OSError as exc:
            raise Died(self.end(_SECONDS_TO_END)) from exc

    def receive(self) -> Any:
        """The child's next message; raises OutOfTime and Died."""
        self._wait_until_ready()
        return self._next(self._seconds)

    def kill(self) -> None:
        """Kill it, so that the thread that waits for it hears that it died."""
        with _LOCK:
            if self._how is None:
                self._process.kill()

    def end(self, patience: float = 0.0) -> str:
        """Kill it unless it ends within so many seconds, and forget it; returns how it ended."""
        with _LOCK:
            if self._how is None:
                self._process.join(patience)
                self._process.kill()
                self._process.join()
                code = self._process.exitcode or 0
                self._how = f"signal {-code}" if code < 0 else f"status {code}"
                self._process.close()
                self._connection.close()
            return self._how

    def _wait_until_ready(self) -> None:
        if not self._ready:
            self._next(_SECONDS_TO_START)
            self._ready = True

    def _next(self, seconds: float) -> Any:
        try:
            if self._connection.poll(seconds):
                return self._connection.recv()
        except (EOFError, OSError) as exc:
            raise Died(self.end(_SECONDS_TO_END)) from exc
        self.end()
        raise OutOfTime


class Children:
    """Children under the same limits, which can be killed together."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        """The seconds up to the next message, and the bytes beyond those that a child starts with."""
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._started: WeakSet[Child] = WeakSet()
        self._killed = False
        self._lock = threading.Lock()

    def start(self, life: Callable[[Parent, *Ts], None], *args: *Ts) -> Child:
        """A child that calls `life`, which can be pickled, as can its arguments."""
        with self._lock:
            child = Child(self._seconds, self._memory_bytes, life, *args)
            self._started.add(child)
            if self._killed:
                child.kill()
            return child

    def kill(self) -> None:
        """Kill all, also those that are yet to be started."""
        with self._lock:
            self._killed = True
            for child in self._started:
                child.kill()


def _live(
    connection: Connection,
    seconds: float,
    memory_bytes: int,
    life: Callable[[Parent, *Ts], None],
    args: tuple[*Ts],
) -> None:
    """The life of a child, under its limits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    threading.Thread(target=_end_with_parent, daemon=True).start()
    most = psutil.Process().memory_info().vms + memory_bytes
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection.send(None)  # it is ready
    life(Parent(connection, seconds), *args)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
