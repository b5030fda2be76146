"""Relations and decisions as rows, for tests of clusters: written as those do that make them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from app.stores.postgres.clusters import delete_from_clusters, update_clusters
from app.stores.postgres.connections import Connection
from bookprint_core.clusters.clustering import KINDS, By, Clustering, Edge, Pair
from tests.core.fresh_clusters import cluster

Decision = tuple[str, str | None]
"""A verdict, and the kind where it names one."""


def link_of(kind: str, confidence: float) -> float | None:
    """The link of a relation in these tests: one that overlaps has none where it is not sure."""
    joins = kind in KINDS["related"] and (kind != "OVERLAPPING_TEXT" or confidence > 0.6)
    return confidence if joins else None


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
            linked = verdict is not None or (kind is not None and link_of(kind, confidence) is not None)
            if linked and (named or kind) in KINDS[by]:
                edges.append(Edge(*pair, confidence if verdict is None else 1.0))
        return cluster(edges, never)


async def stored(connection: Connection, by: By) -> Clustering:
    """The clusters as the tables have them, whose sizes are checked."""
    members = await connection.fetch("SELECT * FROM cluster_members WHERE by = $1", by)
    founders = {row["book_id"]: row["founder_id"] for row in members}
    counted = await connection.fetch("SELECT founder_id, size FROM clusters WHERE by = $1", by)
    assert {row["founder_id"]: row["size"] for row in counted} == Counter(founders.values())
    borders = await connection.fetch("SELECT * FROM cluster_borders WHERE by = $1", by)
    return Clustering(founders, frozenset([(row["left_id"], row["right_id"]) for row in borders]))


async def add_books(connection: Connection, ids: Iterable[UUID]) -> None:
    await connection.executemany(
        "INSERT INTO books (id, content_key, word_count, character_count, page_count)"
        " VALUES ($1, $2, 1000, 6000, 3)",
        [(book, book.bytes) for book in ids],
    )


async def delete_book(connection: Connection, book: UUID) -> None:
    await connection.execute("SELECT FROM books WHERE id = $1 FOR UPDATE", book)
    await delete_from_clusters(connection, book)
    await connection.execute("DELETE FROM books WHERE id = $1", book)


async def relate(
    connection: Connection,
    kinds: dict[Pair, tuple[str, float] | None],
    similarity: float = 0.9,
) -> None:
    """Write these relations (None: delete) and bring the clusters up to date."""
    await write_relations(connection, kinds, similarity)
    await update_clusters(connection, list(kinds))


async def write_relations(
    connection: Connection, kinds: dict[Pair, tuple[str, float] | None], similarity: float = 0.9
) -> None:
    written = sorted((pair, relation) for pair, relation in kinds.items() if relation is not None)
    deleted = sorted(pair for pair, relation in kinds.items() if relation is None)
    await connection.executemany(
        """
        INSERT INTO relations (
            left_id, right_id, left_entry, right_entry, kind, confidence, classifier, left_because,
            right_because, confidences, signals, link
        )
        VALUES ($1, $2, 1, 1, $3, $4, 'test', '', '', '{}', $5, $6)
        ON CONFLICT (left_id, right_id)
        DO UPDATE SET kind = excluded.kind, confidence = excluded.confidence, link = excluded.link
        """,
        [
            (*pair, *relation, {"page_similarity": similarity}, link_of(*relation))
            for pair, relation in written
        ],
    )
    await connection.executemany("DELETE FROM relations WHERE left_id = $1 AND right_id = $2", deleted)


async def decide(connection: Connection, pair: Pair, decision: Decision | None) -> None:
    """Write a person's decision (None: withdraw it) and bring the clusters up to date."""
    await connection.execute("DELETE FROM decisions WHERE left_id = $1 AND right_id = $2", *pair)
    if decision is not None:
        await connection.execute(
            "INSERT INTO decisions (left_id, right_id, left_entry, right_entry, verdict, kind)"
            " VALUES ($1, $2, 1, 1, $3, $4)",
            *pair,
            *decision,
        )
    await update_clusters(connection, [pair])
