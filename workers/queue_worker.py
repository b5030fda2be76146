"""Fetching and running the jobs of one queue.

Each queue has a worker of its own, so the jobs of one never wait for those of another. Jobs start only while
the band index is complete: an outage of Redis costs no tries, however long it lasts.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import structlog
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException, ProcrastinateException
from procrastinate.middleware import AsyncCallNext
from procrastinate.worker import Worker

from app.services.jobs import Jobs
from bookprint_core.errors import Unavailable

log = structlog.get_logger()

QUEUE_CONNECTIONS = 4
"""Most connections of one queue."""

_WRITES = 3  # attempts to write how a job ended; for each the pool waits until Postgres is back

# Statistics of a queue are soon outdated; a plan based on them may sort all waiting jobs for each fetch.
_OPTIONS = "-c enable_sort=off -c enable_bitmapscan=off -c enable_seqscan=off"


@dataclass(frozen=True, slots=True)
class Pace:
    """Intervals at which a worker looks for jobs and reports to be alive, and its time to end."""

    poll: float = 0.5  # seconds between two looks for jobs, when there were none
    heartbeat: float = 4.0  # seconds
    dead_after: timedelta = timedelta(seconds=20)  # of silence; kernels may hold up heartbeats for a while
    grace: float = 5.0  # seconds for jobs to end once the worker must; then they are given back


@dataclass(frozen=True, slots=True)
class QueueWorker:
    """The way in which the jobs of one queue are run."""

    queue: str
    concurrency: int
    starts_after: asyncio.Event | None  # jobs start only while it is set
    longest: float | None = 600.0  # seconds that a try may take; None: no limit
    pace: Pace = Pace()


def connect(database_url: str) -> PsycopgConnector:
    """Connections for the queue itself; not opened yet."""
    return _PersistentConnector(
        conninfo=database_url.replace("+psycopg", "", 1),
        min_size=1,
        max_size=QUEUE_CONNECTIONS,
        kwargs={"autocommit": True, "connect_timeout": 5, "options": _OPTIONS},
    )


async def work_off(open_queue: Callable[[], App], worker: QueueWorker, jobs: Jobs) -> None:
    """Run the jobs of a queue until cancelled; after an outage of Postgres it starts over."""

    async def run(call_next: AsyncCallNext, context: JobContext, _: Worker) -> Any:
        if worker.starts_after is not None:
            await worker.starts_after.wait()
        try:
            async with asyncio.timeout(worker.longest):
                return await call_next()
        except Exception as error:
            await _note_failure(jobs, context, error)
            raise

    while True:
        try:
            async with open_queue().open_async() as queue:
                await queue.run_worker_async(
                    queues=[worker.queue],
                    name=worker.queue,
                    concurrency=worker.concurrency,
                    fetch_job_polling_interval=worker.pace.poll,
                    # Notified, every worker would wake up for every post; polling costs next to nothing.
                    listen_notify=False,
                    update_heartbeat_interval=worker.pace.heartbeat,
                    stalled_worker_timeout=worker.pace.dead_after.total_seconds(),
                    shutdown_graceful_timeout=worker.pace.grace,
                    install_signal_handlers=False,
                    worker_middleware=[run],
                )
        except (ProcrastinateException, psycopg.Error) as exc:
            log.warning("job queue cannot be reached; trying again", queue=worker.queue, outage=str(exc))
        await asyncio.sleep(1)


async def _note_failure(jobs: Jobs, context: JobContext, error: Exception) -> None:
    job = context.job
    assert job.id is not None
    try:
        await jobs.note_failure(job.id, job.task_name, error)
    except Unavailable as exc:
        log.warning("the reason of a failure cannot be noted", job=job.id, error=repr(error), reason=str(exc))


class _PersistentConnector(PsycopgConnector):
    """Repeats a write whose connection broke: a job whose end is lost would count as running for ever."""

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        for _ in range(_WRITES - 1):
            try:
                await super().execute_query_async(query, **arguments)
                return
            except ConnectorException as exc:
                if not isinstance(exc.__cause__, psycopg.OperationalError):
                    raise
        await super().execute_query_async(query, **arguments)
