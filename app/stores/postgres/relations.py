"""Relations in Postgres: what came out when two books were compared.

A pair is stored once, with the smaller book id left. A relation is one of two contents: it goes when either
book gets another content, in the same transaction. Jobs write their pairs in ascending order, so no two of
them wait for each other.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.clusters.clustering import KINDS, Pair
from app.core.relations.alignment import Alignment
from app.core.relations.relation import Kind, Relation
from app.stores.postgres.clusters import edges_changed
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.jobs import defer_relates

SIMILARITY_STEPS = 255
"""Similarities in a page map are stored in so many steps."""


@dataclass(frozen=True, slots=True)
class BookVersion:
    """A book with one of its contents."""

    book_id: UUID
    entry_id: int


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPair:
    """Two books that were compared, and what came out, told of the left one."""

    left: BookVersion  # with the smaller book id
    right: BookVersion
    relation: Relation


class RelationStore:
    """Writes relations."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def record(self, compared: Sequence[ComparedPair]) -> None:
        """Store relations; those of a content that is no longer current are passed over.

        The same relations again change nothing.
        """
        if compared:
            with postgres_outages():
                async with self._engine.begin() as connection:
                    await edges_changed(connection, await _write(connection, compared))

    async def conclude(
        self,
        entry_id: int,
        compared: Sequence[ComparedPair],
        passed_over: int,
        seconds: Mapping[str, Sequence[float]],
    ) -> None:
        """Store the last relations of an entry as `record` does, and note that they have been looked for.

        `passed_over` is how many candidates were too many to compare, `seconds` how long each pair took, by
        the kind of relation.
        """
        with postgres_outages():
            async with self._engine.begin() as connection:
                written = await _write(connection, compared) if compared else []
                await connection.execute(_CONCLUDE, {"entry_id": entry_id, "passed_over": passed_over})
                if seconds:
                    kinds = sorted(seconds)
                    counted = {
                        "kinds": kinds,
                        "pairs": [len(seconds[kind]) for kind in kinds],
                        "seconds": [sum(seconds[kind]) for kind in kinds],
                    }
                    # Late, because every job changes these few rows.
                    await connection.execute(_COUNT, counted)
                await edges_changed(connection, written)


async def _write(connection: AsyncConnection, compared: Sequence[ComparedPair]) -> list[Pair]:
    """Those pairs that are edges now or may have been before.

    A new relation of another kind makes no edge and takes none away: people's decisions are as they were.
    """
    ordered = sorted(compared, key=lambda one: (one.left.book_id, one.right.book_id))
    told = json.dumps([_row(one) for one in ordered], default=str, allow_nan=False)
    rows = await connection.execute(_RECORD, {"compared": told})
    return [(row.left_id, row.right_id) for row in rows if not row.is_new or row.kind in _JOINING]


async def drop_relations(connection: AsyncConnection, book_id: UUID) -> None:
    """Remove the relations of a book whose content changes, and have its relatives look for others.

    Only those look again that had passed some candidates over: the book may have stood for these.
    """
    await look_again(connection, book_id)
    pairs = [(row[0], row[1]) for row in await connection.execute(_DROP, {"book_id": book_id})]
    if pairs:
        await edges_changed(connection, pairs)


async def look_again(connection: AsyncConnection, book_id: UUID) -> None:
    """Have those relatives of a book that had too many candidates look for relations once more."""
    entry_ids = (await connection.scalars(_CUT_SHORT, {"book_id": book_id})).all()
    await defer_relates(connection, entry_ids)


def _row(compared: ComparedPair) -> dict[str, Any]:
    relation, left, right = compared.relation, compared.left, compared.right
    classification, signals, alignment = relation.classification, relation.signals, relation.alignment
    return {
        "left_id": left.book_id,
        "right_id": right.book_id,
        "left_entry": left.entry_id,
        "right_entry": right.entry_id,
        "kind": classification.kind,
        "direction": classification.direction,
        "confidence": classification.confidence,
        "classifier": relation.classifier,
        "left_because": classification.because,
        "right_because": relation.mirrored.because,
        "confidences": dict(classification.confidences),
        "signals": None if signals is None else asdict(signals),
        "unit": None if alignment is None else alignment.unit,
        "runs": [] if alignment is None else _runs(alignment),
        "page_map": None if alignment is None else b64encode(_page_map(alignment)).decode("ascii"),
    }


