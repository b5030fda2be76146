"""All services of one process on real servers."""

from collections.abc import AsyncIterator

import pytest

from app.settings import Settings
from app.wiring import House, open_house
from tests.redis_cluster import Operator, operator_of


@pytest.fixture
async def house(database_url: str, index_url: str) -> AsyncIterator[House]:
    """Services over an empty catalogue and a whole, empty index."""
    async with open_house(Settings(database_url=database_url, redis_url=index_url)) as house:
        await house.reindex.reconcile()
        yield house


@pytest.fixture
async def redis(index_url: str) -> AsyncIterator[Operator]:
    async with operator_of(index_url) as operator:
        yield operator
