"""The migrations build what `schema.py` says, from nothing and from several processes at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from app.embedded import Servers
from app.stores.postgres.connections import SQL, SchemaQueries, open_database, upgrade
from app.stores.postgres.pairs.schema import metadata
from bookprint_core.errors import BookprintError
from tests.servers import fresh_database


def test_the_migrated_schema_is_the_one_of_the_stores(database_url: str) -> None:
    engine = sa.create_engine(database_url)
    with engine.connect() as connection:
        options = {"include_object": lambda thing, name, kind, *_: not str(name).startswith("procrastinate")}
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
        assert [difference for difference in differences if "procrastinate" not in repr(difference)] == []
    engine.dispose()


async def test_several_processes_may_migrate_at_once(bare_database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upgrade, [bare_database_url] * 4))
    async with open_database(bare_database_url, 1) as database:
        assert await SchemaQueries(database).has_newest()
        assert await database.rows(SQL("SELECT FROM procrastinate_jobs")) == []


def test_a_database_in_another_encoding_is_refused(servers: Servers) -> None:
    with (
        fresh_database(servers.database_url, "template0 ENCODING SQL_ASCII") as url,
        pytest.raises(BookprintError, match=r"SQL_ASCII.* createdb --encoding=UTF8"),
    ):
        upgrade(url)


async def test_a_database_without_a_schema_is_not_current(bare_database_url: str) -> None:
    async with open_database(bare_database_url, 1) as database:
        assert not await SchemaQueries(database).has_newest()
