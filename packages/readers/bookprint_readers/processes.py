"""Readers in child processes: one process for each uploaded file, a pool of processes for bulk files.

An uploaded file is passed to its process as a descriptor. A book that crashes or hangs a process is refused.
The pool returns results in the order of the books. It reads few books at a time, which bounds memory. The
parent process loads no reader.
"""

import asyncio
import os
import queue
import resource
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from bookprint_core.errors import BrokenFile, FileTooLarge, Unavailable, UnusableFile
from bookprint_readers.extraction import Extraction, without_page_furniture
from bookprint_readers.killable import (
    NEW_NETWORK,
    NEW_USER,
    Bounds,
    Child,
    Children,
    Died,
    NotStarted,
    OutOfProcessorTime,
    OutOfTime,
    Parent,
)
from bookprint_readers.plain_values import to_json
from bookprint_readers.source import MOST_BYTES, Source

if TYPE_CHECKING:
    from bookprint_readers.unread import Unread

BYTES_BESIDE_TEXT = 1 << 25
"""Maximum size of page labels, metadata and warnings in an answer, in bytes."""

SECONDS_PER_BOOK = 120.0
"""Seconds of processor time that a process may use for one book before it is killed."""

SLEEP_FACTOR = 10
"""Seconds that a process may sleep before it is killed, per second of its limit of processor time.

A reader waits only for its file, and usually sleeps less than it computes. A slow disk or scarce memory can
make it sleep longer. Waiting for a processor counts as sleep only on macOS.
"""

_MEMORY_BYTES = 4 << 30
"""Bytes that a process may map beyond its libraries. A book of 600 KB needs about 30 MB."""

_AHEAD = 3  # books in progress per process: being read, or waiting for earlier books

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Limits for reading one file."""

    seconds: float = 8.0  # of processor time
    memory_bytes: int = 1 << 30  # in addition to the child's memory at its start
    characters: int = 1 << 26  # of the text that is read


class IsolatedReader:
    """Reader of files in at most `at_once` child processes; thread-safe.

    Leaving its context kills the children that are reading.
    """

    def __init__(self, limits: ReadingLimits, at_once: int | None = None) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(at_once or os.cpu_count() or 1, thread_name_prefix="read")
        answer_bytes = 4 * limits.characters + BYTES_BESIDE_TEXT
        self._children = Children(
            Bounds(
                processor_seconds=limits.seconds,
                sleeping_seconds=SLEEP_FACTOR * limits.seconds,
                memory_bytes=limits.memory_bytes,
                message_bytes=answer_bytes,
                namespaces=NEW_USER | NEW_NETWORK,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._children.kill()

    async def read(self, descriptor: int, name: str) -> Extraction:
        """Return the book in an open file, without page furniture. Messages call the file `name`.

        The descriptor's position is neither used nor changed. Raises InvalidInput, usually a subclass of
        UnusableFile, or Unavailable if no process could be started.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.read_waiting, descriptor, name)

    def read_waiting(self, descriptor: int, name: str) -> Extraction:
        """Read like `read`, from any thread."""
        try:
            with self._children.start(_answer, _Descriptor(descriptor), name, self._limits) as child:
                outcome: Extraction | UnusableFile = child.receive(Extraction, *UnusableFile.__subclasses__())
        except OutOfProcessorTime as exc:
            raise FileTooLarge(
                f"{name} takes more than {self._limits.seconds:g} s of processor time to read. "
                "Split it into its parts."
            ) from exc
        except OutOfTime as exc:
            raise FileTooLarge(
                f"{name} was not read: its reader hangs. It waited for more than "
                f"{SLEEP_FACTOR * self._limits.seconds:g} s, and took less than {self._limits.seconds:g} s "
                "of processor time. Send it again later."
            ) from exc
        except NotStarted as exc:
            raise Unavailable("The reader of the file did not start in time. Try again in a moment.") from exc
        except Died as exc:
            raise BrokenFile(
                f"{name} cannot be read: its reader crashed ({exc}), perhaps for want of memory "
                f"({self._limits.memory_bytes >> 20:,} MiB)."
            ) from exc
        if isinstance(outcome, UnusableFile):
            raise outcome
        return outcome


@dataclass(frozen=True, slots=True)
class _Descriptor:
    """Number of an open file. Pickling duplicates the descriptor for the receiving process."""

    number: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self.number),)


def _received(duplicate: Any) -> _Descriptor:
    return _Descriptor(duplicate.detach())


