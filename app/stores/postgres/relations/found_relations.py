"""Storing relations that were found elsewhere, in the transaction that stores their younger books.

So at any time the books that are there have all the relations that there are among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.stores.postgres.clusters.clusters import update_clusters
from app.stores.postgres.connections import Connection, Row, rows
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.relations.relations import insert_relations, joining
from app.stores.postgres.statements import SQL

_AT_ONCE = 2_000
"""Pairs, of some five kilobytes each."""

_TYPES = {
    **dict.fromkeys(("left_id", "right_id"), "uuid"),
    **dict.fromkeys(("left_entry", "right_entry"), "bigint"),
    **dict.fromkeys(("kind", "direction"), "text"),
    "confidence": "float8",
    **dict.fromkeys(("classifier", "left_because", "right_because"), "text"),
    **dict.fromkeys(("confidences", "signals"), "text"),
    "unit": "text",
    "runs": "text",
    "page_map": "bytea",
}
_JSON = ("confidences", "signals", "runs")

_INSERT = insert_relations(
    f"""unnest({", ".join(f"${name}::{kind}[]" for name, kind in _TYPES.items())})
        AS given ({", ".join(_TYPES)})""",
    {name: f"given.{name}::jsonb" if name in _JSON else f"given.{name}" for name in _TYPES},
)
_INSERT_SEARCHES = SQL("""
    INSERT INTO related_entries (entry_id, passed_over)
    SELECT * FROM unnest($entry_ids::bigint[], $passed_over::integer[])
""")
_READ_CUT_SEARCHES = SQL("SELECT entry_id FROM related_entries WHERE passed_over > 0 ORDER BY entry_id")


@dataclass(frozen=True, slots=True)
class FoundPair:
    """Two books that were compared elsewhere, and the columns of what came out, JSON as text."""

    left: UUID
    left_entry: int | None  # None: it is stored together with the right one
    right: UUID
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FoundRelations:
    """What a search elsewhere has found of books that are to be stored."""

    pairs: Sequence[FoundPair]
    passed_over: Mapping[UUID, int]  # candidates that were too many to compare; none of other books
    complete: bool  # it knew all books that there are; else jobs search once more


async def insert_found(connection: Connection, created: Mapping[UUID, int], found: FoundRelations) -> None:
    """Store what was found of the books that this transaction has created; `created` has their entries.

    To be called last. Pairs whose right book is another one are left out.
    """
    pairs = sorted(
        (values for pair in found.pairs if (values := _values(pair, created)) is not None),
        key=lambda values: (values["left_id"], values["right_id"]),
    )
    written: list[Row] = []
    for start in range(0, len(pairs), _AT_ONCE):
        part = pairs[start : start + _AT_ONCE]
        columns = {name: [values[name] for values in part] for name in _TYPES}
        written += await rows(connection, _INSERT, **columns)
    if found.complete:
        passed_over = [found.passed_over.get(book_id, 0) for book_id in created]
        await rows(connection, _INSERT_SEARCHES, entry_ids=list(created.values()), passed_over=passed_over)
    else:
        await insert_relate_jobs(connection, list(created.values()))
    await update_clusters(connection, joining(written))


async def repeat_all_cut_searches(connection: Connection) -> None:
    """Have all books that had too many candidates search for relations once more."""
    searches = await rows(connection, _READ_CUT_SEARCHES)
    await insert_relate_jobs(connection, [row["entry_id"] for row in searches])


def _values(pair: FoundPair, created: Mapping[UUID, int]) -> dict[str, Any] | None:
    """The columns of a pair; None where one of its books is not there."""
    left_entry = created.get(pair.left) if pair.left_entry is None else pair.left_entry
    right_entry = created.get(pair.right)
    if left_entry is None or right_entry is None:
        return None
    ids = {"left_id": pair.left, "right_id": pair.right}
    return ids | {"left_entry": left_entry, "right_entry": right_entry} | dict(pair.values)
