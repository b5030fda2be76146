"""Reading files of strangers in processes of their own, with limits of memory and time.

A file can make any parser loop, crash or fill the memory. So a child reads it, which is forked from a process
where all readers are loaded (multiprocessing's fork server). A child beyond a limit is killed, and so is
one whose parent has ended. The limits are against accidents and floods; they are no sandbox for code.
"""

import asyncio
import os
import resource
import signal
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from typing import Any, Self

import psutil

from app.core.errors import BrokenFile, FileTooLarge, InvalidInput
from app.readers.extraction import Extraction
from app.readers.source import Source

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__, "app.readers.content", "app.readers.recognition"])

_GRACE = 1.0
"""Seconds after which the kernel ends a child that outlives its time, should its parent be gone."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What the reading of one file may take."""

    seconds: float = 8.0
    memory_bytes: int = 1 << 30  # beyond what the child has at its start
    characters: int = 1 << 26  # of the text that is read


class IsolatedReader:
    """Reads files in child processes, at most `at_once` of them; safe for threads.

    Leaving it as a context kills the children that are reading.
    """

    def __init__(self, limits: ReadingLimits, at_once: int | None = None) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(at_once or os.cpu_count() or 1, thread_name_prefix="read")
        self._children: set[ForkServerProcess] = set()
        # multiprocessing looks at all children whenever it starts one, and must not meet one half closed.
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for child in self._children:
                child.kill()

    async def read(self, descriptor: int, name: str) -> Extraction:
        """The book in an open file, which is shown as `name`, without page furniture.

        The position of the descriptor neither counts nor changes. Raises InvalidInput, most often one of the
        kinds of UnusableFile.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.read_waiting, descriptor, name)

    def read_waiting(self, descriptor: int, name: str) -> Extraction:
        """As `read`, for threads."""
        answers, answering = _PROCESSES.Pipe(duplex=False)
        with answers:
            with answering, self._lock:
                arguments = (answering, _Descriptor(descriptor), name, self._limits)
                child = _PROCESSES.Process(target=_answer, args=arguments, daemon=True)
                child.start()
                self._children.add(child)
            try:
                if not answers.poll(self._limits.seconds):
                    raise _too_slow(name, self._limits)
                outcome = answers.recv()
            except (EOFError, OSError) as exc:
                raise _died(name, self._limits) from exc
            finally:
                self._end(child)
        if isinstance(outcome, InvalidInput):
            raise outcome
        assert isinstance(outcome, Extraction)
        return outcome

    def _end(self, child: ForkServerProcess) -> None:
        with self._lock:
            self._children.discard(child)
            child.kill()
            child.join()
            child.close()


@dataclass(frozen=True, slots=True)
class _Descriptor:
    """The number of an open file, in whichever process it is."""

    number: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self.number),)


def _received(duplicate: Any) -> _Descriptor:
    return _Descriptor(duplicate.detach())


def _answer(answers: Connection, file: _Descriptor, name: str, limits: ReadingLimits) -> None:
    """Send the book in the file, or the reason why there is none; runs in the child."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _restrict(limits)
    try:
        answers.send(_read(Source.of_open_file(file.number, name), limits))
    except InvalidInput as exc:
        answers.send(exc)
    except MemoryError:
        answers.send(_too_much_memory(name, limits))
    except Exception as exc:
        traceback.print_exc()  # a reader has let through what it should have named
        answers.send(BrokenFile(f"{name} cannot be read ({type(exc).__name__})."))


def _read(source: Source, limits: ReadingLimits) -> Extraction:
    # Late, because the process that asks needs no reader.
    from app.readers.content import without_page_furniture
    from app.readers.recognition import read_book

    extraction = without_page_furniture(read_book(source))
    if sum(map(len, extraction.pages)) > limits.characters:
        raise FileTooLarge(
            f"{source.name} holds a text of more than {limits.characters:,} characters. "
            "Split it into its books."
        )
    return extraction


def _restrict(limits: ReadingLimits) -> None:
    """Have the kernel refuse memory beyond the limit, and end this process after its time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _GRACE)
    most = psutil.Process().memory_info().vms + limits.memory_bytes
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _too_slow(name: str, limits: ReadingLimits) -> FileTooLarge:
    return FileTooLarge(
        f"{name} takes more than {limits.seconds:g} s to read. "
        "Split it into its parts, or have BOOKPRINT_READ_SECONDS raised."
    )


def _too_much_memory(name: str, limits: ReadingLimits) -> FileTooLarge:
    return FileTooLarge(
        f"{name} takes more than {limits.memory_bytes >> 20:,} MiB of memory to read. "
        "Split it into its parts."
    )


def _died(name: str, limits: ReadingLimits) -> BrokenFile:
    return BrokenFile(
        f"{name} cannot be read: its reader crashed, perhaps for want of memory "
        f"({limits.memory_bytes >> 20:,} MiB)."
    )
