"""`python -m workers`: one worker process, until SIGTERM or SIGINT."""

import argparse
import asyncio
import os

import uvloop

from app.kernel_cache import keep_kernels
from app.logs import configure_logs
from app.secrets import forget_secrets, take_secrets
from app.settings import Settings

_NICENESS = 5
"""Niceness of workers: where both compute the API has three times their share, and other work no more."""

_SECONDS_TO_CLOSE = 2.0


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument(
        "-c",
        "--concurrency",
        type=int,
        help="books related at the same time [BOOKPRINT_JOBS_AT_ONCE, else 1]",
    )
    parser.add_argument(
        "--only",
        choices=["jobs", "changes"],
        help="run jobs and watch the index, or deliver changes to webhooks; both if left out",
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
    from workers.process import PARTS, run

    # Changes are urgent, and delivering them computes nothing. The imports are urgent as well: until a worker
    # is there, nobody mends the index.
    if arguments.only != "changes":
        os.nice(_NICENESS)
    forget_secrets()
    parts = PARTS if arguments.only is None else [arguments.only]

    async def live() -> None:
        await run(settings, arguments.concurrency or settings.jobs_at_once, parts=parts)
        # A library's task that has lost its cancellation never ends (asyncio.wait_for, until Python 3.12).
        asyncio.get_running_loop().call_later(_SECONDS_TO_CLOSE, os._exit, 0)

    uvloop.run(live())


if __name__ == "__main__":
    main()
