"""Fetching and running the jobs of one queue.

Each queue has a loop of its own, so no number of jobs in one makes those of another wait. Jobs wait for the
band index to be whole before they begin: an outage of Redis costs no tries, however long it lasts.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import structlog
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ProcrastinateException
from procrastinate.middleware import AsyncCallNext
from procrastinate.worker import Worker

from app.core.errors import Unavailable
from app.services.jobs import Jobs

log = structlog.get_logger()

QUEUE_CONNECTIONS = 4
"""Most connections of one queue."""

_OPTIONS = (
    # A crash of Postgres can then undo that a job was begun or done, and it is done once more.
    "-c synchronous_commit=off "
    # Statistics of a queue are of another moment; going by them, a fetch may sort all waiting jobs.
    "-c enable_sort=off -c enable_bitmapscan=off -c enable_seqscan=off"
)
_PERSISTENCE = (0.1, 0.3, 1.0, 3.0, 5.0)
"""Seconds between attempts to write down how a job ended."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a worker looks for jobs and says that it lives, and how it ends."""

    poll: float = 0.5  # seconds between two looks for jobs, when there were none
    heartbeat: float = 4.0  # seconds
    dead_after: timedelta = timedelta(seconds=20)  # of silence; kernels may hold up heartbeats for a while
    grace: float = 5.0  # seconds for jobs to end once the worker is told to; then they are given back


@dataclass(frozen=True, slots=True)
class QueueWorker:
    """One queue to be worked off."""

    queue: str
    concurrency: int
    waits_for: asyncio.Event | None  # jobs begin only while it is set
    longest: float | None = 600.0  # seconds that a try may take; None: as long as it likes
    pace: Pace = Pace()


def connect(database_url: str) -> PsycopgConnector:
    """Connections for the queue itself; not opened yet.

    Without transaction blocks and waits for the disk a job costs less.
    """
    return _Connector(
        conninfo=database_url.replace("+psycopg", "", 1),
        min_size=1,
        max_size=QUEUE_CONNECTIONS,
        kwargs={"autocommit": True, "connect_timeout": 5, "options": _OPTIONS},
    )


async def work_off(open_queue: Callable[[], App], loop: QueueWorker, jobs: Jobs) -> None:
    """Run the jobs of a queue until cancelled; an outage of Postgres only makes it start over."""

    async def run(call_next: AsyncCallNext, context: JobContext, worker: Worker) -> Any:
        if loop.waits_for is not None:
            await loop.waits_for.wait()
        try:
            async with asyncio.timeout(loop.longest):
                return await call_next()
        except Exception as error:
            await _note(jobs, context, error)
            raise

    while True:
        try:
            async with open_queue().open_async() as queue:
                await queue.run_worker_async(
                    queues=[loop.queue],
                    name=loop.queue,
                    concurrency=loop.concurrency,
                    fetch_job_polling_interval=loop.pace.poll,
                    # Notified, every worker would wake up for every post; polling costs next to nothing.
                    listen_notify=False,
                    update_heartbeat_interval=loop.pace.heartbeat,
                    stalled_worker_timeout=loop.pace.dead_after.total_seconds(),
                    shutdown_graceful_timeout=loop.pace.grace,
                    install_signal_handlers=False,
                    worker_middleware=[run],
                )
        except (ProcrastinateException, psycopg.Error) as exc:
            log.warning("job queue cannot be reached; trying again", queue=loop.queue, reason=str(exc))
        await asyncio.sleep(1)


async def _note(jobs: Jobs, context: JobContext, error: Exception) -> None:
    job = context.job
    assert job.id is not None
    try:
        await jobs.note_failure(job.id, job.task_name, error)
    except Unavailable as exc:
        log.warning("why a job failed cannot be noted", job=job.id, error=repr(error), reason=str(exc))


class _Connector(PsycopgConnector):
    """Writes persistently: a job whose end were lost would count as running as long as its worker lives."""

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        for seconds in _PERSISTENCE:
            try:
                await super().execute_query_async(query, **arguments)
                return
            except ProcrastinateException as exc:
                if not isinstance(exc.__cause__, psycopg.OperationalError):
                    raise
            await asyncio.sleep(seconds)
        await super().execute_query_async(query, **arguments)