def _runs(alignment: Alignment) -> list[dict[str, Any]]:
    return [{"left": run.left, "right": run.right} for run in alignment.runs]


def _page_map(alignment: Alignment) -> bytes:
    runs = [
        np.column_stack([run.pairs, np.rint(run.similarities * SIMILARITY_STEPS)]).astype("<i4")
        for run in alignment.runs
    ]
    return b"".join(run.tobytes() for run in runs)


_TYPES = {
    "left_id": "uuid",
    "right_id": "uuid",
    "left_entry": "bigint",
    "right_entry": "bigint",
    "kind": "text",
    "direction": "text",
    "confidence": "float8",
    "classifier": "text",
    "left_because": "text",
    "right_because": "text",
    "confidences": "jsonb",
    "signals": "jsonb",
    "unit": "text",
    "runs": "jsonb",
    "page_map": "text",
}

_READ = {**dict.fromkeys(_TYPES, "{}"), "page_map": "decode({}, 'base64')"}
"""How a column comes out of the JSON text: JSON has no bytes."""

_JOINING = frozenset[Kind]().union(*KINDS.values())
"""The kinds of relations that are edges."""

_RECORD = sa.text(f"""
    INSERT INTO relations ({", ".join(_TYPES)})
    SELECT {", ".join(read.format(f"told.{name}") for name, read in _READ.items())}
    FROM jsonb_to_recordset(CAST(:compared AS jsonb))
        AS told ({", ".join(f"{name} {kind}" for name, kind in _TYPES.items())})
    JOIN books AS one ON one.id = told.left_id AND one.entry_id = told.left_entry
    JOIN books AS other ON other.id = told.right_id AND other.entry_id = told.right_entry
    ORDER BY told.left_id, told.right_id
    FOR KEY SHARE OF one, other
    ON CONFLICT (left_id, right_id) DO UPDATE
    SET related_at = now(), {", ".join(f"{name} = excluded.{name}" for name in list(_TYPES)[2:])}
    WHERE (relations.left_entry, relations.right_entry, relations.classifier)
        <> (excluded.left_entry, excluded.right_entry, excluded.classifier)
    RETURNING left_id, right_id, kind, xmax = 0 AS is_new
""")

_CONCLUDE = sa.text("""
    INSERT INTO related_entries (entry_id, passed_over)
    SELECT entry_id, :passed_over FROM books WHERE entry_id = :entry_id FOR KEY SHARE
    ON CONFLICT (entry_id) DO UPDATE SET passed_over = excluded.passed_over
""").bindparams(sa.bindparam("passed_over", type_=sa.Integer))

_COUNT = sa.text("""
    INSERT INTO relation_counts (kind, pairs, seconds)
    SELECT * FROM unnest(CAST(:kinds AS text[]), CAST(:pairs AS bigint[]), CAST(:seconds AS float8[]))
    ON CONFLICT (kind) DO UPDATE
    SET pairs = relation_counts.pairs + excluded.pairs, seconds = relation_counts.seconds + excluded.seconds
""")

_CUT_SHORT = sa.text("""
    SELECT related_entries.entry_id
    FROM relations
    JOIN books ON books.id IN (left_id, right_id) AND books.id <> :book_id
    JOIN related_entries ON related_entries.entry_id = books.entry_id
    WHERE (left_id = :book_id OR right_id = :book_id) AND passed_over > 0
    ORDER BY related_entries.entry_id
""").bindparams(sa.bindparam("book_id", type_=sa.Uuid))

_DROP = sa.text("""
    DELETE FROM relations WHERE left_id = :book_id OR right_id = :book_id RETURNING left_id, right_id
""").bindparams(sa.bindparam("book_id", type_=sa.Uuid))
