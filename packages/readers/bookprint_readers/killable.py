"""Child processes that read, with limits of memory and time: killed, and not waited for.

A file can make any parser loop, crash or fill the memory. Children are forked from a process that has
loaded all readers and has no thread (multiprocessing's fork server). One beyond a limit is killed, and so is
one whose parent has ended. Processor time is limited, because a child takes as much of it on a busy machine
as on an idle one, and so is the time that a child sleeps. Time in which it waits for a processor is not.

A child trusts its parent, and takes pickles from it. The parent takes bytes from its child: a limited number,
and until a moment that the child cannot put off. A file may have taken the child over, so what comes is built
anew, value by value, and only as one of the types that were asked for.
"""

import ctypes
import math
import os
import pickle
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from multiprocessing.context import ForkServerProcess
from typing import Any, Self, TypeVarTuple
from weakref import WeakSet

import psutil

from bookprint_readers.plain_values import from_json

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(["bookprint_readers.processes", "bookprint_readers.recognition"])

_SECONDS_TO_START = 120.0  # of sleep
_SECONDS_TO_FORK = 5.0
"""Seconds that the fork server may sleep, or stand still, while it is to start a child; then it is killed."""

_TRIES_TO_FORK = 100
_SECONDS_BETWEEN_TRIES = 0.05

_SECONDS_TO_END = 20.0  # seconds that a child may take to end by itself once its connection is closed
_GRACE = 1.0  # seconds of processor time beyond its own after which the kernel ends a child

_LEAST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two looks of the parent at the time that its child has taken."""

_AWAKE = {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP}

_HEAD = 8  # bytes before a message to the parent that tell its length

_PART = 1 << 18

_KERNEL = ctypes.CDLL(None)
_NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS of <linux/prctl.h>

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
"""Namespaces of <linux/sched.h>: from its own of users a process looks into no other process of the user."""

# multiprocessing looks at all children whenever it starts one, and must not meet one half closed.
_LOCK = threading.Lock()

Ts = TypeVarTuple("Ts")


class OutOfTime(Exception):
    """The child slept longer than it may, and was killed."""


class OutOfProcessorTime(OutOfTime):
    """The child took more processor time than it may, and was killed."""


class Died(Exception):
    """The child has ended; the message says with what, as "signal 9", "status 1" or "a wrong answer"."""


class NotStarted(Died):
    """The child did not start in time, and was killed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of time, memory and messages of a child."""

    processor_seconds: float  # until the end of its next message; math.inf: not limited
    sleeping_seconds: float  # the same, for the time that it sleeps
    memory_bytes: int  # beyond those that it starts with
    message_bytes: int
    namespaces: int = 0  # of its own, as far as the kernel grants them


class Parent:
    """The parent, as its child speaks to it; the child's time runs from message to message."""

    def __init__(self, connection: socket.socket, bounds: Bounds) -> None:
        self._connection = connection
        self._requests = connection.makefile("rb")
        self._bounds = bounds

    def send(self, message: bytes) -> None:
        """Send a message and restart the clock."""
        self._connection.sendall(len(message).to_bytes(_HEAD))
        self._connection.sendall(message)
        self._start_time()

    def receive(self) -> Any:
        """Return the next message and restart the clock; raises EOFError when the parent hangs up."""
        message = pickle.load(self._requests)
        self._start_time()
        return message

    def _start_time(self) -> None:
        """Have the kernel end this process, should the parent not do so in time."""
        if self._bounds.processor_seconds < math.inf:
            _, hard = resource.getrlimit(resource.RLIMIT_CPU)
            seconds = math.ceil(time.process_time() + self._bounds.processor_seconds + _GRACE)
            soft = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


class _Account:
    """The parent's account of the time that a child takes until the end of one message."""

    def __init__(self, pid: int, processor_seconds: float, sleeping_seconds: float) -> None:
        self._pid = pid
        self._most = self._look()[0] + processor_seconds
        self._sleep_left = sleeping_seconds
        self._pause = 0.0
        self._next_look = time.monotonic()

    def seconds_to_wait(self) -> float:
        """Return the seconds until the next check of the time used; raises OutOfTime at the limit."""
        now = time.monotonic()
        if now >= self._next_look:
            used, is_awake = self._look()
            if used >= self._most:
                raise OutOfProcessorTime
            if not is_awake:
                self._sleep_left -= self._pause  # and no more, where the parent was kept from looking
            if self._sleep_left <= 0:
                raise OutOfTime
            self._pause = max(_LEAST_PAUSE, min(self._most - used, self._sleep_left, _LONGEST_PAUSE))
            self._next_look = now + self._pause
        return self._next_look - now

    def _look(self) -> tuple[float, bool]:
        """Return the processor time of the child so far, and whether it is awake, if the system says."""
        try:
            child = psutil.Process(self._pid)
            with child.oneshot():
                times, status = child.cpu_times(), child.status()
        except psutil.Error:  # it is gone, as the connection then says
            return 0.0, False
        # macOS calls processes running that sleep.
        return float(times.user + times.system), status in _AWAKE and sys.platform == "linux"


