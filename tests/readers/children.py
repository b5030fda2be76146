"""The processes that readers run in, as the tests look at them."""

import time
from collections.abc import Callable

import psutil


def children(parent: psutil.Process | None = None) -> list[psutil.Process]:
    """Processes that the fork servers of a process, by default this one, have started."""
    servers = (
        each
        for each in (parent or psutil.Process()).children()
        if "multiprocessing.forkserver" in str(each.cmdline())
    )
    return [each for server in servers for each in server.children()]


def eventually(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether the condition comes to hold within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.005)
    return False
