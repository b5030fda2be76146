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
    """A background job as it stands now."""

    id: int
    task: str = Field(description="What is to be done.")
    state: JobState
    attempts: int = Field(description="Tries so far, the running one included.")
    max_attempts: int = Field(default=MOST_TRIES, description="Tries after which it has failed.")
    book_id: UUID | None = Field(
        description="The book that it is about; null if that has changed or gone since."
    )
    created_at: datetime
    next_try_at: datetime | None = Field(
        description="Of a waiting job: not before then; null: as soon as a worker is free."
    )
    reason: str | None = Field(description="Why the last try failed, if it did.")


router = SubjectRouter("/v1/jobs", tag="jobs", description="Work that is done in the background.")

_NUMBER = re.compile(r"[0-9]{1,19}")


@router.get("/{job_id}", summary="Read a job", response_model=JobAnswer, scope="read")
async def read_job(
    job_id: Annotated[str, Path(description="Id of the job.", examples=["4711"])],
    services: ServicesDep,
) -> Job:
    """Answers how far the job has come.

    Jobs that succeeded are forgotten after a day, those that failed after thirty.
    """
    if not _NUMBER.fullmatch(job_id):
        raise UnknownJob(job_id[:100])
    return await services.jobs.get(int(job_id))
