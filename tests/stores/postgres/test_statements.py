"""Postgres takes every statement of the stores, with what is put into it from elsewhere."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import asyncpg

import app.stores.postgres
from app.stores.postgres import bulk
from app.stores.postgres.connections import SQL, ConditionalSQL, Database

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(app.stores.postgres.__path__, "app.stores.postgres.")
]

STATEMENTS = {"SQL", "ConditionalSQL"}


def statements_in(place: str, value: object) -> Iterator[tuple[str, SQL]]:
    if isinstance(value, SQL):
        yield place, value
    elif isinstance(value, ConditionalSQL):
        for names in ([], value.conditions, *([name] for name in value.conditions)):
            yield f"{place} given {', '.join(names)}", value.given(dict.fromkeys(names, 0))
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


def test_statements_are_made_where_the_test_above_finds_them() -> None:
    inside = set()
    for module in MODULES:
        if module.__file__ is not None:
            tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
            for function in ast.walk(tree):
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
                    inside |= {module.__name__ for call in calls if ast.unparse(call) in STATEMENTS}
    assert inside == {"app.stores.postgres.connections"}
