"""Reading clusters, each from one snapshot of the catalogue."""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields
from math import inf
from typing import Literal
from uuid import UUID

from app.stores.postgres.connections import SQL, Connection, Database, rows
from app.stores.postgres.contents import StoredText, read_texts
from app.stores.postgres.pairs.relation_queries import read_relations
from bookprint_core.clusters.best_copy import KNOWN, Copy
from bookprint_core.clusters.clustering import KINDS, By, Edge, Link, Pair
from bookprint_core.relations.classification import Kind
from bookprint_core.relations.related import RelationSummary


@dataclass(frozen=True, slots=True)
class Member:
    """A book in a cluster."""

    book_id: UUID
    external_id: str | None
    title: str | None
    volume: str | None
    year: int | None
    page_count: int | None
    word_count: int


@dataclass(frozen=True, slots=True)
class ListedCluster:
    """A cluster in a list; figures are None if not measured yet, or if the cluster has too many books."""

    founder_id: UUID
    founder_title: str | None
    size: int
    measured: bool
    agreement: float | None
    kinds: Mapping[Kind, int] | None
    best_id: UUID | None
    best_title: str | None
    rank: float  # sort key in the requested order


@dataclass(frozen=True, slots=True)
class MeasuredCluster:
    """Figures of a cluster in the state that one transaction has written."""

    written_by: int
    agreement: float | None
    kinds: Mapping[Kind, int] | None  # None: too many books
    best: UUID


ClusterOrder = Literal["size", "agreement"]

MOST_SIZE = 2**31 - 1
"""Upper bound of the number of books of a cluster."""


@dataclass(frozen=True, slots=True)
class ClusterFilter:
    """The clusters to list."""

    least: int = 2  # number of books
    most: int = MOST_SIZE
    collection: str | None = None  # of at least one book of the cluster
    order: ClusterOrder = "size"  # largest first, or weakest agreement first
    after: tuple[float, UUID] | None = None  # rank and founder of the last cluster before the page


_FIRST = UUID(int=0)

_READ_FOUNDER = SQL("""
    SELECT coalesce(m.founder_id, b.id) AS founder_id
    FROM books b LEFT JOIN cluster_members m ON (m.by, m.book_id) = ($by, b.id)
    WHERE b.id = coalesce(
        (SELECT heir_id FROM cluster_heirs h WHERE (h.by, h.book_id) = ($by, $name::uuid)), $name
    )
""")
_READ_BOOK = SQL("SELECT id FROM books WHERE id = $book")
_MEMBERS = """
    (
        SELECT book_id AS id FROM cluster_members WHERE by = $by AND founder_id = $founder
        UNION SELECT $founder::uuid
    ) AS members JOIN books b USING (id)
"""
_LIST_COPIES = SQL(f"SELECT id AS book_id, {', '.join(KNOWN)} FROM {_MEMBERS}")
_LIST_MEMBERS = SQL(f"""
    SELECT id AS book_id, b.external_id, b.title, b.volume, b.year, b.page_count, b.word_count FROM {_MEMBERS}
    WHERE id > $after AND ($collection::text IS NULL OR b.collection = $collection) ORDER BY id LIMIT $limit
""")
_READ_AGREEMENT = SQL("""
    SELECT own.book_id, avg((r.signals ->> 'page_similarity')::float8) AS agreement
    FROM cluster_members own
    JOIN LATERAL (
        SELECT right_id AS other_id, signals FROM relations WHERE left_id = own.book_id
        UNION ALL
        SELECT left_id, signals FROM relations WHERE right_id = own.book_id
    ) r ON true
    JOIN cluster_members other
        ON (other.by, other.book_id, other.founder_id) = (own.by, r.other_id, own.founder_id)
    WHERE own.by = $by AND own.book_id = ANY($books::uuid[]) AND r.signals IS NOT NULL
    GROUP BY own.book_id
""")
_READ_FOUNDERS = SQL("""
    SELECT book_id, founder_id FROM cluster_members WHERE by = $by AND book_id = ANY($books::uuid[])
""")
_LIST_WITH_TEXT = SQL("""
    SELECT id FROM books JOIN texts USING (entry_id) WHERE id = ANY($books::uuid[])
""")
_LIST_UNMEASURED = SQL("""
    SELECT founder_id, written_by FROM clusters WHERE by = $by AND NOT measured
    ORDER BY founder_id LIMIT $limit
""")
# The figures are not stored if the cluster has changed since it was read.
_UPDATE_FIGURES = SQL("""
    UPDATE clusters SET measured = true, agreement = $agreement, kinds = $kinds, best_id = $best
    WHERE by = $by AND founder_id = $founder AND written_by = $written_by
""")
_COUNT_UNMEASURED = SQL("SELECT count(*) AS pending FROM clusters WHERE by = $by AND NOT measured")
# An array, so that the clusters of the collection are found once, whatever the planner's statistics are.
_IN_COLLECTION = """
    AND c.founder_id = ANY(ARRAY(
        SELECT DISTINCT m.founder_id FROM books b JOIN cluster_members m ON (m.by, m.book_id) = ($by, b.id)
        WHERE b.collection = $collection
    ))
"""
_LIST_CLUSTERS = {
    (order, in_collection): SQL(f"""
        SELECT c.*, c.{order}_rank AS rank, founder.title AS founder_title, best.title AS best_title
        FROM (
            SELECT * FROM clusters c
            WHERE by = $by AND size BETWEEN $least AND $most
                AND ({order}_rank, founder_id) > ($rank, $after::uuid)
                {_IN_COLLECTION if in_collection else ""}
            ORDER BY {order}_rank, founder_id LIMIT $limit
        ) AS c
        JOIN books founder ON founder.id = c.founder_id
        LEFT JOIN books best ON best.id = c.best_id
        ORDER BY c.{order}_rank, c.founder_id
    """)
    for order in ("size", "agreement")
    for in_collection in (False, True)
}


