"""All services of one process on real servers."""

from collections.abc import AsyncIterator

import pytest

from app.settings import Settings
from app.wiring import Services
from tests.open_services import open_with_stores
from tests.redis_cluster import Operator, operator_of


@pytest.fixture
async def services(database_url: str, index_url: str) -> AsyncIterator[Services]:
    """Services over an empty catalogue and a whole, empty index."""
    async with open_with_stores(Settings(database_url=database_url, redis_url=index_url)) as services:
        await services.upkeep.catch_up()
        yield services


@pytest.fixture
async def redis(index_url: str) -> AsyncIterator[Operator]:
    async with operator_of(index_url) as operator:
        yield operator
