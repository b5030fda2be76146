"""What clients are told of a background job."""

from datetime import datetime
from typing import Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas import examples
from app.core.model import Job
from app.services.jobs import MOST_TRIES


class JobAnswer(BaseModel):
    """Something that is done in the background, as it stands now."""

    model_config = ConfigDict(json_schema_extra={"example": examples.JOB})

    id: int
    task: str = Field(description="What is to be done.")
    state: Literal["waiting", "running", "succeeded", "failed"]
    attempts: int = Field(description="Tries so far, the running one included.")
    max_attempts: int = Field(description="Tries after which it has failed.")
    book_id: UUID | None = Field(
        description="The book that it is about; null if that has changed or gone since."
    )
    created_at: datetime
    next_try_at: datetime | None = Field(
        description="Of a waiting job: not before then; null: as soon as a worker is free."
    )
    reason: str | None = Field(description="Why the last try failed, if it did.")

    @classmethod
    def of(cls, job: Job) -> Self:
        """The document of a job."""
        return cls(
            id=job.id,
            task=job.task,
            state=job.state,
            attempts=job.attempts,
            max_attempts=MOST_TRIES,
            book_id=job.book_id,
            created_at=job.created_at,
            next_try_at=job.next_try_at,
            reason=job.reason,
        )
