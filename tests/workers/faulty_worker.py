"""A worker with tasks that fail in every way: `python -m tests.workers.faulty_worker`, on DATABASE_URL.

It runs the jobs of one queue as `python -m workers` does, only faster, and is started again whenever it dies,
as `bookprint serve` would do. Tests also run it in their own process.
"""

import asyncio
import os
import signal
from datetime import timedelta

from procrastinate import App

from app.services.jobs import Jobs
from app.stores.postgres.connections import open_database
from bookprint_core.errors import Unavailable
from workers.process import rescue_and_sweep
from workers.queue_worker import Pace, QueueWorker, connect, work_off
from workers.tasks import JobRetry

QUEUE = "relate"
PACE = Pace(poll=0.05, heartbeat=0.2, dead_after=timedelta(seconds=2), grace=0.1)
QUICK = JobRetry(first_wait=0.02, longest_wait=0.1)


def open_queue(database_url: str) -> App:
    """The queue with its faulty tasks."""
    queue = App(connector=connect(database_url))

    @queue.task(name="good", queue=QUEUE, retry=QUICK)
    async def good(entry_id: int) -> None:
        await asyncio.sleep(0.01)

    @queue.task(name="raising", queue=QUEUE, retry=QUICK)
    async def raising(entry_id: int) -> None:
        raise OSError("no way to postgresql://me:secret@db/books\nand a second line")

    @queue.task(name="slow", queue=QUEUE, retry=JobRetry(first_wait=60.0))
    async def slow(entry_id: int) -> None:
        raise Unavailable("Redis is away.")

    @queue.task(name="poison", queue=QUEUE, retry=QUICK)
    async def poison(entry_id: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    @queue.task(name="endless", queue=QUEUE, retry=QUICK)
    async def endless(entry_id: int) -> None:
        await asyncio.sleep(3600)

    return queue


async def run(database_url: str, jobs: Jobs, concurrency: int = 4) -> None:
    """Work off the queue and look after it, until cancelled."""
    at_once = asyncio.Event()
    at_once.set()
    async with asyncio.TaskGroup() as group:
        group.create_task(rescue_and_sweep(jobs, PACE.dead_after, [jobs.sweep]))
        worker = QueueWorker(QUEUE, concurrency, at_once, pace=PACE)
        group.create_task(work_off(lambda: open_queue(database_url), worker, jobs))


async def live(database_url: str) -> None:
    """Run until killed."""
    async with open_database(database_url, 2) as database:
        await run(database_url, Jobs(database))


def supervise(database_url: str) -> None:
    """Let one worker live after the other; a line names the signal of each death."""
    while True:
        pid = os.fork()  # the imports are done already
        if pid == 0:
            asyncio.run(live(database_url))
        _, status = os.waitpid(pid, 0)
        print(os.WTERMSIG(status), flush=True)


if __name__ == "__main__":
    supervise(os.environ["DATABASE_URL"])
