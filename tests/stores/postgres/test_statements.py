"""Postgres takes every statement of the stores, with what is put into it from elsewhere."""

import importlib
import pkgutil
from collections.abc import Iterator

import asyncpg

import app.stores.postgres
from app.stores.postgres import bulk
from app.stores.postgres.connections import SQL, Database

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(app.stores.postgres.__path__, "app.stores.postgres.")
]


def statements_in(place: str, value: object) -> Iterator[tuple[str, SQL]]:
    if isinstance(value, SQL):
        yield place, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from statements_in(f"{place}[{key!r}]", part)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from statements_in(f"{place}[{number}]", part)


async def test_postgres_takes_every_statement(database: Database) -> None:
    refused = {}
    async with database.session() as connection:
        await connection.execute(bulk._CREATE_NEW_BOOKS.text)
        for module in MODULES:
            for name, value in vars(module).items():
                for place, statement in statements_in(f"{module.__name__}.{name}", value):
                    try:
                        await connection.prepare(statement.text)
                    except asyncpg.PostgresError as error:
                        refused[place] = error
    assert refused == {}
