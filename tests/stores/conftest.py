"""Stores on real servers."""

from collections.abc import AsyncIterator

import pytest

from app.stores.postgres.books import BookStore
from app.stores.postgres.connections import Database
from app.stores.postgres.entries import EntryStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import RedisClient, open_client
from tests.factories import BANDS


@pytest.fixture
def database(emptied_database: Database) -> Database:
    return emptied_database


@pytest.fixture
async def redis_client(index_url: str) -> AsyncIterator[RedisClient]:
    async with open_client(index_url) as client:
        yield client


@pytest.fixture
async def other(index_url: str) -> AsyncIterator[BandIndex]:
    """The same band index as another process sees it."""
    async with open_client(index_url) as client:
        yield BandIndex(client, BANDS)


@pytest.fixture
def catalogue(database: Database) -> BookStore:
    return BookStore(database)


@pytest.fixture
def entries(database: Database) -> EntryStore:
    return EntryStore(database)


@pytest.fixture
async def index(redis_client: RedisClient) -> BandIndex:
    """A band index that has been declared complete."""
    index = BandIndex(redis_client, BANDS)
    await index.epochs.begin("test")
    assert await index.epochs.finish("test")
    return index
