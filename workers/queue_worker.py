"""Worker that fetches and runs the jobs of one queue.

Each queue has its own worker, so jobs of one queue never wait for jobs of another. Jobs start only while the
band index is complete. An outage of Redis of any length therefore costs no tries.
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
"""Maximum number of connections of one queue."""

_WRITES = 3  # attempts to write the end of a job; before each the pool waits until Postgres answers

# Statistics of a queue are soon outdated. Plans based on them may sort all waiting jobs for each fetch.
_OPTIONS = "-c enable_sort=off -c enable_bitmapscan=off -c enable_seqscan=off"


@dataclass(frozen=True, slots=True)
class Pace:
    """Intervals at which a worker fetches jobs and reports, and its time to end."""

    poll: float = 0.5  # seconds between fetches when there are no jobs
    heartbeat: float = 4.0  # seconds between reports
    dead_after: timedelta = timedelta(seconds=20)  # without a report; kernels may delay reports
    grace: float = 5.0  # seconds for jobs to end after a signal; then they are put back


@dataclass(frozen=True, slots=True)
class QueueWorker:
    """Queue and limits of its worker."""

    queue: str
    concurrency: int
    starts_after: asyncio.Event | None  # jobs start only while this event is set
    longest: float | None = 600.0  # maximum seconds of one try; None: no limit
    pace: Pace = Pace()


def connect(database_url: str) -> PsycopgConnector:
    """Return the connections of the queue itself, not opened yet."""
    return _PersistentConnector(
        conninfo=database_url.replace("+psycopg", "", 1),
        min_size=1,
        max_size=QUEUE_CONNECTIONS,
        kwargs={"autocommit": True, "connect_timeout": 5, "options": _OPTIONS},
    )


async def work_off(open_queue: Callable[[], App], worker: QueueWorker, jobs: Jobs) -> None:
    """Run the jobs of a queue until cancelled. Starts again after an outage of Postgres."""

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
                    # With notifications every worker would wake up for every post; polling costs little.
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
        log.warning("the reason of a failure is lost", job=job.id, error=repr(error), reason=str(exc))


class _PersistentConnector(PsycopgConnector):
    """A connector that repeats a write after a broken connection, so that no job stays `running` for ever."""

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        for _ in range(_WRITES - 1):
            try:
                await super().execute_query_async(query, **arguments)
                return
            except ConnectorException as exc:
                if not isinstance(exc.__cause__, psycopg.OperationalError):
                    raise
        await super().execute_query_async(query, **arguments)
