"""The web application: `uvicorn --factory app.main:create_app`."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from importlib.metadata import version

from fastapi import FastAPI
from starlette.datastructures import State
from starlette.staticfiles import StaticFiles

from app.api import (
    audit,
    books,
    bulk,
    changes,
    checks,
    clusters,
    completeness,
    conflicts,
    health,
    jobs,
    library,
    lookups,
    reconciliation,
    similar,
    volumes,
    webhooks,
)
from app.api.http.admission import Admission, Capacity
from app.api.http.connections import READ_PERMITS
from app.api.http.deps import KernelState
from app.api.http.metrics import Metrics
from app.api.http.middleware import Exchange
from app.api.http.openapi import DescribedApi, add_docs
from app.api.http.routes import require_scopes
from app.api.pairs import decisions, evidence, relations
from app.logs import configure_logs
from app.replaceable import report
from app.secrets import forget_secrets
from app.services.books import FileReading
from app.settings import Settings
from app.web import (
    add,
    admin,
    books as book_pages,
    checks as check_pages,
    clusters as cluster_pages,
    completeness as completeness_pages,
    conflicts as conflict_pages,
    library as library_pages,
    pairs,
    review,
    sign_in,
)
from app.web.rendering import page_of_problem
from app.wiring import Services, open_services
from bookprint_readers.processes import IsolatedReader, ReadingLimits

ROUTERS = [
    module.router
    for module in (
        *(books, bulk, lookups, checks, similar, relations, evidence, decisions, clusters),
        *(completeness, volumes, conflicts, reconciliation, library, changes, webhooks, audit, jobs, health),
    )
]
"""Routers of all subjects, in the order of the documentation."""

PAGES = [
    module.router
    for module in (
        *(library_pages, book_pages, pairs, review, check_pages, add),
        *(cluster_pages, completeness_pages, conflict_pages, admin, sign_in),
    )
]
"""Routers of the pages for people."""

_DESCRIPTION = """
Post a book and get an identifier that survives OCR noise, reprints and missing metadata. Ask for the books
near it and get every book within a distance, provably. Errors are problem documents (RFC 9457) that say how
to fix them.
"""


def create_app(settings: Settings | None = None, capacity: Capacity | None = None) -> FastAPI:
    """Create the application with its routes; it connects to Postgres and Redis when it starts.

    The settings are read from the environment if `settings` is None. The secrets are then removed from the
    environment, because the processes that read untrusted files inherit it.
    """
    if settings is None:
        settings = Settings()
        configure_logs(settings.log_format)
        forget_secrets()
    metrics = Metrics()
    app = _without_routes(settings)
    _set_state(app.state, settings, metrics, capacity or Capacity.of_one(settings))
    for router in (*ROUTERS, *PAGES):
        app.router.routes += router.routes
    add_docs(app)
    app.mount("/static", StaticFiles(packages=[("app.web", "static")]))
    require_scopes(app.routes)  # checks every route, so after all are added
    # Replaces the middleware of Starlette and FastAPI by one layer.
    app.middleware_stack = Exchange(app, settings, page_of_problem)
    return app


def _without_routes(settings: Settings) -> FastAPI:
    return DescribedApi(
        title="Bookprint",
        version=version("bookprint"),
        description=_DESCRIPTION,
        openapi_tags=[router.subject for router in ROUTERS if router.subject],
        docs_url=None,
        redoc_url=None,
        # A redirect would contain a host, and hide a misspelt path.
        redirect_slashes=False,
        # Metrics are at /metrics. Otherwise every request would check whether OpenTelemetry is configured.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        lifespan=_lifespan(settings),
    )


def _lifespan(settings: Settings) -> Callable[[FastAPI], AbstractAsyncContextManager[dict[str, object]]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, object]]:
        limits = ReadingLimits(characters=settings.max_body_bytes)
        with IsolatedReader(limits) as reader:
            async with open_services(settings) as services:
                app.state.services, app.state.reading = services, FileReading(reader)
                tasks = [
                    asyncio.create_task(_warm(app.state.kernels)),
                    asyncio.create_task(report(partial(_is_ready, services, app.state.kernels))),
                ]
                yield {READ_PERMITS: app.state.admission.reads}
                for task in tasks:
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task

    return lifespan


def _set_state(state: State, settings: Settings, metrics: Metrics, capacity: Capacity) -> None:
    """Set the values in `app.state` that requests need. The lifespan adds the services."""
    state.metrics, state.kernels = metrics, KernelState()
    # Only `serve` resolves `auto`, because it knows the address. Otherwise keys are required.
    state.asks_for_keys = settings.auth != "off"
    state.public_url = settings.public_url
    state.max_body_bytes, state.max_file_bytes = settings.max_body_bytes, settings.max_file_bytes
    state.admission = Admission(capacity, metrics.count_refused)


async def _is_ready(services: Services, kernels: KernelState) -> bool:
    parts = await services.health.check()
    return kernels.health.ok and all(part.ok for part in parts.values())


async def _warm(kernels: KernelState) -> None:
    await kernels.warm_up()
    # Objects loaded so far are permanent; garbage collections of them all would delay lookups.
    gc.collect()
    gc.freeze()
