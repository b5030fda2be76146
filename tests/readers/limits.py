"""What reading one file may cost, measured in a process of its own.

These processes are forked from a small one that does nothing else: by then a test process has grown so large
that forking it takes longer than reading.
"""

import os
import pickle
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO

from bookprint_core.errors import UnusableFile
from bookprint_core.text.content import content_from_text
from bookprint_readers.extraction import to_content
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source

SECONDS = 10
"""Seconds of processor time within which a file is read or refused."""

MEMORY = 1 << 30
"""Bytes that reading may add to the process."""


def outcome_within_limits(data: bytes, name: str) -> str:
    """ "read" or "refused"; else what a process that may use SECONDS and MEMORY came to."""
    forking = _forking()
    pickle.dump((data, name), forking.stdin)
    forking.stdin.flush()
    return str(pickle.load(forking.stdout))


@cache
def _forking() -> subprocess.Popen[bytes]:
    """The process that forks; it ends with this one, when its input does."""
    command = [sys.executable, "-m", "tests.readers.limits"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    content_from_text("word")  # loads the kernels once, not in every process
    while True:
        try:
            data, name = pickle.load(questions)
        except EOFError:
            return
        pickle.dump(_outcome(Source.of_bytes(data, name)), answers)
        answers.flush()


def _outcome(source: Source) -> str:
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        known = {0: "read", 1: "refused", 2: "crashed", 3: "out of memory"}
        return known.get(os.waitstatus_to_exitcode(status), f"killed by {status}")
    status = 2
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        to_content(read_book(source))
        status = 0
    except UnusableFile:
        status = 1
    except MemoryError:
        status = 3
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
