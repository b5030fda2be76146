"""Health of the process and of the service, and metrics."""

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
    """The process is alive."""

    status: Literal["alive"] = "alive"


class Started(Document):
    """The service has started."""

    status: Literal["started"] = "started"


class PartAnswer(Document):
    """One part of the service."""

    ok: bool
    detail: str = Field(description="State of the part, or the reason why it does not work.")


class Ready(Document):
    """The service is ready."""

    status: Literal["ready"] = "ready"
    parts: dict[str, PartAnswer] = Field(
        description="Parts by name; empty without a key, if keys are required."
    )


_RETRY_SECONDS = 2


class NotReady(RequestRefusal):
    """Some parts of the service do not work; `parts` is empty if the client may not see them."""

    status = 503
    title = "Not ready"
    field = ""
    tells_remedy = True

    def __init__(self, parts: Mapping[str, PartHealth]) -> None:
        reasons = [f"{name}: {part.detail}" for name, part in parts.items() if not part.ok]
        super().__init__(
            " ".join(reasons) or "A part is down. Send a key with the scope read to see which.",
            {"Retry-After": str(_RETRY_SECONDS)},
            {"parts": {name: asdict(part) for name, part in parts.items()}},
        )


router = SubjectRouter(tag="health", description="Health and metrics of the service.")


@router.get("/health/live", summary="Does the process answer?", scope=None)
async def live() -> Alive:
    """Always answers 200. If there is no answer, restart the process."""
    return Alive()


@router.get("/health/started", summary="Has the service started?", scope=None, also=(503,))
async def started() -> Started:
    """Answers 200 after the start, and 503 before, with the progress of the start in `detail`."""
    return Started()


@router.get(
    "/health/ready", summary="Can the service work?", response_model=Ready, scope=None, more_with="read"
)
async def ready(services: ServicesDep, kernels: KernelsDep, sees_details: SeesDetails) -> dict[str, Any]:
    """Pings Postgres, Redis and the job queue; 503 names the failed ones in `parts`.

    If keys are required, only a key with the scope read sees `parts`.
    """
    parts = await services.health.check() | {"kernels": kernels.health}
    if all(part.ok for part in parts.values()):
        return {"parts": parts if sees_details else {}}
    raise NotReady(parts if sees_details else {})


@router.get(
    "/metrics", summary="Counters for Prometheus", response_class=PlainTextResponse, scope="read", also=None
)
async def scrape(services: ServicesDep, metrics: MetricsDep) -> Response:
    """Returns metrics of requests, books, lookups, jobs, relations and webhooks in Prometheus text format."""
    return Response(await metrics.exposition(services), media_type=CONTENT_TYPE_LATEST)
