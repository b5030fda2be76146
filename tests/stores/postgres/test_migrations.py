"""The migrations build what `tables.py` says, from nothing and from several processes at once."""

from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from app.stores.postgres.migrate import is_current, upgrade
from app.stores.postgres.tables import metadata


def test_the_migrated_schema_is_the_one_in_tables(database_url: str) -> None:
    engine = sa.create_engine(database_url)
    with engine.connect() as connection:
        options = {"include_object": lambda thing, name, kind, *_: not str(name).startswith("procrastinate")}
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
        assert [difference for difference in differences if "procrastinate" not in repr(difference)] == []
        assert is_current(connection)
    engine.dispose()


def test_several_processes_may_migrate_at_once(bare_database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upgrade, [bare_database_url] * 4))
    engine = sa.create_engine(bare_database_url)
    with engine.connect() as connection:
        assert is_current(connection)
        assert connection.scalar(sa.text("SELECT count(*) FROM procrastinate_jobs")) == 0
    engine.dispose()
