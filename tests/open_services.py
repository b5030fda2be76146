"""All services of one process with the stores that they work on, which tests look into."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields

from app.core.recipe import DEFAULT_SUITE
from app.settings import Settings
from app.stores.postgres.connections import Database
from app.stores.postgres.contents import SuiteStore
from app.stores.postgres.entries import EntryStore, SignatureQueries
from app.stores.redis.band_index import BandIndex
from app.stores.redis.indexes import Indexes
from app.wiring import Services, Stores, open_stores, services_on


@dataclass(frozen=True, slots=True)
class OpenServices(Services):
    """Services, and their stores."""

    database: Database
    entries: EntryStore
    signatures: SignatureQueries
    suites: SuiteStore
    indexes: Indexes

    @property
    def index(self) -> BandIndex:
        """The band index of the default suite."""
        return self.indexes.of(DEFAULT_SUITE)


def with_stores(services: Services, stores: Stores) -> OpenServices:
    """The services with these stores."""
    names = [field.name for field in fields(OpenServices)]
    return OpenServices(
        **{name: getattr(services if hasattr(services, name) else stores, name) for name in names}
    )


@asynccontextmanager
async def open_with_stores(settings: Settings) -> AsyncIterator[OpenServices]:
    """As `app.wiring.open_services`, with the stores."""
    async with open_stores(settings) as stores:
        yield with_stores(services_on(stores, settings), stores)
