"""`python -m workers`: one worker process, until SIGTERM or SIGINT."""

import argparse
import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import uvloop
from procrastinate import App

from app.logs import configure_logs
from app.settings import Settings
from app.stores.postgres.jobs import INDEX_QUEUE, RELATE_QUEUE
from app.wiring import open_services
from workers.index_watch import watch_index
from workers.queue_upkeep import keep_up
from workers.queue_worker import Pace, QueueWorker, connect, work_off
from workers.tasks import create_queue

_NICENESS = 19
_PACE = Pace()


async def run(settings: Settings, concurrency: int, pace: Pace = _PACE) -> None:
    """Work off jobs, look after the queue and watch the index."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    whole = asyncio.Event()
    # One group: should one ever fail, the process ends and is started anew, rather than going on blind.
    async with open_services(settings) as services, asyncio.TaskGroup() as group:

        def open_queue() -> App:
            return create_queue(connect(str(settings.database_url)), services)

        # Its fetch passes over all jobs that wait in the other queue, and none of its own is urgent.
        indexing = QueueWorker(INDEX_QUEUE, 1, None, longest=None, pace=replace(pace, poll=4 * pace.poll))
        relating = QueueWorker(RELATE_QUEUE, concurrency, whole, pace=pace)
        tasks = [
            group.create_task(watch_index(services, whole)),
            group.create_task(keep_up(services.jobs, pace.dead_after)),
            group.create_task(work_off(open_queue, indexing, services.jobs)),
            group.create_task(work_off(open_queue, relating, services.jobs)),
        ]
        await stop.wait()
        for task in tasks:
            task.cancel()


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
    arguments = parser.parse_args()
    configure_logs(settings.log_format)
    _give_way()
    uvloop.run(run(settings, arguments.concurrency))


def _give_way() -> None:
    """Let the API go first wherever both want to compute."""
    os.nice(_NICENESS)
    # Where Linux weighs sessions against each other, niceness counts only within one.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_NICENESS), encoding="ascii")


if __name__ == "__main__":
    main()
