"""All services of one process with the stores that they work on, which tests look into."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, fields

from app.settings import Settings
from app.stores.postgres.connections import Database
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.signatures import SignatureQueries
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import TimeWindows, open_client
from app.wiring import Services, Stores, open_stores, services_on
from tests.factories import BANDS


@dataclass(frozen=True, slots=True)
class OpenServices(Services):
    """Services, and their stores."""

    database: Database
    signatures: SignatureQueries
    index: BandIndex

    async def is_clean(self) -> bool:
        """Whether the band index holds what the catalogue demands, and nothing else."""
        return (await self.upkeep.verify(lambda done, total: None)).clean


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


@asynccontextmanager
async def open_on(database: Database, settings: Settings) -> AsyncIterator[OpenServices]:
    """As `open_with_stores`, on the connections to Postgres that other tests use too."""
    assert settings.redis_url is not None
    async with (
        open_client(settings.redis_url) as client,
        aclosing(TimeWindows(settings.redis_url)) as windows,
    ):
        entries, signatures = EntryStore(database), SignatureQueries(database)
        stores = Stores(database, entries, signatures, BandIndex(client, BANDS), windows)
        yield with_stores(services_on(stores, settings), stores)


_DELETIONS = """
SELECT string_agg(format('DELETE FROM %I', relname), '; ' ORDER BY relname) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
"""


async def empty(database: Database) -> None:
    """Leave a database as the migrations make it, but for the numbers that come next.

    To delete the few rows of a test takes a fiftieth of the time that a new database takes.
    """
    async with database.transaction() as connection:
        # The audit log lets go what is older than it is to be kept.
        await connection.execute("SET LOCAL bookprint.audit_kept_for = '-1 day'")
        await connection.execute(await connection.fetchval(_DELETIONS))