class Snapshot:
    """Reader of clusters in their state at one moment. A book without links is a cluster of one book."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read_founder(self, by: By, name: UUID) -> UUID | None:
        """Return the founder of a book's cluster, or of a deleted book's last cluster; None if unknown."""
        for row in await rows(self._connection, _READ_FOUNDER, by=by, name=name):
            founder: UUID = row["founder_id"]
            return founder
        return None

    async def read_founders(self, by: By, books: Collection[UUID]) -> dict[UUID, UUID]:
        """Return the founder of each book's cluster; a book without a cluster is its own founder."""
        return await read_founders(self._connection, by, books)

    async def has_book(self, book_id: UUID) -> bool:
        return bool(await rows(self._connection, _READ_BOOK, book=book_id))

    async def list_copies(self, by: By, founder: UUID) -> list[Copy]:
        """Return all members of a cluster, as `Copy` objects."""
        copies = await rows(self._connection, _LIST_COPIES, by=by, founder=founder)
        return [Copy(**row) for row in copies]

    async def list_links(self, by: By, founder: UUID) -> list[Link]:
        """Return all edges within a cluster: decided relations first, then by falling share."""
        links = await rows(self._connection, _LIST_LINKS, by=by, founder=founder, kinds=list(KINDS[by]))
        return [Link(row["left_id"], row["right_id"], row["kind"], row["share"]) for row in links]

    async def read_relations(self, books: Collection[UUID]) -> dict[Pair, RelationSummary]:
        """Return the effective relations between these books, by their pairs."""
        return await read_relations(self._connection, books)

    async def list_members(
        self, by: By, founder: UUID, after: UUID | None, limit: int, collection: str | None = None
    ) -> list[Member]:
        """Return at most `limit` members of a cluster (of a collection) after `after`, oldest first."""
        page = {"after": after or _FIRST, "limit": limit, "collection": collection}
        members = await rows(self._connection, _LIST_MEMBERS, by=by, founder=founder, **page)
        return [Member(**row) for row in members]

    async def read_agreement(self, by: By, books: Collection[UUID]) -> dict[UUID, float]:
        """Return the mean page similarity, 0 to 1, of each book to its relatives in its cluster.

        Books without a relative in their cluster are left out.
        """
        means = await rows(self._connection, _READ_AGREEMENT, by=by, books=list(books))
        return {row["book_id"]: row["agreement"] for row in means}

    async def list_with_text(self, books: Collection[UUID]) -> set[UUID]:
        """Return the books whose text is stored."""
        found = await rows(self._connection, _LIST_WITH_TEXT, books=list(books))
        return {row["id"] for row in found}

    async def read_texts(self, books: Collection[UUID]) -> dict[UUID, StoredText]:
        """Return the stored texts of the books."""
        return await read_texts(self._connection, books)

    async def list_unmeasured(self, by: By, limit: int) -> dict[UUID, int]:
        """Return some clusters to measure: the transaction of the last change, by founder."""
        found = await rows(self._connection, _LIST_UNMEASURED, by=by, limit=limit)
        return {row["founder_id"]: row["written_by"] for row in found}

    async def list_clusters(self, by: By, wanted: ClusterFilter, limit: int) -> list[ListedCluster]:
        """Return at most `limit` clusters of two books or more, in the wanted order."""
        statement = _LIST_CLUSTERS[wanted.order, wanted.collection is not None]
        values: dict[str, object] = {} if wanted.collection is None else {"collection": wanted.collection}
        after = wanted.after or (-inf, _FIRST)
        found = await rows(
            self._connection,
            statement,
            by=by,
            least=wanted.least,
            most=wanted.most,
            rank=after[0],
            after=after[1],
            limit=limit,
            **values,
        )
        return [
            ListedCluster(**{each.name: row[each.name] for each in fields(ListedCluster)}) for row in found
        ]

    async def count_unmeasured(self, by: By) -> int:
        [row] = await rows(self._connection, _COUNT_UNMEASURED, by=by)
        count: int = row["pending"]
        return count


