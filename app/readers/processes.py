"""Processes that read many books, each one book after the other: a file that kills or hangs one is refused.

Results come in the order of the books, and only so many books are under way that memory stays flat.
"""

import os
import queue
import resource
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar

from app.core.errors import BrokenFile
from app.readers.killable import (
    NEW_NETWORK,
    NEW_USER,
    Bounds,
    Child,
    Children,
    Died,
    OutOfTime,
    Parent,
)
from app.readers.plain import to_json
from app.readers.source import MOST_BYTES
from app.readers.unread import Unread

SECONDS_PER_BOOK = 120.0
"""A process that takes longer over one book is killed."""

_MEMORY_BYTES = 4 << 30
"""Bytes that a process may map beyond its libraries. A book of 600 KB takes some 30 MB."""

_AHEAD = 3
"""Books for each process that are under way, being read or waiting for those before them."""

T = TypeVar("T")


class Question:
    """What a process may ask its parent, once for each book."""


Ask = Callable[[Any], Any]
"""Asks the parent a Question while a book is read."""

Work = Callable[[Unread, Ask], T]
"""What a process does with a book; it can be pickled, and raises nothing."""


class ReadingProcesses(Generic[T]):
    """Processes that do a work on books; leaving them as a context kills them."""

    def __init__(
        self,
        count: int,
        work: Work[T],
        kinds: Sequence[type],
        answer: Ask | None = None,
        seconds: float = SECONDS_PER_BOOK,
    ) -> None:
        """`kinds` are the types of what comes of the work, and of what it asks; `answer` answers that, in
        threads of its own.
        """
        self._count = count
        self._work = work
        self._kinds = kinds
        self._seconds = seconds
        self._answer = answer
        self._closed = False
        # Root would lose the right to open the files of others.
        namespaces = NEW_USER | NEW_NETWORK if os.geteuid() else NEW_NETWORK
        self._children = Children(Bounds(seconds, _MEMORY_BYTES, MOST_BYTES, namespaces))
        self._idle: queue.SimpleQueue[Child | None] = queue.SimpleQueue()  # None: to be started
        for _ in range(count):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="read")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the processes, and wait until nothing is asked any more."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._children.kill()
        self._threads.shutdown()

    def map(self, books: Iterable[Unread]) -> Iterator[tuple[Unread, T | BrokenFile]]:
        """Each book with what came of it, in order; an error for one over which a process was lost."""
        under_way: deque[tuple[Unread, Future[T | BrokenFile]]] = deque()
        for book in books:
            under_way.append((book, self._threads.submit(self._result, book)))
            if len(under_way) >= self._count * _AHEAD:
                done, future = under_way.popleft()
                yield done, future.result()
        while under_way:
            done, future = under_way.popleft()
            yield done, future.result()

    def _result(self, book: Unread) -> T | BrokenFile:
        try:
            return self._read(book)
        except Died:
            # Something else may have killed it, as where the system is short of memory.
            try:
                return self._read(book)
            except Died as exc:
                return BrokenFile(f"The process that read it ended with {exc}. Convert it to another format.")

    def _read(self, book: Unread) -> T | BrokenFile:
        """What comes of one book; raises Died."""
        child, kept = self._idle.get(), None
        try:
            if self._closed:
                return BrokenFile("Reading was ended early.")
            child = child or self._children.start(_serve, self._work)
            result: T = self._exchange(child, book)
            kept = child
            return result
        except OutOfTime:
            return BrokenFile(
                f"Reading it took more than {self._seconds:,.0f} seconds. Convert it to another format."
            )
        finally:
            self._idle.put(kept)

    def _exchange(self, child: Child, book: Unread) -> Any:
        """What the child makes of the book, which it may ask about."""
        child.send(book)
        message = child.receive(*self._kinds)
        if isinstance(message, Question) and self._answer is not None:
            child.send(self._answer(message))
            message = child.receive(*(kind for kind in self._kinds if not issubclass(kind, Question)))
        return message


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _serve(parent: Parent, work: Work[Any]) -> None:
    """The life of a process: one book after the other, until the parent hangs up."""

    def ask(question: Any) -> Any:
        parent.send(to_json(question))
        return parent.receive()

    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    with suppress(EOFError, OSError):
        while True:
            book = parent.receive()
            parent.send(to_json(work(book, ask)))
