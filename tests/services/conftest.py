"""All services of one process on real servers."""

from collections.abc import AsyncIterator

import pytest

from app.settings import Settings
from app.stores.postgres.connections import Database
from tests.open_services import OpenServices, open_on


@pytest.fixture
async def services(
    emptied_database: Database, module_database_url: str, index_url: str
) -> AsyncIterator[OpenServices]:
    """Services over an empty catalogue and a whole, empty index."""
    settings = Settings(database_url=module_database_url, redis_url=index_url)
    async with open_on(emptied_database, settings) as services:
        await services.upkeep.catch_up()
        yield services
