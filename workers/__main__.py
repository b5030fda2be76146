"""`python -m workers`: one worker process, until SIGTERM or SIGINT."""

import argparse
import asyncio
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import uvloop

from app.fork_server import end_with_parent
from app.kernel_cache import keep_kernels
from app.logs import configure_logs
from app.secrets import forget_secrets, take_secrets
from app.settings import Settings

if TYPE_CHECKING:
    from workers.process import Part

_NICENESS = 5
"""Niceness of workers: where both compute the API has three times their share, and other work no more."""

_SECONDS_TO_CLOSE = 2.0


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("-c", "--concurrency", type=int, default=1, help="books related at the same time [1]")
    parser.add_argument(
        "--only",
        choices=["jobs", "urgent"],
        help="run jobs, or keep the index complete and deliver changes to webhooks; both, in two processes, "
        "if left out",
    )
    parser.add_argument(
        "--take-secrets",
        action="store_true",
        help="read variables that are secret from standard input, as a JSON object",
    )
    arguments = parser.parse_args()
    if arguments.take_secrets:
        take_secrets()
    settings = Settings()
    configure_logs(settings.log_format)
    keep_kernels(settings.data_dir)
    from workers.process import PARTS

    concurrency = arguments.concurrency
    if arguments.only is not None:
        _work(settings, concurrency, [arguments.only])
    elif sys.platform == "linux":
        _work_in_two(settings, concurrency)
    else:  # where a fork may not use libraries of the system
        _work(settings, concurrency, PARTS)


def _work(
    settings: Settings,
    concurrency: int,
    parts: "Collection[Part]",
    at_end: Callable[[], object] = lambda: None,
) -> None:
    from workers.process import run

    # Delivering changes computes nothing, and lookups wait for an index that is lost.
    if "jobs" in parts:
        os.nice(_NICENESS)
    forget_secrets()

    async def live() -> None:
        await run(settings, concurrency, parts=parts)
        at_end()
        # A library's task that has lost its cancellation never ends (asyncio.wait_for, until Python 3.12).
        asyncio.get_running_loop().call_later(_SECONDS_TO_CLOSE, os._exit, 0)

    uvloop.run(live())


def _work_in_two(settings: Settings, concurrency: int) -> None:
    """Run jobs here and do what is urgent in a fork, which keeps its priority. Where one ends, both do."""
    parent = os.getpid()
    child = os.fork()
    if not child:
        status = 1
        try:
            end_with_parent(parent)
            _work(settings, concurrency, ["urgent"])
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    statuses: list[int] = []
    ending = threading.Lock()  # held for good once this process ends: a signal would then kill it

    def wait() -> None:
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if ending.acquire(blocking=False):
            os.kill(parent, signal.SIGTERM)
            ending.release()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    _work(settings, concurrency, ["jobs"], at_end=ending.acquire)
    if not statuses:
        os.kill(child, signal.SIGTERM)
        waiting.join(_SECONDS_TO_CLOSE)
    sys.exit(any(statuses))


if __name__ == "__main__":
    main()
