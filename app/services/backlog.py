"""The work that posts leave behind, and the point from which on no more is taken.

Workers that are dead or too slow let jobs pile up in Postgres. Before that fills a disk, posts are refused.
"""

import time

from app.core.errors import Unavailable
from app.stores.postgres.jobs import JobStore

_SECONDS_BETWEEN_COUNTS = 5.0
_RETRY_AFTER = 60


class BacklogFull(Unavailable):
    """More books wait to be related than the service lets wait."""

    problem = "backlog-full"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most:,} books wait to be related, so no more are taken. Check that workers run, or start more "
            "with bookprint worker.",
            _RETRY_AFTER,
        )


class Backlog:
    """The jobs that wait, counted every few seconds."""

    def __init__(self, jobs: JobStore, most: int) -> None:
        self._jobs = jobs
        self._most = most
        self._is_full = False
        self._count_due = 0.0

    async def require_room(self) -> None:
        """Raise BacklogFull where as many jobs wait as may."""
        now = time.monotonic()
        if now >= self._count_due:
            self._count_due = now + _SECONDS_BETWEEN_COUNTS
            self._is_full = await self._jobs.count_waiting(self._most) >= self._most
        if self._is_full:
            raise BacklogFull(self._most)
