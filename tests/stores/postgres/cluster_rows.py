"""Relations and decisions as rows, for tests of clusters: written as those do that make them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.clusters.clustering import KINDS, By, Clustering, Edge, Pair
from app.stores.postgres.clusters import book_leaves, edges_changed
from app.stores.postgres.tables import books, cluster_borders, cluster_members, decisions, relations
from tests.core.fresh_clusters import cluster

Decision = tuple[str, str | None]
"""A verdict, and the kind where it names one."""


def book_id(number: int) -> UUID:
    """Larger numbers are younger books."""
    return UUID(int=(number << 80) | (7 << 76) | (2 << 62))


@dataclass
class Library:
    """Relations and decisions in memory, from which clusters are computed from nothing."""

    kinds: dict[Pair, tuple[str, float]] = field(default_factory=dict)
    decisions: dict[Pair, Decision] = field(default_factory=dict)

    def forget(self, book: UUID) -> None:
        for rows in (self.kinds, self.decisions):
            for pair in [pair for pair in rows if book in pair]:
                del rows[pair]

    def clusters(self, by: By) -> Clustering:
        edges, never = [], []
        for pair in self.kinds.keys() | self.decisions.keys():
            kind, confidence = self.kinds.get(pair, (None, 0.0))
            verdict, named = self.decisions.get(pair, (None, None))
            if verdict == "rejected" or named == "UNRELATED":
                never.append(pair)
                continue
            if (named or kind) in KINDS[by]:
                edges.append(Edge(*pair, confidence if verdict is None else 1.0))
        return cluster(edges, never)


async def stored(connection: AsyncConnection, by: By) -> Clustering:
    """The clusters as the tables have them."""
    founders = await connection.execute(
        sa.select(cluster_members.c.book_id, cluster_members.c.founder_id).where(cluster_members.c.by == by)
    )
    borders = await connection.execute(
        sa.select(cluster_borders.c.left_id, cluster_borders.c.right_id).where(cluster_borders.c.by == by)
    )
    return Clustering({row[0]: row[1] for row in founders}, frozenset((row[0], row[1]) for row in borders))


async def add_books(connection: AsyncConnection, ids: Iterable[UUID]) -> None:
    rows = [
        {"id": book, "content_key": book.bytes, "word_count": 1000, "character_count": 6000, "page_count": 3}
        for book in ids
    ]
    await connection.execute(sa.insert(books), rows)


async def delete_book(connection: AsyncConnection, book: UUID) -> None:
    await connection.execute(sa.select(books.c.id).where(books.c.id == book).with_for_update())
    await book_leaves(connection, book)
    await connection.execute(sa.delete(books).where(books.c.id == book))


async def relate(
    connection: AsyncConnection,
    kinds: dict[Pair, tuple[str, float] | None],
    similarity: float = 0.9,
) -> None:
    """Write these relations (None: delete) and bring the clusters up to date."""
    await write_relations(connection, kinds, similarity)
    await edges_changed(connection, list(kinds))


async def write_relations(
    connection: AsyncConnection, kinds: dict[Pair, tuple[str, float] | None], similarity: float = 0.9
) -> None:
    rows = [
        {
            "left_id": left,
            "right_id": right,
            "left_entry": 1,
            "right_entry": 1,
            "kind": told[0],
            "confidence": told[1],
            "classifier": "test",
            "left_because": "",
            "right_because": "",
            "confidences": {},
            "signals": {"page_similarity": similarity},
        }
        for (left, right), told in sorted(kinds.items())
        if told is not None
    ]
    if rows:
        upsert = insert(relations)
        changed = {"kind": upsert.excluded.kind, "confidence": upsert.excluded.confidence}
        upsert = upsert.on_conflict_do_update(index_elements=["left_id", "right_id"], set_=changed)
        await connection.execute(upsert, rows)
    for left, right in sorted(pair for pair, told in kinds.items() if told is None):
        await connection.execute(
            sa.delete(relations).where(relations.c.left_id == left, relations.c.right_id == right)
        )


async def decide(connection: AsyncConnection, pair: Pair, decision: Decision | None) -> None:
    """Write a person's decision (None: withdraw it) and bring the clusters up to date."""
    of_pair = sa.and_(decisions.c.left_id == pair[0], decisions.c.right_id == pair[1])
    await connection.execute(sa.delete(decisions).where(of_pair))
    if decision is not None:
        ids = {"left_id": pair[0], "right_id": pair[1], "left_entry": 1, "right_entry": 1}
        await connection.execute(sa.insert(decisions), ids | {"verdict": decision[0], "kind": decision[1]})
    await edges_changed(connection, [pair])
