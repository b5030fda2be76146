"""`python -m workers`: run one worker process until SIGTERM or SIGINT."""

import argparse
import asyncio
import os
from collections.abc import Collection
from typing import TYPE_CHECKING

import uvloop

from app.kernel_cache import keep_kernels
from app.logs import configure_logs
from app.secrets import forget_secrets, take_secrets
from app.settings import Settings

if TYPE_CHECKING:
    from workers.process import Part

_NICENESS = 5
"""Niceness of workers. Under full load, the API gets three times their processor time."""

_SECONDS_TO_CLOSE = 2.0


def main() -> None:
    """Read the command line and run the worker."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument(
        "-c", "--concurrency", type=int, default=1, help="books to relate at the same time [1]"
    )
    parser.add_argument(
        "--only",
        choices=["jobs", "urgent"],
        help="jobs: run jobs; urgent: keep the index complete and deliver changes to webhooks [both]",
    )
    parser.add_argument(
        "--take-secrets",
        action="store_true",
        help="read secret variables from standard input, as a JSON object",
    )
    arguments = parser.parse_args()
    if arguments.take_secrets:
        take_secrets()
    settings = Settings()
    configure_logs(settings.log_format)
    keep_kernels(settings.data_dir)
    from workers.process import PARTS

    parts: Collection[Part] = PARTS if arguments.only is None else [arguments.only]
    # Only jobs compute much. Lookups wait until a lost index is complete.
    if "jobs" in parts:
        os.nice(_NICENESS)
    forget_secrets()
    uvloop.run(_live(settings, arguments.concurrency, parts))


async def _live(settings: Settings, concurrency: int, parts: "Collection[Part]") -> None:
    from workers.process import run

    await run(settings, concurrency, parts=parts)
    # Before Python 3.12, a library's task that lost its cancellation in asyncio.wait_for never ends.
    asyncio.get_running_loop().call_later(_SECONDS_TO_CLOSE, os._exit, 0)


if __name__ == "__main__":
    main()
