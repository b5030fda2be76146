"""Job states, retries and clean-up.

A job is tried `MOST_TRIES` times; then it is kept as failed, with the reason, and can be put back by hand.
"""

import re
from datetime import timedelta

from app.stores.postgres.jobs import Job as Job, JobState as JobState, JobStore, Rescued
from bookprint_core.errors import BookprintError


class UnknownJob(BookprintError):
    """No job has this id, or its traces have been swept."""

    status = 404
    title = "No such job"
    remedy = "Use the id of a job that this service has named within a day."
    field = "id"
    tells_remedy = True

    def __init__(self, job_id: int | str) -> None:
        super().__init__(f"No job has the id {job_id}. Finished jobs are forgotten after a day.")


class JobNotFailed(BookprintError):
    """The job has not failed, so that there is nothing to be tried again."""

    status = 409
    title = "The job has not failed"
    remedy = "Look at its state again."
    field = "id"
    tells_remedy = True

    def __init__(self, job: Job) -> None:
        super().__init__(f"Job {job.id} is {job.state}; only failed jobs are put back.")


MOST_TRIES = 6
"""Tries after which a job has failed; with the waits between them some eight minutes."""

_SUCCEEDED_FOR = timedelta(days=1)
_FAILED_FOR = timedelta(days=30)

_LARGEST_ID = 2**63 - 1
_LONGEST_REASON = 300  # characters

_PASSWORDS = re.compile(r"(?<=://)[^\s/@]*@|(?<=password=)('[^']*'|\S+)", re.IGNORECASE)


class Jobs(JobStore):
    """The state of jobs, and what is done about those that failed."""

    async def get(self, job_id: int) -> Job:
        """Return the job with this id; raises UnknownJob."""
        job = await self.read(job_id) if 0 < job_id <= _LARGEST_ID else None
        if job is None:
            raise UnknownJob(job_id)
        return job

    async def retry(self, job_id: int) -> None:
        """Let a failed job begin anew; raises UnknownJob and JobNotFailed."""
        job = await self.get(job_id)
        if not await self.update_failed(job_id):
            raise JobNotFailed(job)

    async def retry_all(self) -> int:
        """Let every failed job begin anew; returns how many."""
        return len(await self.update_failed(None))

    async def note_failure(self, job_id: int, task: str, error: Exception) -> None:
        await self.insert_failure(job_id, task, reason_of(error))

    async def rescue(self, silent_for: timedelta) -> list[Rescued]:
        """Take up the jobs of workers that have been silent for so long; returns what became of them."""
        return await self.update_abandoned(silent_for, MOST_TRIES)

    async def sweep(self) -> int:
        """Forget jobs that ended long ago; returns how many."""
        return await self.delete_ended(_SUCCEEDED_FOR, _FAILED_FOR)


def reason_of(error: Exception) -> str:
    """Return an error as one line without passwords: its type, and the first line of its message.

    >>> reason_of(OSError("no way to postgresql://me:secret@db/books\\nsecond line"))
    'OSError: no way to postgresql://…@db/books'
    """
    message = _PASSWORDS.sub(lambda match: "…@" if match[0].endswith("@") else "…", str(error).strip())
    first = message.splitlines()[0] if message else ""
    reason = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"
