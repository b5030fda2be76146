"""Job states, retries and clean-up.

A worker tries a job `MOST_TRIES` times. Then the job is stored as failed, with the reason, and can be
retried.
"""

import re
from datetime import timedelta

from app.stores.postgres.jobs import Job as Job, JobState as JobState, JobStore, Rescued
from bookprint_core.errors import BookprintError


class UnknownJob(BookprintError):
    """No job has this id, or the job was deleted after its end."""

    status = 404
    title = "No such job"
    remedy = "Use the id of a job that this service named within the last day."
    field = "id"
    tells_remedy = True

    def __init__(self, job_id: int | str) -> None:
        super().__init__(f"No job has the id {job_id}. Finished jobs are deleted after a day.")


class JobNotFailed(BookprintError):
    """The job has not failed, so it cannot be retried."""

    status = 409
    title = "The job has not failed"
    remedy = "Read the state of the job again."
    field = "id"
    tells_remedy = True

    def __init__(self, job: Job) -> None:
        super().__init__(f"Job {job.id} is {job.state}; only failed jobs can be retried.")


MOST_TRIES = 6
"""Maximum number of tries of a job. With the waits between them they last about eight minutes."""

_SUCCEEDED_FOR = timedelta(days=1)
_FAILED_FOR = timedelta(days=30)

_LARGEST_ID = 2**63 - 1
_LONGEST_REASON = 300  # characters

_PASSWORDS = re.compile(r"(?<=://)[^\s/@]*@|(?<=password=)('[^']*'|\S+)", re.IGNORECASE)


class Jobs(JobStore):
    """Service that reads the states of jobs, and retries, rescues and deletes jobs."""

    async def get(self, job_id: int) -> Job:
        """Return the job with this id; raises UnknownJob."""
        job = await self.read(job_id) if 0 < job_id <= _LARGEST_ID else None
        if job is None:
            raise UnknownJob(job_id)
        return job

    async def retry(self, job_id: int) -> None:
        """Queue a failed job again; raises UnknownJob and JobNotFailed."""
        job = await self.get(job_id)
        if not await self.update_failed(job_id):
            raise JobNotFailed(job)

    async def retry_all(self) -> int:
        """Queue all failed jobs again; returns their number."""
        return len(await self.update_failed(None))

    async def note_failure(self, job_id: int, task: str, error: Exception) -> None:
        await self.insert_failure(job_id, task, reason_of(error))

    async def rescue(self, silent_for: timedelta) -> list[Rescued]:
        """Requeue or fail the jobs of workers that have been silent for this time; returns these jobs."""
        return await self.update_abandoned(silent_for, MOST_TRIES)

    async def sweep(self) -> int:
        """Delete jobs that ended long ago; returns their number."""
        return await self.delete_ended(_SUCCEEDED_FOR, _FAILED_FOR)


def reason_of(error: Exception) -> str:
    """Return the type of an error and the first line of its message, without passwords.

    >>> reason_of(OSError("no way to postgresql://me:secret@db/books\\nsecond line"))
    'OSError: no way to postgresql://…@db/books'
    """
    message = _PASSWORDS.sub(lambda match: "…@" if match[0].endswith("@") else "…", str(error).strip())
    first = message.splitlines()[0] if message else ""
    reason = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"