class ClusterQueries:
    """Queries for clusters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        async with self._database.snapshot() as connection:
            yield Snapshot(connection)

    async def update_figures(self, by: By, founder: UUID, measured: MeasuredCluster) -> None:
        """Store the figures of a cluster, unless the cluster has changed since."""
        await self._database.rows(_UPDATE_FIGURES, by=by, founder=founder, **asdict(measured))


_READ_AT_ONCE = 10_000
"""Number of edges read at a time."""

_EFFECTIVE = "CASE d.verdict WHEN 'rejected' THEN NULL WHEN 'kind' THEN d.kind ELSE r.kind END"
_KIND = f"{_EFFECTIVE} = ANY($kinds::text[]) AND (r.link IS NOT NULL OR d.verdict IS NOT NULL)"
_RELATED = "relations r LEFT JOIN decisions d USING (left_id, right_id)"
_NAMED = """
    decisions d WHERE d.verdict = 'kind' AND d.kind = ANY($kinds::text[]) AND NOT EXISTS (
        SELECT FROM relations r WHERE (r.left_id, r.right_id) = (d.left_id, d.right_id)
    )
"""
"""Pairs for which a person named a kind and no relation is computed."""

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
_LIST_LINKS = SQL(f"""
    WITH members AS (SELECT book_id FROM cluster_members WHERE by = $by AND founder_id = $founder)
    SELECT left_id, right_id, {_EFFECTIVE} AS kind, r.link AS share, d.verdict IS NOT NULL AS decided
    FROM {_RELATED} WHERE left_id = ANY(ARRAY(SELECT * FROM members)) AND right_id IN (SELECT * FROM members)
        AND {_KIND}
    UNION ALL
    SELECT d.left_id, d.right_id, d.kind, NULL, true
    FROM {_NAMED} AND d.left_id = ANY(ARRAY(SELECT * FROM members)) AND d.right_id IN (SELECT * FROM members)
    ORDER BY decided DESC, share DESC NULLS LAST, left_id, right_id
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


async def read_founders(connection: Connection, by: By, books: Collection[UUID]) -> dict[UUID, UUID]:
    """Return the founder of each book's cluster; a book without a cluster is its own founder."""
    members = await rows(connection, _READ_FOUNDERS, by=by, books=list(books))
    return {book: book for book in books} | {row["book_id"]: row["founder_id"] for row in members}


async def read_joined(connection: Connection, by: By, pairs: Collection[Pair]) -> set[Pair]:
    """Return the pairs that are edges."""
    lefts, rights = zip(*pairs, strict=True)
    joined = await rows(
        connection, _READ_JOINED, lefts=list(lefts), rights=list(rights), kinds=list(KINDS[by])
    )
    return {(row["left_id"], row["right_id"]) for row in joined}


async def read_edges(connection: Connection, by: By, books: Iterable[UUID]) -> list[Pair]:
    """Return every edge at one of the books; an edge between two of them may occur twice."""
    edges = await rows(connection, _READ_EDGES, books=list(books), kinds=list(KINDS[by]))
    return [(row["left_id"], row["right_id"]) for row in edges]


async def read_connected(connection: Connection, by: By, books: Iterable[UUID]) -> set[UUID]:
    """Return those of the books that have an edge."""
    connected = await rows(connection, _READ_CONNECTED, books=list(books), kinds=list(KINDS[by]))
    return {row["book"] for row in connected}


async def read_edges_in_order(
    connection: Connection, by: By, books: Iterable[UUID]
) -> AsyncGenerator[list[Edge], None]:
    """Yield every edge whose older book is among the books, in the canonical order, in batches."""
    values = _READ_IN_ORDER.values({"books": list(books), "kinds": list(KINDS[by])})
    cursor = await connection.cursor(_READ_IN_ORDER.text, *values)
    while batch := await cursor.fetch(_READ_AT_ONCE):
        yield [Edge(row["left_id"], row["right_id"], row["strength"]) for row in batch]


async def read_never_matching(connection: Connection, by: By, founders: Collection[UUID]) -> list[Pair]:
    """Return the never-match pairs whose books are both in clusters with these founders."""
    pairs = await rows(connection, _READ_NEVER_MATCHING, by=by, founders=list(founders))
    return [(row["left_id"], row["right_id"]) for row in pairs]
