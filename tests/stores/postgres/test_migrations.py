"""The migrations build what `schema.py` says, from nothing and from several processes at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from app.core.errors import BookprintError
from app.core.recipe import DEFAULT_SAMPLE
from app.embedded import Servers
from app.stores.postgres import connections
from app.stores.postgres.connections import SQL, SchemaQueries, open_database, upgrade
from app.stores.postgres.pairs.schema import metadata
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


@pytest.mark.parametrize(
    ("books", "sample"),
    [("", DEFAULT_SAMPLE), ("(gen_random_uuid(), 'a', '{}', '{}', 1, 1)", "char20-sample256-v1")],
    ids=["empty", "with a book"],
)
def test_a_library_with_books_keeps_its_samples(database_url: str, books: str, sample: str) -> None:
    engine, config = sa.create_engine(database_url), connections._config()
    insert = "INSERT INTO books (id, content_key, authors, name_keys, word_count, character_count) VALUES "
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0027")
        if books:
            connection.execute(sa.text(insert + books))
        connection.commit()
        command.upgrade(config, "head")
        connection.commit()
        assert connection.scalars(sa.text("SELECT sample FROM suites")).all() == [sample]
    engine.dispose()


def test_opinions_keep_what_was_before_them(database_url: str) -> None:
    engine, config = sa.create_engine(database_url), connections._config()
    columns = (
        "left_id, right_id, author, name, verdict, kind, outcome, verdict_before, kind_before, name_before"
    )
    pair = "'00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'"
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0027")
        for values in (
            "'k1', 'Ann', 'rejected', 'UNRELATED', 'counts', NULL, NULL, NULL",
            "'k2', 'Ben', 'kind', 'SAME_TEXT', 'counts', 'rejected', 'UNRELATED', 'Ann'",
            "'k2', 'Ben', 'withdrawn', NULL, 'withdrawn', 'kind', 'SAME_TEXT', 'Ben'",
        ):
            connection.execute(sa.text(f"INSERT INTO opinions ({columns}) VALUES ({pair}, {values})"))
        connection.commit()
        earlier = connection.execute(sa.text(f"SELECT {columns} FROM opinions ORDER BY sequence")).all()
        command.upgrade(config, "head")
        first, second, third = connection.execute(
            sa.text("SELECT sequence, before FROM opinions ORDER BY sequence")
        ).all()
        assert [first.before, second.before, third.before] == [None, first.sequence, second.sequence]
        command.downgrade(config, "0027")
        assert (
            connection.execute(sa.text(f"SELECT {columns} FROM opinions ORDER BY sequence")).all() == earlier
        )
        connection.commit()
    engine.dispose()


async def test_bytes_that_are_compressed_already_are_not_compressed_again(database_url: str) -> None:
    stored = SQL("""
        SELECT attrelid::regclass::text AS name FROM pg_attribute
        WHERE attname = 'data' AND attstorage = 'e' AND attrelid::regclass::text IN ('texts', 'signatures')
    """)
    async with open_database(database_url, 1) as database:
        assert {row["name"] for row in await database.rows(stored)} == {"texts", "signatures"}
