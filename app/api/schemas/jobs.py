"""Background jobs as documents."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from app.api.schemas import examples
from app.api.schemas.base import Document, shown
from app.core.model import JobState
from app.services.jobs import MOST_TRIES


class JobAnswer(Document):
    """A background job as it stands now."""

    model_config = shown(examples.JOB)

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