def _answer(parent: Parent, file: _Descriptor, name: str, limits: ReadingLimits) -> None:
    """Send the book in the file, or the reason for its refusal. Runs in the child."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    try:
        answer = to_json(_read(Source.of_open_file(file.number, name), limits))
    except UnusableFile as exc:
        answer = to_json(exc)
    except MemoryError:
        memory = f"{limits.memory_bytes >> 20:,} MiB of memory"
        answer = to_json(FileTooLarge(f"{name} takes more than {memory} to read. Split it into its parts."))
    except Exception as exc:
        # The reader did not expect this error, whose message may quote the file.
        sys.stderr.writelines(f"{line!r}\n" for line in traceback.format_exc().splitlines())
        answer = to_json(BrokenFile(f"{name} cannot be read ({type(exc).__name__})."))
    parent.send(answer)


def _read(source: Source, limits: ReadingLimits) -> Extraction:
    # Imported here, because the parent process needs no reader.
    from bookprint_readers.recognition import read_book

    extraction = without_page_furniture(read_book(source))
    if sum(map(len, extraction.pages)) > limits.characters:
        raise FileTooLarge(
            f"{source.name} holds a text of more than {limits.characters:,} characters. "
            "Split it into its books."
        )
    return extraction


class ParentQuestion:
    """Base class of the question that a process may ask its parent, once per book."""


Ask = Callable[[Any], Any]
"""Function that asks the parent a question while a book is read."""

BookWork = Callable[["Unread", Ask], T]
"""Function that a process calls for each book. It can be pickled and raises no errors."""


class ReadingProcesses(Generic[T]):
    """Pool of processes that call a function for each book. Leaving its context kills them."""

    def __init__(
        self,
        count: int,
        work: BookWork[T],
        kinds: Sequence[type],
        answer: Ask | None = None,
        seconds: float = SECONDS_PER_BOOK,
    ) -> None:
        """Prepare `count` processes that call `work`. `kinds` are the types of its results and questions.
        `answer` answers the questions in the pool's threads. `seconds` limits the processor time of one book.
        """
        self._count = count
        self._work = work
        self._kinds = kinds
        self._seconds = seconds
        self._answer = answer
        self._closed = False
        # In a user namespace, root could not open the files of other users.
        namespaces = NEW_USER | NEW_NETWORK if os.geteuid() else NEW_NETWORK
        bounds = Bounds(seconds, SLEEP_FACTOR * seconds, _MEMORY_BYTES, MOST_BYTES, namespaces)
        self._children = Children(bounds)
        self._idle: queue.SimpleQueue[Child | None] = queue.SimpleQueue()  # None: a process to start
        for _ in range(count):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="read")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the processes and wait for the pool's threads."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._children.kill()
        self._threads.shutdown()

    def map(self, books: Iterable["Unread"]) -> Iterator[tuple["Unread", T | BrokenFile]]:
        """Yield each book with its result, in order; an error if its process died or was killed."""
        under_way: deque[tuple[Unread, Future[T | BrokenFile]]] = deque()
        for book in books:
            under_way.append((book, self._threads.submit(self._result, book)))
            if len(under_way) >= self._count * _AHEAD:
                done, future = under_way.popleft()
                yield done, future.result()
        while under_way:
            done, future = under_way.popleft()
            yield done, future.result()

    def _result(self, book: "Unread") -> T | BrokenFile:
        try:
            return self._read(book)
        except Died:
            # The cause may be another one: a system short of memory kills processes.
            try:
                return self._read(book)
            except Died as exc:
                return BrokenFile(f"The process that read it ended with {exc}. Convert it to another format.")

    def _read(self, book: "Unread") -> T | BrokenFile:
        """Return the result for one book. Raises Died."""
        child, kept = self._idle.get(), None
        try:
            if self._closed:
                return BrokenFile("Reading was ended early.")
            child = child or self._children.start(_serve, self._work)
            result: T = self._exchange(child, book)
            kept = child
            return result
        except OutOfProcessorTime:
            return BrokenFile(
                f"Reading it took more than {self._seconds:,g} seconds of processor time. "
                "Convert it to another format."
            )
        except OutOfTime:
            return BrokenFile(
                f"Its reader hangs: it waited for more than {SLEEP_FACTOR * self._seconds:,g} seconds, and "
                f"took less than {self._seconds:,g} seconds of processor time. Run the same command again."
            )
        finally:
            self._idle.put(kept)

    def _exchange(self, child: Child, book: "Unread") -> Any:
        """Send the book to the child, answer its question, and return the result."""
        child.send(book)
        message = child.receive(*self._kinds)
        if isinstance(message, ParentQuestion) and self._answer is not None:
            child.send(self._answer(message))
            message = child.receive(*(kind for kind in self._kinds if not issubclass(kind, ParentQuestion)))
        return message


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _serve(parent: Parent, work: BookWork[Any]) -> None:
    """Send the results for one book after the other, until the parent closes the connection."""

    def ask(question: Any) -> Any:
        parent.send(to_json(question))
        return parent.receive()

    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    with suppress(EOFError, OSError):
        while True:
            book = parent.receive()
            parent.send(to_json(work(book, ask)))