class Child:
    """A child process, as its parent speaks to it; leaving it as a context ends it."""

    def __init__(self, bounds: Bounds, life: Callable[[Parent, *Ts], None], *args: *Ts) -> None:
        self._bounds = bounds
        self._ready = False
        self._how: str | None = None  # it has ended
        self._connection, theirs = socket.socketpair()
        with theirs, _LOCK:
            self._process = _started(theirs, bounds, life, args)
        self._pid = self._process.pid or 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def send(self, message: object) -> None:
        """Send what can be pickled; raises OutOfTime and Died."""
        self._wait_until_ready()
        try:
            self._connection.settimeout(self._bounds.sleeping_seconds)  # for all of it
            self._connection.sendall(pickle.dumps(message))
        except OSError as exc:
            raise self._lost(exc) from exc

    def receive(self, *kinds: type) -> Any:
        """Return the child's next message, as one of these types; raises OutOfTime and Died."""
        try:
            return from_json(self.receive_bytes(), kinds)
        except ValueError as exc:
            self.end()
            raise Died("a wrong answer") from exc

    def receive_bytes(self) -> bytes:
        """Return the bytes of the child's next message; raises OutOfTime and Died."""
        self._wait_until_ready()
        return self._next(self._bounds.processor_seconds, self._bounds.sleeping_seconds)

    def kill(self) -> None:
        """Kill it, so that the thread that waits for it hears that it died."""
        with _LOCK:
            if self._how is None:
                self._process.kill()

    def end(self, patience: float = 0.0) -> str:
        """Kill it unless it ends within `patience` seconds, and forget it; returns how it ended."""
        deadline = time.monotonic() + patience
        while self._is_alive() and time.monotonic() < deadline:
            time.sleep(0.005)
        with _LOCK:
            if self._how is None:
                self._process.kill()
                self._process.join()
                code = self._process.exitcode or 0
                self._how = f"signal {-code}" if code < 0 else f"status {code}"
                self._process.close()
                self._connection.close()
            return self._how

    def _is_alive(self) -> bool:
        with _LOCK:
            return self._how is None and self._process.is_alive()

    def _wait_until_ready(self) -> None:
        if self._ready:
            return
        try:
            self._next(math.inf, _SECONDS_TO_START)
        except OutOfTime as exc:
            raise NotStarted("a start that hangs") from exc
        self._ready = True

    def _next(self, processor_seconds: float, sleeping_seconds: float) -> bytes:
        account = _Account(self._pid, processor_seconds, sleeping_seconds)
        try:
            size = int.from_bytes(self._read(_HEAD, account))
            if size <= self._bounds.message_bytes:
                return self._read(size, account)
        except OutOfTime:
            self.end()
            raise
        except (EOFError, OSError) as exc:
            raise self._lost(exc) from exc
        self.end()
        raise Died("an answer that is too long")

    def _read(self, count: int, account: _Account) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._connection.settimeout(account.seconds_to_wait())
            with suppress(TimeoutError):
                part = self._connection.recv(min(count - len(data), _PART))
                if not part:
                    raise EOFError
                data += part
        return bytes(data)

    def _lost(self, error: Exception) -> OutOfTime | Died:
        """Why nothing more can be exchanged; the child has ended by then."""
        if isinstance(error, TimeoutError):
            self.end()
            return OutOfTime()
        how = self.end(_SECONDS_TO_END)
        return OutOfProcessorTime() if how == f"signal {signal.SIGXCPU.value}" else Died(how)


def _started(*life: object) -> ForkServerProcess:
    """A process that lives a life; raises NotStarted.

    multiprocessing waits for it without a bound. A fork server that hangs is killed, which ends the wait, and
    the next start begins a new one. SIGINT is blocked meanwhile, and so for the server and its processes: at
    Ctrl-C, which a terminal sends to all, they would print a traceback while they import. The tracker of
    multiprocessing is started first, because its start ends with SIGINT unblocked.
    """
    resource_tracker.ensure_running()
    for _ in range(_TRIES_TO_FORK):
        process, done = _PROCESSES.Process(target=_live, args=life, daemon=True), threading.Event()
        watching = threading.Thread(target=_kill_hanging_server, args=(done,), daemon=True)
        watching.start()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        except (EOFError, OSError):  # the server has ended
            time.sleep(_SECONDS_BETWEEN_TRIES)
        else:
            return process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            done.set()
            watching.join()
    raise NotStarted("a fork server that does not start")


def _kill_hanging_server(done: threading.Event) -> None:
    """Kill the fork server where it sleeps for too long before the start is `done`."""
    server: Any = forkserver._forkserver
    pid, account = 0, None
    try:
        while not done.wait(_LEAST_PAUSE if account is None else account.seconds_to_wait()):
            if (server._forkserver_pid or 0) != pid:
                pid = server._forkserver_pid or 0
                account = None if not pid else _Account(pid, math.inf, _SECONDS_TO_FORK)
    except OutOfTime:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Children:
    """Children under the same bounds, which can be killed together."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._started: WeakSet[Child] = WeakSet()
        self._killed = False
        self._lock = threading.Lock()

    def start(self, life: Callable[[Parent, *Ts], None], *args: *Ts) -> Child:
        """Return a child that calls `life`, which can be pickled, as can its arguments."""
        with self._lock:
            child = Child(self._bounds, life, *args)
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
    connection: socket.socket, bounds: Bounds, life: Callable[[Parent, *Ts], None], args: tuple[*Ts]
) -> None:
    """The life of a child, within its bounds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    if sys.platform == "linux":
        _KERNEL.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _KERNEL.unshare(bounds.namespaces)  # while there is one thread
    threading.Thread(target=_end_with_parent, daemon=True).start()
    most = psutil.Process().memory_info().vms + bounds.memory_bytes
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parent = Parent(connection, bounds)
    parent.send(b"")  # it is ready
    life(parent, *args)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
