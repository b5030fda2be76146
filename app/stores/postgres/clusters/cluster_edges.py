"""The edges between books: relations as people's decisions leave them.

A pair has the kind that a person named, else the machine's; none where a person rejected it. A rejected pair
never matches, and neither does one that a person called UNRELATED.
"""

from collections.abc import AsyncGenerator, Collection, Iterable
from uuid import UUID

from app.core.clusters.clustering import KINDS, By, Edge, Pair
from app.stores.postgres.connections import Connection, rows
from app.stores.postgres.statements import SQL

_READ_AT_ONCE = 10_000
"""Edges."""

_KIND = """
    CASE d.verdict WHEN 'rejected' THEN NULL WHEN 'kind' THEN d.kind ELSE r.kind END
        = ANY($kinds::text[])
"""
_RELATED = "relations r LEFT JOIN decisions d USING (left_id, right_id)"
_NAMED = """
    decisions d WHERE d.verdict = 'kind' AND d.kind = ANY($kinds::text[]) AND NOT EXISTS (
        SELECT FROM relations r WHERE (r.left_id, r.right_id) = (d.left_id, d.right_id)
    )
"""
"""Pairs that a person named and the machine has not related."""

_READ_JOINED = SQL(f"""
    SELECT p.left_id, p.right_id
    FROM unnest($lefts::uuid[], $rights::uuid[]) AS p (left_id, right_id)
    LEFT JOIN relations r USING (left_id, right_id)
    LEFT JOIN decisions d USING (left_id, right_id)
    WHERE {_KIND}
""")
_READ_EDGES = SQL(f"""
    SELECT left_id, right_id FROM {_RELATED} WHERE left_id = ANY($books::uuid[]) AND {_KIND}
    UNION ALL
    SELECT left_id, right_id FROM {_RELATED} WHERE right_id = ANY($books::uuid[]) AND {_KIND}
    UNION ALL
    SELECT d.left_id, d.right_id FROM {_NAMED}
        AND (d.left_id = ANY($books::uuid[]) OR d.right_id = ANY($books::uuid[]))
""")
_READ_CONNECTED = SQL(f"""
    SELECT book FROM unnest($books::uuid[]) AS book
    WHERE EXISTS (SELECT FROM {_RELATED} WHERE left_id = book AND {_KIND})
    OR EXISTS (SELECT FROM {_RELATED} WHERE right_id = book AND {_KIND})
    OR EXISTS (SELECT FROM {_NAMED} AND book IN (d.left_id, d.right_id))
""")
_READ_IN_ORDER = SQL(f"""
    SELECT left_id, right_id, CASE WHEN d.verdict IS NULL THEN r.confidence ELSE 1 END AS strength
    FROM {_RELATED} WHERE left_id = ANY($books::uuid[]) AND {_KIND}
    UNION ALL
    SELECT d.left_id, d.right_id, 1 FROM {_NAMED} AND d.left_id = ANY($books::uuid[])
    ORDER BY strength DESC, left_id, right_id
""")
_READ_NEVER_MATCHING = SQL("""
    SELECT d.left_id, d.right_id
    FROM decisions d
    LEFT JOIN cluster_members l ON (l.by, l.book_id) = ($by, d.left_id)
    LEFT JOIN cluster_members r ON (r.by, r.book_id) = ($by, d.right_id)
    WHERE (d.verdict = 'rejected' OR d.kind = 'UNRELATED')
    AND coalesce(l.founder_id, d.left_id) = ANY($founders::uuid[])
    AND coalesce(r.founder_id, d.right_id) = ANY($founders::uuid[])
""")


async def read_joined(connection: Connection, by: By, pairs: Collection[Pair]) -> set[Pair]:
    """Those of the pairs that are edges."""
    lefts, rights = zip(*pairs, strict=True)
    joined = await rows(
        connection, _READ_JOINED, lefts=list(lefts), rights=list(rights), kinds=list(KINDS[by])
    )
    return {(row["left_id"], row["right_id"]) for row in joined}


async def read_edges(connection: Connection, by: By, books: Iterable[UUID]) -> list[Pair]:
    """Every edge that has one of the books at its end; some come twice."""
    edges = await rows(connection, _READ_EDGES, books=list(books), kinds=list(KINDS[by]))
    return [(row["left_id"], row["right_id"]) for row in edges]


async def read_connected(connection: Connection, by: By, books: Iterable[UUID]) -> set[UUID]:
    """Those of the books that have an edge."""
    connected = await rows(connection, _READ_CONNECTED, books=list(books), kinds=list(KINDS[by]))
    return {row["book"] for row in connected}


async def read_edges_in_order(
    connection: Connection, by: By, books: Iterable[UUID]
) -> AsyncGenerator[list[Edge], None]:
    """Every edge whose older book is one of these, in the canonical order, some at a time."""
    values = _READ_IN_ORDER.values({"books": list(books), "kinds": list(KINDS[by])})
    cursor = await connection.cursor(_READ_IN_ORDER.text, *values)
    while batch := await cursor.fetch(_READ_AT_ONCE):
        yield [Edge(row["left_id"], row["right_id"], row["strength"]) for row in batch]


async def read_never_matching(connection: Connection, by: By, founders: Collection[UUID]) -> list[Pair]:
    """The pairs that never match whose books are in the clusters with these founders."""
    pairs = await rows(connection, _READ_NEVER_MATCHING, by=by, founders=list(founders))
    return [(row["left_id"], row["right_id"]) for row in pairs]
