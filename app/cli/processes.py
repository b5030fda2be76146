"""Processes that read books: a file that kills or hangs one is refused, and the others go on.

Each process has one book at a time. Results come in the order of the books, and only so many books are under
way that memory stays flat.
"""

import multiprocessing
import os
import queue
import resource
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Generic, TypeVar

from app.readers.unread import Unread

SECONDS_PER_BOOK = 120.0
"""A process that takes longer over one book is killed."""

_SECONDS_TO_START = 120.0
_SECONDS_TO_END = 5.0
_ADDRESS_SPACE = 6 << 30
"""Bytes that a process may map. A book of 600 KB takes some 30 MB, the kernels and libraries 2 GB."""

_AHEAD = 3
"""Books for each process that are under way, being read or waiting for those before them."""

_ANSWER, _QUESTION, _READY = "answer", "question", "ready"

T = TypeVar("T")

Ask = Callable[[Any], Any]
"""Asks the parent something while a book is read."""

Work = Callable[[Unread, Ask], T]
"""What a process does with a book; it can be pickled, and raises nothing."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A book whose process was lost over it."""

    reason: str


class ReadingProcesses(Generic[T]):
    """Processes that do a work on books."""

    def __init__(
        self,
        count: int,
        work: Work[T],
        answer: Ask | None = None,
        seconds: float = SECONDS_PER_BOOK,
    ) -> None:
        """`answer` answers what the work asks, in threads of its own."""
        self._count = count
        self._seconds = seconds
        self._answer = answer
        self._idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        self._processes = [_Process(work) for _ in range(count)]
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="read")

    def __enter__(self) -> "ReadingProcesses[T]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.kill()
        self._threads.shutdown()
        for process in self._processes:
            process.end()

    def map(self, books: Iterable[Unread]) -> Iterator[tuple[Unread, T | Lost]]:
        """Each book with what came of it, in order."""
        under_way: deque[tuple[Unread, Future[T | Lost]]] = deque()
        for book in books:
            under_way.append((book, self._threads.submit(self._work, book)))
            if len(under_way) >= self._count * _AHEAD:
                done, future = under_way.popleft()
                yield done, future.result()
        while under_way:
            done, future = under_way.popleft()
            yield done, future.result()

    def _work(self, book: Unread) -> T | Lost:
        process = self._idle.get()
        try:
            result: T | Lost = process.ask(book, self._answer, self._seconds)
            return result
        finally:
            self._idle.put(process)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Process:
    """One process, started when it is needed and again when it was lost."""

    def __init__(self, work: Work[Any]) -> None:
        self._work = work
        self._connection: Connection | None = None
        self._process: Any = None

    def ask(self, book: Unread, answer: Ask | None, seconds: float) -> Any:
        try:
            connection = self._started()
            connection.send(book)
            while True:
                if not connection.poll(seconds):
                    self.kill()
                    self.end()
                    return Lost(
                        f"Reading it took more than {seconds:,.0f} seconds. Convert it to another format."
                    )
                kind, content = connection.recv()
                if kind == _ANSWER:
                    return content
                connection.send(answer(content) if answer is not None else None)
        except (EOFError, OSError):
            status = self.end()
            return Lost(f"The process that read it was lost{status}. Convert it to another format.")

    def kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def _started(self) -> Connection:
        if self._connection is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._work), daemon=True)
            self._process.start()
            theirs.close()
            self._connection = ours
            if not ours.poll(_SECONDS_TO_START) or ours.recv() != _READY:
                raise EOFError
        return self._connection

    def end(self) -> str:
        """Forget the process; how it ended, for a message."""
        process, self._process = self._process, None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if process is None:
            return ""
        process.join(_SECONDS_TO_END)
        if process.exitcode is None:
            process.kill()
            process.join()
        code = process.exitcode or 0
        return f" to signal {-code}" if code < 0 else f" with status {code}"


def _serve(connection: Connection, work: Work[Any]) -> None:
    """The life of a process: one book after the other, until the parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(ValueError, OSError):  # a lower limit is set already, or the system knows none
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    connection.send(_READY)

    def ask(question: Any) -> Any:
        connection.send((_QUESTION, question))
        return connection.recv()

    with suppress(EOFError, OSError):
        while True:
            book = connection.recv()
            connection.send((_ANSWER, work(book, ask)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
