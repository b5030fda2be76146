"""Child processes that read files and are killed beyond limits of memory and time.

A file can make any parser loop, crash or fill the memory. Children are forked from a process that has loaded
all readers and has no threads (multiprocessing's fork server). A child is killed if it exceeds a limit or if
its parent has ended. Processor time is limited, because it does not depend on the load of the machine. Sleep
is limited, too. Time in which a child waits for a processor is not limited.

A child trusts its parent and reads pickles from it. The parent does not trust its child, because a malicious
file may control the child. It reads a limited number of bytes within a limited time. From them it rebuilds
the values one by one, only as one of the expected types.
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
"""Seconds that the fork server may sleep or be stopped while it starts a child, before it is killed."""

_TRIES_TO_FORK = 100
_SECONDS_BETWEEN_TRIES = 0.05

_SECONDS_TO_END = 20.0  # seconds in which a child may end by itself after its connection is closed
_GRACE = 1.0  # seconds of processor time beyond the limit after which the kernel ends a child

_LEAST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Minimum and maximum seconds between two checks of a child's time by its parent."""

_AWAKE = {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP}

_HEAD = 8  # bytes before a message to the parent that contain its length

_PART = 1 << 18

_KERNEL = ctypes.CDLL(None)
_NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS of <linux/prctl.h>

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
"""Namespaces of <linux/sched.h>. A process in its own user namespace cannot inspect other processes."""

# multiprocessing checks all children whenever it starts one, and fails if a child is half closed.
_LOCK = threading.Lock()

Ts = TypeVarTuple("Ts")


class OutOfTime(Exception):
    """The child slept longer than its limit and was killed."""


class OutOfProcessorTime(OutOfTime):
    """The child used more processor time than its limit and was killed."""


class Died(Exception):
    """The child has ended. The message is the cause, such as "signal 9", "status 1" or "a wrong answer"."""


class NotStarted(Died):
    """The child did not start in time and was killed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for a child's time, memory and messages."""

    processor_seconds: float  # until the end of the child's next message; math.inf: unlimited
    sleeping_seconds: float  # of sleep until the end of the child's next message
    memory_bytes: int  # in addition to the child's memory at its start
    message_bytes: int
    namespaces: int = 0  # that the child creates, if the kernel allows it


class Parent:
    """Connection of a child to its parent. The child's time is measured from message to message."""

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
        """Return the next message and restart the clock. Raises EOFError if the parent disconnects."""
        message = pickle.load(self._requests)
        self._start_time()
        return message

    def _start_time(self) -> None:
        """Set a limit at which the kernel ends this process if the parent has not done so."""
        if self._bounds.processor_seconds < math.inf:
            _, hard = resource.getrlimit(resource.RLIMIT_CPU)
            seconds = math.ceil(time.process_time() + self._bounds.processor_seconds + _GRACE)
            soft = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


class _Account:
    """The parent's measurement of a child's time until the end of one message."""

    def __init__(self, pid: int, processor_seconds: float, sleeping_seconds: float) -> None:
        self._pid = pid
        self._most = self._look()[0] + processor_seconds
        self._sleep_left = sleeping_seconds
        self._pause = 0.0
        self._next_look = time.monotonic()

    def seconds_to_wait(self) -> float:
        """Return the seconds until the next check of the time used. Raises OutOfTime at the limit."""
        now = time.monotonic()
        if now >= self._next_look:
            used, is_awake = self._look()
            if used >= self._most:
                raise OutOfProcessorTime
            if not is_awake:
                self._sleep_left -= self._pause  # not more, even if the parent checks late
            if self._sleep_left <= 0:
                raise OutOfTime
            self._pause = max(_LEAST_PAUSE, min(self._most - used, self._sleep_left, _LONGEST_PAUSE))
            self._next_look = now + self._pause
        return self._next_look - now

    def _look(self) -> tuple[float, bool]:
        """Return the child's processor time so far, and whether it is awake; False if unknown."""
        try:
            child = psutil.Process(self._pid)
            with child.oneshot():
                times, status = child.cpu_times(), child.status()
        except psutil.Error:  # the child has ended, which the connection reports
            return 0.0, False
        # macOS reports sleeping processes as running.
        return float(times.user + times.system), status in _AWAKE and sys.platform == "linux"


