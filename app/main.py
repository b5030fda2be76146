"""The web application: `uvicorn --factory app.main:create_app`."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from app.api.http.access import require_scopes
from app.api.http.deps import KernelState
from app.api.http.docs import DescribedApi, add_docs
from app.api.http.files import SpooledBytes
from app.api.http.handlers import UnhandledErrors, install_handlers
from app.api.http.metrics import Metrics, RequestMetrics
from app.api.http.problems.of_errors import problem_response
from app.api.http.transport.admission import Admission
from app.api.http.transport.connections import READ_PERMITS
from app.api.http.transport.cors import CrossOrigin, OwnPages
from app.api.http.transport.security_headers import SecurityHeaders
from app.api.routes import (
    audit,
    books,
    bulk,
    changes,
    clusters,
    conflicts,
    files,
    health,
    jobs,
    lookups,
    reconcile,
    relations,
    similar,
    webhooks,
)
from app.logs import configure_logs
from app.readers.processes import IsolatedReader, ReadingLimits
from app.secrets import forget_secrets
from app.services.reading import FileReading
from app.settings import Settings
from app.wiring import open_services

_DESCRIPTION = """
Post a book and get an identifier that survives OCR noise, reprints and missing metadata; ask for the books
near it and get every one within a distance, provably. Errors are problem documents (RFC 9457) that say what
to do.
"""


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application with its routes; it connects to Postgres and Redis when it is started.

    Without settings they come from the environment, which then forgets the secrets: the processes that read
    files of strangers inherit it.
    """
    if settings is None:
        settings = Settings()
        configure_logs(settings.log_format)
        forget_secrets()
    metrics, kernels = Metrics(), KernelState()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        limits = ReadingLimits(settings.read_seconds, characters=settings.max_body_bytes)
        with IsolatedReader(limits) as reader:
            async with open_services(settings) as services:
                app.state.services, app.state.reading = services, FileReading(reader)
                warming = asyncio.create_task(_warm(kernels))
                yield {READ_PERMITS: app.state.admission.reads}
                warming.cancel()
                with suppress(asyncio.CancelledError):
                    await warming

    app = DescribedApi(
        title="Bookprint",
        version=version("bookprint"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        # Numbers are at /metrics; whether OpenTelemetry is set up would be looked for with each request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        # A redirect would name a host, and hide a misspelt path.
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        # A body that is not declared is taken as JSON.
        strict_content_type=False,
        openapi_tags=[
            {
                "name": "books",
                "description": "Post, read, list, change and delete the books of the catalogue.",
            },
            {"name": "lookups", "description": "Find the books near a stored book, or near a text."},
            {"name": "relations", "description": "How two books are related, and decisions of people."},
            {"name": "clusters", "description": "Copies of one text, or related books, together."},
            {"name": "conflicts", "description": "Books whose metadata and texts contradict each other."},
            {
                "name": "reconciliation",
                "description": "Match the rows of a table with books, as OpenRefine does it.",
            },
            {"name": "changes", "description": "What has changed since a client last asked."},
            {"name": "webhooks", "description": "Where changes are delivered."},
            {"name": "audit", "description": "Who has written what, when and from where."},
            {"name": "jobs", "description": "Work that is done in the background."},
            {"name": "health", "description": "Whether the service lives and works, and its metrics."},
        ],
    )
    app.state.metrics, app.state.kernels = metrics, kernels
    # What `auto` means is for `serve` to say, which knows the address: unsaid, nobody comes in without a key.
    app.state.asks_for_keys = settings.auth != "off"
    app.state.public_url = settings.public_url
    app.state.admission = Admission(
        reads_at_once=settings.reads_at_once,
        writes_at_once=settings.writes_at_once,
        longest_read_wait=settings.longest_read_wait,
        longest_write_wait=settings.longest_write_wait,
        max_held_bytes=settings.max_held_bytes,
        note_refusal=metrics.count_refused,
    )
    app.state.spooled = SpooledBytes(settings.max_spooled_bytes)
    app.state.max_body_bytes, app.state.max_file_bytes = settings.max_body_bytes, settings.max_file_bytes
    # Files come first: their routes leave what is no file to those of the same paths.
    modules = (
        *(files, books, bulk, lookups, similar, relations, clusters, conflicts, reconcile, changes),
        *(webhooks, audit, jobs, health),
    )
    routers = [module.router for module in modules]
    for router in routers:
        app.include_router(router)
    add_docs(app)
    routes = [*app.routes, *(route for router in routers for route in router.routes)]
    require_scopes(routes)
    install_handlers(app, routes)
    # The last one added is the outermost.
    app.add_middleware(UnhandledErrors)
    app.add_middleware(CrossOrigin, origins=settings.cors_origins, any_page=app.state.asks_for_keys)
    if not app.state.asks_for_keys:
        app.add_middleware(
            OwnPages,
            public_url=settings.public_url,
            origins=settings.cors_origins,
            refusal=problem_response,
        )
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestMetrics, metrics=metrics)
    return app


async def _warm(kernels: KernelState) -> None:
    await kernels.warm_up()
    # Objects loaded by now stay: a collection that went through them all would hold up lookups.
    gc.collect()
    gc.freeze()
