"""The application on real servers, asked without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle

import pytest
import pytest_asyncio
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.types import ASGIApp, Receive, Scope, Send

from app.main import create_app
from app.settings import Settings
from app.wiring import Services, open_stores
from tests.open_services import with_stores


@asynccontextmanager
async def started(settings: Settings) -> AsyncIterator[FastAPI]:
    """The application with an empty catalogue and a whole, empty index."""
    app = create_app(settings)
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


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url)


@pytest.fixture
async def application(settings: Settings) -> AsyncIterator[FastAPI]:
    async with started(settings) as app:
        yield app


@pytest.fixture
async def services(application: FastAPI, settings: Settings) -> AsyncIterator[Services]:
    async with open_stores(settings) as stores:
        yield with_stores(application.state.services, stores)


@pytest.fixture
async def client(application: FastAPI) -> AsyncIterator[AsyncClient]:
    async with asking(application) as client:
        yield client


@pytest.fixture(scope="module")
def module_settings(module_database_url: str, module_redis_url: str) -> Settings:
    return Settings(database_url=module_database_url, redis_url=module_redis_url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_application(module_settings: Settings) -> AsyncIterator[FastAPI]:
    """One application for the tests of a module, which run in the module's event loop."""
    async with started(module_settings) as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_client(module_application: FastAPI) -> AsyncIterator[AsyncClient]:
    async with asking(module_application) as client:
        yield client
