"""All services of one process on real servers."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from app.settings import Settings
from app.wiring import House, open_house


@pytest.fixture
async def house(database_url: str, redis_url: str) -> AsyncIterator[House]:
    """Services over an empty catalogue and a whole, empty index."""
    async with open_house(Settings(database_url=database_url, redis_url=redis_url)) as house:
        await house.reindex.reconcile()
        yield house


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()
