"""What reading one file may cost, measured in a process of its own."""

import os
import resource
import signal
from pathlib import Path

from app.core.errors import UnusableFile
from app.core.text.content import content_from_text
from app.readers.content import to_content
from app.readers.recognition import read_book
from app.readers.source import Source

SECONDS = 10
MEMORY = 1 << 30
"""Bytes that reading may add to the process."""


def outcome_within_limits(source: Source) -> str:
    """ "read" or "refused"; else what a process that may use SECONDS and MEMORY came to."""
    content_from_text("word")  # loads the kernels once, not in every process
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        known = {0: "read", 1: "refused", 2: "crashed", 3: "out of memory"}
        return known.get(os.waitstatus_to_exitcode(status), f"killed by {status}")
    status = 2
    try:
        signal.alarm(SECONDS)
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
