"""The application on real servers, asked without a socket."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import cycle
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.types import ASGIApp, Receive, Scope, Send

from app import main
from app.api.http.admission import Capacity
from app.main import create_app
from app.settings import Settings
from app.stores.postgres.connections import Database
from tests.api.service_process import Server, reconcile, serving
from tests.open_services import OpenServices, open_on

# Applications start by the hundred here, and each would go through all objects of the process.
main.gc = SimpleNamespace(collect=lambda: 0, freeze=lambda: None)  # type: ignore[assignment]


@asynccontextmanager
async def started(settings: Settings, capacity: Capacity | None = None) -> AsyncIterator[FastAPI]:
    """The application with an empty catalogue and a whole, empty index."""
    app = create_app(settings, capacity)
    async with app.router.lifespan_context(app):
        await app.state.services.upkeep.catch_up()
        yield app


def taking_turns(*apps: ASGIApp) -> ASGIApp:
    """The applications as processes of one service, of which now one answers and now another."""
    turns = cycle(apps)

    async def next_one(scope: Scope, receive: Receive, send: Send) -> None:
        await next(turns)(scope, receive, send)

    return next_one


def asking(app: ASGIApp) -> AsyncClient:
    """A client whose test fails where an error escapes the application."""
    transport = ASGITransport(app, raise_app_exceptions=True)
    return AsyncClient(transport=transport, base_url="http://localhost", timeout=60)


@pytest.fixture(scope="module")
def module_settings(module_database_url: str, module_redis_url: str) -> Settings:
    """Settings of the module's application."""
    return Settings(database_url=module_database_url, redis_url=module_redis_url)


@pytest.fixture(scope="module")
async def module_application(module_settings: Settings) -> AsyncIterator[FastAPI]:
    """One application for the tests of a module, which run in the module's event loop."""
    async with started(module_settings) as app:
        yield app


@pytest.fixture(scope="module")
async def module_client(module_application: FastAPI) -> AsyncIterator[AsyncClient]:
    """A client for modules whose tests do not mind what others posted."""
    async with asking(module_application) as client:
        yield client


@pytest.fixture(scope="module")
def server(module_database_url: str, module_redis_url: str) -> Iterator[Server]:
    """The application in a process of its own, for the tests of a module."""
    reconcile(module_database_url, module_redis_url)
    with serving(module_database_url, module_redis_url) as server:
        yield server


@pytest.fixture
def settings(module_settings: Settings, redis_url: str, emptied_database: Database) -> Settings:
    """Settings of a test's services on empty servers; tests that need others override it."""
    return module_settings


@pytest.fixture
async def services(
    module_application: FastAPI, settings: Settings, module_database: Database
) -> AsyncIterator[OpenServices]:
    """Services over an empty catalogue and a whole, empty index, which know nothing of earlier tests."""
    async with open_on(module_database, settings) as services:
        await services.upkeep.catch_up()
        module_application.state.services = services
        yield services


@pytest.fixture
async def application(module_application: FastAPI, services: OpenServices) -> FastAPI:
    """The module's application, working with `services`."""
    return module_application


@pytest.fixture
async def client(application: FastAPI) -> AsyncIterator[AsyncClient]:
    async with asking(application) as client:
        yield client
