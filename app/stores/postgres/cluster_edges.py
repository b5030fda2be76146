"""The edges between books: relations as people's decisions leave them.

A pair has the kind that a person named, else the machine's; none where a person rejected it. A rejected pair
never matches, and neither does one that a person called UNRELATED.
"""

from collections.abc import AsyncGenerator, Collection, Iterable
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.clusters.clustering import KINDS, By, Edge, Pair
from app.stores.postgres.statements import with_lists

_AT_ONCE = 10_000
"""Edges that are read at a time."""


async def joined(connection: AsyncConnection, by: By, pairs: Collection[Pair]) -> set[Pair]:
    """Those of the pairs that are edges."""
    lefts, rights = zip(*pairs, strict=True)
    values = {"lefts": list(lefts), "rights": list(rights), "kinds": list(KINDS[by])}
    return {(row[0], row[1]) for row in await connection.execute(_JOINED, values)}


async def edges_of(connection: AsyncConnection, by: By, books: Iterable[UUID]) -> list[Pair]:
    """Every edge that has one of the books at its end; some come twice."""
    values = {"books": list(books), "kinds": list(KINDS[by])}
    return [(row[0], row[1]) for row in await connection.execute(_EDGES_OF, values)]


async def with_edges(connection: AsyncConnection, by: By, books: Iterable[UUID]) -> set[UUID]:
    """Those of the books that are not alone."""
    values = {"books": list(books), "kinds": list(KINDS[by])}
    return set(await connection.scalars(_WITH_EDGES, values))


async def edges_in_order(
    connection: AsyncConnection, by: By, books: Iterable[UUID]
) -> AsyncGenerator[list[Edge], None]:
    """Every edge whose older book is one of these, in the canonical order, some at a time."""
    values = {"books": list(books), "kinds": list(KINDS[by])}
    async with connection.stream(_EDGES_IN_ORDER, values) as rows:
        async for some in rows.partitions(_AT_ONCE):
            yield [Edge(*row) for row in some]


async def never_matching(connection: AsyncConnection, by: By, founders: Iterable[UUID]) -> list[Pair]:
    """The pairs that never match and have both books in clusters with these founders."""
    values = {"by": by, "founders": list(founders)}
    return [(row[0], row[1]) for row in await connection.execute(_NEVER_MATCHING, values)]


_KIND = "CASE d.verdict WHEN 'rejected' THEN NULL WHEN 'kind' THEN d.kind ELSE r.kind END = ANY(:kinds)"
_RELATED = "relations r LEFT JOIN decisions d USING (left_id, right_id)"
_NAMED = """
    decisions d WHERE d.verdict = 'kind' AND d.kind = ANY(:kinds) AND NOT EXISTS (
        SELECT FROM relations r WHERE (r.left_id, r.right_id) = (d.left_id, d.right_id)
    )
"""
"""Pairs that a person named and the machine has not related."""

_JOINED = with_lists(f"""
    SELECT p.left_id, p.right_id
    FROM unnest(:lefts, :rights) AS p (left_id, right_id)
    LEFT JOIN relations r USING (left_id, right_id)
    LEFT JOIN decisions d USING (left_id, right_id)
    WHERE {_KIND}
""")
_EDGES_OF = with_lists(f"""
    SELECT left_id, right_id FROM {_RELATED} WHERE left_id = ANY(:books) AND {_KIND}
    UNION ALL
    SELECT left_id, right_id FROM {_RELATED} WHERE right_id = ANY(:books) AND {_KIND}
    UNION ALL
    SELECT d.left_id, d.right_id FROM {_NAMED} AND (d.left_id = ANY(:books) OR d.right_id = ANY(:books))
""")
_WITH_EDGES = with_lists(f"""
    SELECT book FROM unnest(:books) AS book
    WHERE EXISTS (SELECT FROM {_RELATED} WHERE left_id = book AND {_KIND})
    OR EXISTS (SELECT FROM {_RELATED} WHERE right_id = book AND {_KIND})
    OR EXISTS (SELECT FROM {_NAMED} AND book IN (d.left_id, d.right_id))
""")
_EDGES_IN_ORDER = with_lists(f"""
    SELECT left_id, right_id, CASE WHEN d.verdict IS NULL THEN r.confidence ELSE 1 END AS strength
    FROM {_RELATED} WHERE left_id = ANY(:books) AND {_KIND}
    UNION ALL
    SELECT d.left_id, d.right_id, 1 FROM {_NAMED} AND d.left_id = ANY(:books)
    ORDER BY strength DESC, left_id, right_id
""")
_NEVER_MATCHING = with_lists("""
    SELECT d.left_id, d.right_id
    FROM decisions d
    LEFT JOIN cluster_members l ON (l.by, l.book_id) = (:by, d.left_id)
    LEFT JOIN cluster_members r ON (r.by, r.book_id) = (:by, d.right_id)
    WHERE (d.verdict = 'rejected' OR d.kind = 'UNRELATED')
    AND coalesce(l.founder_id, d.left_id) = ANY(:founders)
    AND coalesce(r.founder_id, d.right_id) = ANY(:founders)
""")
