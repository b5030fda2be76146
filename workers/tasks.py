"""Tasks of the job queues."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.jobs import Job

from app.services.jobs import MOST_TRIES
from app.stores.postgres.jobs import INDEX_QUEUE, RECONCILE, RELATE, RELATE_QUEUE
from app.wiring import Services
from bookprint_core.errors import Unavailable

log = structlog.get_logger()

_FACTOR = 4.0
_EVERY_MINUTE = "* * * * *"

_SHARE_OF_TIME = 0.05
"""Maximum share of a worker's time for catching up. Large libraries catch up less often."""


@dataclass(frozen=True, slots=True)
class JobRetry(BaseRetryStrategy):
    """Retries after 2, 8, 32, 128 and 300 seconds; after the last retry the job has failed."""

    most: int = MOST_TRIES
    first_wait: float = 2.0  # seconds
    longest_wait: float = 300.0  # seconds

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """Return the time of the next try; None if there is none."""
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision()  # the worker ended; the job did not fail
        if job.attempts + 1 >= self.most:
            return None
        wait = min(self.first_wait * _FACTOR**job.attempts, self.longest_wait)
        # Without its own lock, jobs with the same lock would wait for this job.
        own_lock = None if job.lock is None else f"job:{job.id}"
        return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=wait), lock=own_lock)


def create_queue(connector: PsycopgConnector, services: Services) -> App:
    """Return the queues with their tasks, which use the services of this process."""
    queue = App(connector=connector)
    due = 0.0

    @queue.task(name=RELATE, queue=RELATE_QUEUE, retry=JobRetry())
    async def relate(entry_id: int) -> None:
        """Find the relations of a book. Index the book first if its post could not."""
        await services.relate.relate_entry(entry_id)

    @queue.periodic(cron=_EVERY_MINUTE)
    @queue.task(name=RECONCILE, queue=INDEX_QUEUE, retry=JobRetry())
    async def reconcile(timestamp: int) -> None:
        """Compare the band index with the catalogue, and mend it."""
        nonlocal due
        if time.monotonic() >= due:
            started = time.monotonic()
            try:
                await services.upkeep.catch_up()
            except Unavailable as exc:
                log.warning("band index cannot be updated yet", reason=str(exc))
            due = started + (time.monotonic() - started) / _SHARE_OF_TIME

    return queue
