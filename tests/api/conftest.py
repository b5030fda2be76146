"""The application on real servers, asked without a socket."""

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from app.main import create_app
from app.settings import Settings
from app.wiring import House


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url)


@pytest.fixture
async def application(settings: Settings) -> AsyncIterator[FastAPI]:
    """The application, started, with an empty catalogue and a whole, empty index."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        await app.state.house.reindex.reconcile()
        yield app


@pytest.fixture
def house(application: FastAPI) -> House:
    house: House = application.state.house
    return house


@pytest.fixture
async def client(application: FastAPI) -> AsyncIterator[AsyncClient]:
    # Errors that escape the application fail the test instead of becoming an answer.
    transport = ASGITransport(application, raise_app_exceptions=True)
    async with AsyncClient(transport=transport, base_url="http://bookprint.test", timeout=60) as client:
        yield client
