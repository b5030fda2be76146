"""The plans of the stores' statements, made by Postgres while all tables are empty.

A connection keeps such a plan when the tables have grown, until Postgres next looks how large they are.
"""

import importlib
import json
import pkgutil
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

import app.stores.postgres
from app.stores.postgres.connections import SQL, Database, open_database
from app.stores.postgres.pairs.decisions import _LIST as HISTORY

OF_ALL = {
    "entries._COUNT",
    "entries._COUNT_PENDING",
    "entries._COUNT_ROUGHLY",
    "entries._DELETE_TOMBSTONES",
    "signatures._READ_ENTRIES",
    "entries._READ_MEMBERS",
    "entries._READ_PENDING True",
    "entries._READ_QUERY_BOOK (False, True)",
    "entries._READ_QUERY_BOOK (True, True)",
    "signatures._READ_PARTS",
    "library._COUNT_COPIES",
    "relation_queries._COUNT",
}
"""Statements that concern all rows of a table, or a range of them."""

IN_TRANSACTIONS = {
    "bulk",
    "cluster_queries",
    "clusters",
    "jobs",
    "connections",
    "relations",
    "contents",
}
"""Modules whose statements run in transactions, planned by the size of the tables, or concern jobs."""

BESIDE_LOOKUPS = {"audit", "changes", "conflicts", "keys", "names", "vectors", "webhooks"}
"""Modules whose statements read ranges, or tables that stay small; no lookup waits for them."""

SOME = {"ix_books_pending", "pk_tombstones"}
"""Indexes of what there is little of, which lookups read whole."""

OF_HISTORY = {
    "ix_past_decisions_left_id_right_id",
    "ix_past_decisions_right_id",
    "ix_past_decisions_author_sequence",
}
"""Indexes by which the history of decisions on a book or of a person is read."""

BY_KEY = re.compile(r"\((id|book_id|entry_id|left_id|right_id|founder_id|external_id|content_key|args) ")
"""A condition on a column by which one row is looked up, or those of one book."""


def statements_by_key() -> dict[str, SQL]:
    statements = {}
    for module in pkgutil.iter_modules(app.stores.postgres.__path__):
        if module.name in IN_TRANSACTIONS | BESIDE_LOOKUPS:
            continue
        for name, value in vars(importlib.import_module(f"app.stores.postgres.{module.name}")).items():
            several = value if isinstance(value, dict) else {"": value}
            for place, statement in several.items():
                full_name = f"{module.name}.{name} {place}".rstrip()
                if isinstance(statement, SQL) and full_name not in OF_ALL:
                    statements[full_name] = statement
    return statements


def scans(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The nodes that read a table or an index; a bitmap of an index's rows is read by that index."""
    if "Index Name" in plan or plan["Node Type"] == "Seq Scan":
        yield plan
    for part in plan.get("Plans", []):
        yield from scans(part)


def reads_by_key(scan: Mapping[str, Any]) -> bool:
    return scan.get("Index Name") in SOME or BY_KEY.search(scan.get("Index Cond", "")) is not None


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database of which Postgres has no statistics yet."""
    async with open_database(database_url, 2) as database:
        yield database


async def test_the_history_of_a_book_or_person_is_read_by_an_index(database: Database) -> None:
    values = dict.fromkeys(("before", "name", "after", "left_id", "right_id", "book_id", "author"))
    async with database.session() as connection:
        await connection.execute("""
            INSERT INTO past_decisions (left_id, right_id, author, verdict, outcome)
            SELECT md5(n::text)::uuid, md5((n % 1000)::text)::uuid, 'a' || n % 1000, 'rejected', 'counts'
            FROM generate_series(1, 30000) AS n
        """)
        await connection.execute("ANALYZE past_decisions")
        book = await connection.fetchval("SELECT right_id FROM past_decisions LIMIT 1")
        for mode in ("force_custom_plan", "force_generic_plan"):
            await connection.execute(f"SET plan_cache_mode = {mode}")
            for given in ({"book_id": book}, {"book_id": book, "before": 20_000}, {"author": "nobody"}):
                wanted = values | given | {"reader": "a1", "limit": 101}
                statement = HISTORY.given(wanted)
                explain = f"EXPLAIN (FORMAT JSON) {statement.text}"
                [explained] = json.loads(await connection.fetchval(explain, *statement.values(wanted)))
                read = [
                    scan.get("Index Name", scan["Node Type"])
                    for scan in scans(explained["Plan"])
                    if scan.get("Alias") == "past"
                ]
                assert set(read) <= OF_HISTORY, (mode, given, explained)


async def test_rows_are_looked_up_by_their_keys(database: Database) -> None:
    otherwise = {}
    async with database.connection() as connection:
        for name, statement in statements_by_key().items():
            count = len(set(re.findall(r"\$\d+", statement.text)))
            values = f"({', '.join(['NULL'] * count)})" if count else ""
            await connection.execute(f"PREPARE statement AS {statement.text}")
            plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE statement{values}")
            await connection.execute("DEALLOCATE statement")
            [explained] = json.loads(plan)
            if found := [scan for scan in scans(explained["Plan"]) if not reads_by_key(scan)]:
                otherwise[name] = found
    assert otherwise == {}