class Child:
    """A child process as its parent controls it. Leaving its context ends the child."""

    def __init__(self, bounds: Bounds, life: Callable[[Parent, *Ts], None], *args: *Ts) -> None:
        self._bounds = bounds
        self._ready = False
        self._how: str | None = None  # set when the child has ended
        self._connection, theirs = socket.socketpair()
        with theirs, _LOCK:
            self._process = _started(theirs, bounds, life, args)
        self._pid = self._process.pid or 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def send(self, message: object) -> None:
        """Send a value that can be pickled. Raises OutOfTime and Died."""
        self._wait_until_ready()
        try:
            self._connection.settimeout(self._bounds.sleeping_seconds)  # for the whole message
            self._connection.sendall(pickle.dumps(message))
        except OSError as exc:
            raise self._lost(exc) from exc

    def receive(self, *kinds: type) -> Any:
        """Return the child's next message as a value of one of these types. Raises OutOfTime and Died."""
        try:
            return from_json(self.receive_bytes(), kinds)
        except ValueError as exc:
            self.end()
            raise Died("a wrong answer") from exc

    def receive_bytes(self) -> bytes:
        """Return the bytes of the child's next message. Raises OutOfTime and Died."""
        self._wait_until_ready()
        return self._next(self._bounds.processor_seconds, self._bounds.sleeping_seconds)

    def kill(self) -> None:
        """Kill the child. A thread that waits for its message gets Died."""
        with _LOCK:
            if self._how is None:
                self._process.kill()

    def end(self, patience: float = 0.0) -> str:
        """Kill the child unless it ends within `patience` seconds, and release it. Return how it ended."""
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
        """End the child and return the reason why no more messages can be exchanged."""
        if isinstance(error, TimeoutError):
            self.end()
            return OutOfTime()
        how = self.end(_SECONDS_TO_END)
        return OutOfProcessorTime() if how == f"signal {signal.SIGXCPU.value}" else Died(how)


def _started(*life: object) -> ForkServerProcess:
    """Start a process that calls `_live`. Raises NotStarted.

    multiprocessing waits for the start without a limit. Killing a hanging fork server ends the wait, and the
    next attempt starts a new server. SIGINT is blocked during the start, and therefore for the server and its
    processes. Otherwise Ctrl-C, which a terminal sends to all processes, would make them print tracebacks
    during imports. The tracker of multiprocessing is started first, because its start unblocks SIGINT.
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
    """Kill the fork server if it sleeps too long before the start is `done`."""
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
    """Children with the same limits, which can be killed together."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._started: WeakSet[Child] = WeakSet()
        self._killed = False
        self._lock = threading.Lock()

    def start(self, life: Callable[[Parent, *Ts], None], *args: *Ts) -> Child:
        """Return a child that calls `life`. The function and its arguments must be picklable."""
        with self._lock:
            child = Child(self._bounds, life, *args)
            self._started.add(child)
            if self._killed:
                child.kill()
            return child

    def kill(self) -> None:
        """Kill all children, including any that are started later."""
        with self._lock:
            self._killed = True
            for child in self._started:
                child.kill()


def _live(
    connection: socket.socket, bounds: Bounds, life: Callable[[Parent, *Ts], None], args: tuple[*Ts]
) -> None:
    """Set the limits of a child and call `life`; runs in the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    if sys.platform == "linux":
        _KERNEL.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _KERNEL.unshare(bounds.namespaces)  # before a second thread exists
    threading.Thread(target=_end_with_parent, daemon=True).start()
    most = psutil.Process().memory_info().vms + bounds.memory_bytes
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parent = Parent(connection, bounds)
    try:
        parent.send(b"")  # reports that the child is ready
    except BrokenPipeError:
        return  # the parent has ended meanwhile, as after Ctrl-C
    life(parent, *args)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
