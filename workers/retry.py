"""When a job that failed is tried again."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.jobs import Job

from app.services.jobs import MOST_TRIES

_FACTOR = 4.0


@dataclass(frozen=True, slots=True)
class JobRetry(BaseRetryStrategy):
    """After waits of 2, 8, 32, 128 and 300 seconds; then it has failed."""

    most: int = MOST_TRIES
    first_wait: float = 2.0  # seconds
    longest_wait: float = 300.0  # seconds

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """When to try again; None: never."""
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision()  # its worker had to end, and the job did not fail
        if job.attempts + 1 >= self.most:
            return None
        wait = min(self.first_wait * _FACTOR**job.attempts, self.longest_wait)
        # Jobs that share its lock would wait for it.
        own_lock = None if job.lock is None else f"job:{job.id}"
        return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=wait), lock=own_lock)
