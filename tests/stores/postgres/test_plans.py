"""How Postgres runs the queries of lookups and of relating, as planned while all tables are empty.

A connection keeps such a plan when the tables have grown, until Postgres next looks how large they are.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

import app.stores.postgres
from app.stores.postgres.queries import Query, open_queries

OF_ALL = {
    "books._ADD",  # takes the one suite that serves
    "entries._COUNT",
    "entries._COUNT_PENDING",
    "entries._FORGET_DEPARTURES",
    "relation_queries._COUNTS",
    "suites._READ",
}
"""Queries that ask for all rows of a table, or of a small one."""

WHOLE_TABLES = {"signatures", "unsigned"}
"""Modules whose queries run on connections of their own, which may read whole tables."""

SMALL = {"suites"}

SOME = {"ix_books_pending", "pk_tombstones"}
"""Indexes of what there is little of, which lookups read whole."""

BY_KEY = re.compile(r"\((id|book_id|entry_id|left_id|right_id|founder_id|external_id|content_key|args) ")
"""A condition on a column by which one row is looked up, or those of one book."""


class Told(Query):
    """A statement as it stands."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._names = []


def queries_by_key() -> dict[str, Query]:
    found = {}
    for module in pkgutil.iter_modules(app.stores.postgres.__path__):
        if module.name in WHOLE_TABLES:
            continue
        for name, value in vars(importlib.import_module(f"app.stores.postgres.{module.name}")).items():
            several = value if isinstance(value, dict) else {"": value}
            for which, query in several.items():
                if isinstance(query, Query) and f"{module.name}.{name}" not in OF_ALL:
                    found[f"{module.name}.{name} {which}".rstrip()] = query
    return found


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


@pytest.mark.parametrize("name", queries_by_key())
async def test_rows_are_looked_up_by_their_keys(engine: AsyncEngine, name: str) -> None:
    query = queries_by_key()[name]
    count = len(query._names)
    given = f"({', '.join(['NULL'] * count)})" if count else ""
    async with open_queries(engine.url, 1) as queries:
        await queries.rows(Told(b"PREPARE query AS " + query.text))
        [row] = await queries.rows(Told(f"EXPLAIN (FORMAT JSON) EXECUTE query{given}".encode()))
    [explained] = row["QUERY PLAN"]
    read = list(scans(explained["Plan"]))
    assert read
    assert [scan for scan in read if not reads_by_key(scan)] == []
