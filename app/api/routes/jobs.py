"""Reading a background job."""

import re
from typing import Annotated

from fastapi import APIRouter, Path

from app.api.http.access import ScopedRoute, needs
from app.api.http.deps import ServicesDep
from app.api.http.openapi import problems
from app.api.schemas import examples
from app.api.schemas.jobs import JobAnswer
from app.core.errors import UnknownJob
from app.core.model import Job

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=ScopedRoute)

_NUMBER = re.compile(r"[0-9]{1,19}")


@router.get(
    "/{job_id}",
    summary="Read a job",
    response_model=JobAnswer,
    responses=problems(404, 422, 503),
    openapi_extra=needs("read"),
)
async def read_job(
    job_id: Annotated[str, Path(description="Id of the job.", examples=[examples.JOB["id"]])],
    services: ServicesDep,
) -> Job:
    """Answers how far the job has come.

    Jobs that succeeded are forgotten after a day, those that failed after thirty.
    """
    if not _NUMBER.fullmatch(job_id):
        raise UnknownJob(job_id[:100])
    return await services.jobs.get(int(job_id))
