"""Whether the process lives, whether it can do its work, and what it has done."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from app.api.http.access import OPEN, ScopedRoute, SeesDetails, needs, shows_more_with
from app.api.http.deps import KernelsDep, MetricsDep, ServicesDep
from app.api.http.openapi import problems
from app.api.http.problems.of_errors import parts_down
from app.api.schemas.health import Alive, Ready

_RETRY_SECONDS = 2

router = APIRouter(tags=["health"], route_class=ScopedRoute)


@router.get("/health/live", summary="Does the process answer?", openapi_extra=OPEN)
async def live() -> Alive:
    """Always 200. Where there is no answer, restart the process."""
    return Alive()


@router.get(
    "/health/ready",
    summary="Can the service work?",
    response_model=Ready,
    responses=problems(503),
    openapi_extra=shows_more_with("read"),
)
async def ready(
    services: ServicesDep, kernels: KernelsDep, sees_details: SeesDetails
) -> Response | dict[str, Any]:
    """Pings Postgres, Redis and the job queue; 503 says in `parts` which of them is down.

    Where requests need a key, `parts` are shown only to a key with the scope read.
    """
    parts = await services.health.check() | {"kernels": kernels.health}
    if all(part.ok for part in parts.values()):
        return {"parts": parts if sees_details else {}}
    down = {name: asdict(part) for name, part in parts.items()} if sees_details else {}
    return parts_down(down, _RETRY_SECONDS)


@router.get(
    "/metrics",
    summary="Counters for Prometheus",
    response_class=PlainTextResponse,
    openapi_extra=needs("read"),
)
async def scrape(services: ServicesDep, metrics: MetricsDep) -> Response:
    """Requests by route and status with their times, books stored, posted and pending, lookups by kind. Jobs
    by task and state, failed tries, pairs of books compared by kind of relation, webhooks by state."""
    return Response(await metrics.exposition(services), media_type=CONTENT_TYPE_LATEST)
