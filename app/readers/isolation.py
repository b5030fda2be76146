"""Reading files of strangers: each by a child process of its own, which no other file meets.

The file goes over as a descriptor. The process that asks needs no reader, and loads none.
"""

import asyncio
import os
import resource
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from typing import Any, Self

from app.core.errors import BrokenFile, FileTooLarge, UnusableFile
from app.readers.extraction import Extraction
from app.readers.killable import NEW_NETWORK, NEW_USER, Bounds, Children, Died, OutOfTime, Parent
from app.readers.plain import to_json
from app.readers.source import MOST_BYTES, Source

BYTES_BESIDE_TEXT = 1 << 25
"""Of an answer, at most: page labels, metadata and warnings."""


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
        answer_bytes = 4 * limits.characters + BYTES_BESIDE_TEXT
        self._children = Children(
            Bounds(limits.seconds, limits.memory_bytes, answer_bytes, NEW_USER | NEW_NETWORK)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._children.kill()

    async def read(self, descriptor: int, name: str) -> Extraction:
        """The book in an open file, which is shown as `name`, without page furniture.

        The position of the descriptor neither counts nor changes. Raises InvalidInput, most often one of the
        kinds of UnusableFile.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.read_waiting, descriptor, name)

    def read_waiting(self, descriptor: int, name: str) -> Extraction:
        """As `read`, for threads."""
        try:
            with self._children.start(_answer, _Descriptor(descriptor), name, self._limits) as child:
                outcome: Extraction | UnusableFile = child.receive(Extraction, *UnusableFile.__subclasses__())
        except OutOfTime as exc:
            raise _too_slow(name, self._limits) from exc
        except Died as exc:
            raise _died(name, self._limits, str(exc)) from exc
        if isinstance(outcome, UnusableFile):
            raise outcome
        return outcome


@dataclass(frozen=True, slots=True)
class _Descriptor:
    """The number of an open file, in whichever process it is."""

    number: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self.number),)


def _received(duplicate: Any) -> _Descriptor:
    return _Descriptor(duplicate.detach())


def _answer(parent: Parent, file: _Descriptor, name: str, limits: ReadingLimits) -> None:
    """Send the book in the file, or the reason why there is none; runs in the child."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    try:
        answer = to_json(_read(Source.of_open_file(file.number, name), limits))
    except UnusableFile as exc:
        answer = to_json(exc)
    except MemoryError:
        answer = to_json(_too_much_memory(name, limits))
    except Exception as exc:
        # A reader has let through what it should have named; the message may be the file's own words.
        sys.stderr.writelines(f"{line!r}\n" for line in traceback.format_exc().splitlines())
        answer = to_json(BrokenFile(f"{name} cannot be read ({type(exc).__name__})."))
    parent.send(answer)


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


def _died(name: str, limits: ReadingLimits, how: str) -> BrokenFile:
    return BrokenFile(
        f"{name} cannot be read: its reader crashed ({how}), perhaps for want of memory "
        f"({limits.memory_bytes >> 20:,} MiB)."
    )
