"""`python -m workers`: one worker process, until SIGTERM or SIGINT."""

import argparse
import os
from contextlib import suppress
from pathlib import Path

import uvloop

from app.kernel_cache import keep_kernels
from app.logs import configure_logs
from app.settings import Settings

_NICENESS = 19


def main() -> None:
    """Read the command line and run."""
    settings = Settings()
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument(
        "-c",
        "--concurrency",
        type=int,
        default=settings.jobs_at_once,
        help="books related at the same time",
    )
    parser.add_argument(
        "--only",
        choices=["jobs", "changes"],
        help="run jobs and watch the index, or deliver changes to webhooks; both if left out",
    )
    arguments = parser.parse_args()
    configure_logs(settings.log_format)
    # Changes are urgent, and delivering them computes nothing.
    if arguments.only != "changes":
        _lower_priority()
    keep_kernels(settings.data_dir)
    from workers.process import PARTS, run

    parts = PARTS if arguments.only is None else [arguments.only]
    uvloop.run(run(settings, arguments.concurrency, parts=parts))


def _lower_priority() -> None:
    """Give the API priority where both want to compute."""
    os.nice(_NICENESS)
    # Where Linux weighs sessions against each other, niceness counts only within one.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_NICENESS), encoding="ascii")


if __name__ == "__main__":
    main()
