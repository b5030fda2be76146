"""Whether the process lives, whether it can do its work, and what it has done."""

import asyncio
from dataclasses import asdict

import structlog
from fastapi import APIRouter, Request
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

from app.api.http.deps import MetricsOf, ServicesDep
from app.api.http.openapi import answers, plain, problems
from app.api.http.problems import parts_down
from app.api.schemas.answers import Alive, Ready, json_response
from app.core.warm_up import warm_up
from app.services.health import PartHealth

log = structlog.get_logger()

_RETRY_SECONDS = 2

router = APIRouter(tags=["health"], default_response_class=Response)


class KernelState:
    """Whether the kernels are compiled; until then a book would wait for them."""

    def __init__(self) -> None:
        self.health = PartHealth(ok=False, detail="The kernels are being compiled.")

    async def warm_up(self) -> None:
        """Compile the kernels, or load them from their cache."""
        try:
            await asyncio.to_thread(warm_up)
        except Exception:
            log.exception("kernels cannot be compiled")
            self.health = PartHealth(ok=False, detail="The kernels cannot be compiled; the log says why.")
        else:
            self.health = PartHealth(ok=True, detail="compiled")


@router.get("/health/live", summary="Does the process answer?", responses=answers({200: Alive}))
async def live() -> Response:
    """Always 200. Where there is no answer, restart the process."""
    return json_response(Alive())


@router.get("/health/ready", summary="Can the service work?", responses=answers({200: Ready}) | problems(503))
async def ready(request: Request, services: ServicesDep) -> Response:
    """Pings Postgres, Redis and the job queue; 503 says in `parts` which of them is down."""
    kernels: KernelState = request.app.state.kernels
    parts = await services.health.check() | {"kernels": kernels.health}
    if all(part.ok for part in parts.values()):
        return json_response(Ready.of(parts))
    return parts_down({name: asdict(part) for name, part in parts.items()}, _RETRY_SECONDS)


@router.get("/metrics", summary="Counters for Prometheus", responses=plain("Prometheus text format"))
async def scrape(services: ServicesDep, metrics: MetricsOf) -> Response:
    """Requests by route and status and how long they took, books posted and pending, lookups by kind, jobs by
    task and state and how many of their tries failed, pairs of books compared by kind of relation."""
    return Response(
        await metrics.exposition(services.entries, services.jobs, services.relations),
        media_type=CONTENT_TYPE_LATEST,
    )
