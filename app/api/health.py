"""Whether the process lives and the service can work, as documents."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from fastapi import Response
from fastapi.responses import PlainTextResponse
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import Field

from app.api.http.deps import KernelsDep, MetricsDep, ServicesDep
from app.api.http.problems import RequestRefusal
from app.api.http.routes import SubjectRouter
from app.api.http.usage import SeesDetails
from app.api.schemas.documents import Document
from app.services.health import PartHealth


class Alive(Document):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Started(Document):
    """The service has started."""

    status: Literal["started"] = "started"


class PartAnswer(Document):
    """One part of the service."""

    ok: bool
    detail: str = Field(description="What is wrong with it, if something is.")


class Ready(Document):
    """The service can do its work."""

    status: Literal["ready"] = "ready"
    parts: dict[str, PartAnswer] = Field(description="Empty where they are not to be seen without a key.")


_RETRY_SECONDS = 2


class NotReady(RequestRefusal):
    """Some parts of the service do not work; without `parts` these are not to be seen."""

    status = 503
    title = "Not ready"
    field = ""
    tells_remedy = True

    def __init__(self, parts: Mapping[str, PartHealth]) -> None:
        reasons = [f"{name}: {part.detail}" for name, part in parts.items() if not part.ok]
        super().__init__(
            " ".join(reasons) or "A part is down. Ask with a key that has the scope read which it is.",
            {"Retry-After": str(_RETRY_SECONDS)},
            {"parts": {name: asdict(part) for name, part in parts.items()}},
        )


router = SubjectRouter(tag="health", description="Whether the service lives and works, and its metrics.")


@router.get("/health/live", summary="Does the process answer?", scope=None)
async def live() -> Alive:
    """Always 200. Where there is no answer, restart the process."""
    return Alive()


@router.get("/health/started", summary="Has the service started?", scope=None, also=(503,))
async def started() -> Started:
    """200, and before that 503, which says in `detail` what the start is doing."""
    return Started()


@router.get(
    "/health/ready", summary="Can the service work?", response_model=Ready, scope=None, more_with="read"
)
async def ready(services: ServicesDep, kernels: KernelsDep, sees_details: SeesDetails) -> dict[str, Any]:
    """Pings Postgres, Redis and the job queue; 503 says in `parts` which of them is down.

    Where requests need a key, `parts` are shown only to a key with the scope read.
    """
    parts = await services.health.check() | {"kernels": kernels.health}
    if all(part.ok for part in parts.values()):
        return {"parts": parts if sees_details else {}}
    raise NotReady(parts if sees_details else {})


@router.get(
    "/metrics", summary="Counters for Prometheus", response_class=PlainTextResponse, scope="read", also=None
)
async def scrape(services: ServicesDep, metrics: MetricsDep) -> Response:
    """Requests by route and status with their times, books stored, posted and pending, lookups by kind. Jobs
    by task and state, failed tries, pairs of books compared by kind of relation, webhooks by state."""
    return Response(await metrics.exposition(services), media_type=CONTENT_TYPE_LATEST)
