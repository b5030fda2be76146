"""Stores on real servers."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.stores.band_index import BandIndex
from app.stores.catalogue import Catalogue
from app.stores.entries import Entries
from app.stores.nodes import SingleNode
from app.stores.reading import Reader, open_reader


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(database_url)
    yield engine
    await engine.dispose()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
async def reader(engine: AsyncEngine) -> AsyncIterator[Reader]:
    async with open_reader(engine.url, 4) as reader:
        yield reader


@pytest.fixture
def catalogue(engine: AsyncEngine, reader: Reader) -> Catalogue:
    return Catalogue(engine, reader)


@pytest.fixture
def entries(engine: AsyncEngine, reader: Reader) -> Entries:
    return Entries(engine, reader)


@pytest.fixture
async def index(redis: Redis) -> BandIndex:
    """A band index that has been declared whole."""
    index = BandIndex(SingleNode(redis))
    await index.epoch.begin("test")
    assert await index.epoch.finish("test")
    return index
