"""Background jobs as documents."""

import re
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field

from app.api.http.deps import ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Document
from app.services.jobs import MOST_TRIES, Job, JobState, UnknownJob


class JobAnswer(Document):
    """The present state of a background job."""

    id: int
    task: str = Field(description="Kind of work: `relate` or `reconcile`.")
    state: JobState
    attempts: int = Field(description="Number of tries so far, including a running one.")
    max_attempts: int = Field(default=MOST_TRIES, description="Number of failed tries that ends the job.")
    book_id: UUID | None = Field(description="Book of the job; null after the book was changed or deleted.")
    created_at: datetime
    next_try_at: datetime | None = Field(
        description="Earliest time of the next try of a waiting job; null: when a worker is free."
    )
    reason: str | None = Field(description="Reason why the last try failed; null: it did not fail.")


router = SubjectRouter("/v1/jobs", tag="jobs", description="Work in the background.")

_NUMBER = re.compile(r"[0-9]{1,19}")


@router.get("/{job_id}", summary="Read a job", response_model=JobAnswer, scope="read")
async def read_job(
    job_id: Annotated[str, Path(description="Id of the job.", examples=["4711"])],
    services: ServicesDep,
) -> Job:
    """Returns the state of a job.

    Successful jobs are deleted after one day, failed jobs after thirty days.
    """
    if not _NUMBER.fullmatch(job_id):
        raise UnknownJob(job_id[:100])
    return await services.jobs.get(int(job_id))
