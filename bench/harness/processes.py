"""Pools of processes that end with the benchmark, however it ends."""

import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Literal

from app.embedded.exec_as import PR_SET_PDEATHSIG, prctl


def processes(count: int | None = None, *, start: Literal["fork", "spawn"] = "fork") -> ProcessPoolExecutor:
    """A pool of processes, one for each core by default; to be made in the main thread."""
    context = get_context(start)
    return ProcessPoolExecutor(count, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends (Linux)."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
