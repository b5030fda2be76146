"""How Postgres runs the statements of the stores, as planned while all tables are empty.

A connection keeps such a plan when the tables have grown, until Postgres next looks how large they are.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from psycopg.sql import SQL

import app.stores.postgres
from app.stores.postgres.connections import Database

OF_ALL = {
    "books._LIST",  # a template, to which these conditions are added
    "books._CONDITIONS",
    "entries._COUNT",
    "entries._COUNT_PENDING",
    "entries._DELETE_TOMBSTONES",
    "relation_queries._COUNT",
    "suites._LOCK_TABLE",
}
"""Statements that concern all rows of a table."""

IN_TRANSACTIONS = {
    "cluster_edges",
    "cluster_queries",
    "clusters",
    "decisions",
    "jobs",
    "locks",
    "schema",
    "relations",
    "signatures",
    "texts",
}
"""Modules whose statements run in transactions, planned by the size of the tables, or concern jobs."""

SMALL = {"suites"}

SOME = {"ix_books_pending", "pk_tombstones"}
"""Indexes of what there is little of, which lookups read whole."""

BY_KEY = re.compile(r"\((id|book_id|entry_id|left_id|right_id|founder_id|external_id|content_key|args) ")
"""A condition on a column by which one row is looked up, or those of one book."""


def statements_by_key() -> dict[str, SQL]:
    found = {}
    for module in pkgutil.iter_modules(app.stores.postgres.__path__):
        if module.name in IN_TRANSACTIONS:
            continue
        for name, value in vars(importlib.import_module(f"app.stores.postgres.{module.name}")).items():
            several = value if isinstance(value, dict) else {"": value}
            for which, statement in several.items():
                if isinstance(statement, SQL) and f"{module.name}.{name}" not in OF_ALL:
                    found[f"{module.name}.{name} {which}".rstrip()] = statement
    return found


def numbered(statement: str) -> tuple[str, int]:
    """The statement with $1, $2, … for its named parameters, and how many of them there are."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    return re.sub(r"%\((\w+)\)s", lambda match: f"${names.index(match[1]) + 1}", statement), len(names)


def scans(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The nodes that read a table or an index; a bitmap of an index's rows is read by that index."""
    if "Index Name" in plan or plan["Node Type"] == "Seq Scan":
        yield plan
    for part in plan.get("Plans", []):
        yield from scans(part)


def reads_by_key(scan: Mapping[str, Any]) -> bool:
    return (
        scan.get("Relation Name") in SMALL
        or scan.get("Index Name") in SOME
        or BY_KEY.search(scan.get("Index Cond", "")) is not None
    )


@pytest.mark.parametrize("name", statements_by_key())
async def test_rows_are_looked_up_by_their_keys(database: Database, name: str) -> None:
    statement, count = numbered(statements_by_key()[name].as_string())
    given = f"({', '.join(['NULL'] * count)})" if count else ""
    async with database.connection() as connection:
        await connection.execute(SQL(f"PREPARE statement AS {statement}"))
        cursor = await connection.execute(SQL(f"EXPLAIN (FORMAT JSON) EXECUTE statement{given}"))
        [row] = await cursor.fetchall()
    [explained] = row["QUERY PLAN"]
    read = list(scans(explained["Plan"]))
    assert [scan for scan in read if not reads_by_key(scan)] == []
