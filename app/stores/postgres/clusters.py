"""Clusters in Postgres, updated in the transactions that change relations and decisions.

The tables contain members of clusters of two books or more, borders between clusters that a never-match pair
separates, and heirs. After any order of changes, members and borders are the result of the rule in
`bookprint_core.clusters.clustering` for all edges and never-match pairs.

Transactions change clusters one after the other. Each transaction acquires one advisory lock, after all its
locks on relations and decisions, and then locks only rows of clusters. Therefore no deadlock can occur.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import UUID

from app.stores.postgres.changes import (
    ClusterMoves,
    insert_cluster_changes,
    insert_pair_changes,
    insert_withdrawals,
)
from app.stores.postgres.cluster_queries import (
    read_connected,
    read_edges,
    read_edges_in_order,
    read_founders,
    read_joined,
    read_never_matching,
)
from app.stores.postgres.connections import SQL, Connection, Row, rows
from app.stores.postgres.pairs.completeness import forget_completeness, mark_for_completeness
from bookprint_core.clusters.clustering import KINDS, By, Forest, Joining, Pair, Pieces, ordered

_FIRST_READ, _MOST_READ = 16, 1024
"""Numbers of books whose edges are read at once to check whether a cluster splits: initial, maximum."""


_LOCK = SQL("SELECT pg_advisory_xact_lock(1668052339)")
"""Lock of the one transaction that changes clusters; the number is "clus" in ASCII."""

_TOLD = {
    "relations": insert_pair_changes("relation.gone", "deleted", "kind"),
    "decisions": insert_withdrawals("deleted"),
}
# In ascending order, like all transactions that write several pairs.
_DELETE = [
    SQL(f"""
        WITH held AS MATERIALIZED (
            SELECT left_id, right_id FROM {table} WHERE left_id = $book OR right_id = $book
            ORDER BY left_id, right_id FOR UPDATE
        ),
        deleted AS (
            DELETE FROM {table} t USING held WHERE (t.left_id, t.right_id) = (held.left_id, held.right_id)
            RETURNING t.left_id, t.right_id, t.kind
        ),
        told AS ({told})
        SELECT left_id, right_id FROM deleted
    """)
    for table, told in _TOLD.items()
]
_MEMBERS = SQL("""
    SELECT book_id, founder_id FROM cluster_members
    WHERE by = $by AND founder_id = ANY($founders::uuid[])
""")
_OLDEST_BUT = SQL("""
    SELECT book_id FROM cluster_members
    WHERE by = $by AND founder_id = $founder AND book_id <> ALL($books::uuid[])
    ORDER BY book_id LIMIT 2
""")
# Statements that write members return each book's founder before and after; without a cluster, the book
# itself.
_REMOVE = SQL("""
    DELETE FROM cluster_members WHERE by = $by AND book_id = ANY($books::uuid[])
    RETURNING book_id, founder_id AS before, book_id AS after
""")
_RENAME = SQL("""
    UPDATE cluster_members m SET founder_id = given.oldest
    FROM unnest($founders::uuid[], $oldest::uuid[]) AS given (founder, oldest)
    WHERE m.by = $by AND m.founder_id = given.founder
    RETURNING m.book_id, given.founder AS before, m.founder_id AS after
""")
_RENAME_BUT = SQL("""
    UPDATE cluster_members SET founder_id = $oldest
    WHERE by = $by AND founder_id = $founder AND book_id <> ALL($books::uuid[])
    RETURNING book_id, $founder::uuid AS before, founder_id AS after
""")
_PUT = SQL("""
    WITH old AS MATERIALIZED (
        SELECT book_id, founder_id FROM cluster_members WHERE by = $by AND book_id = ANY($books::uuid[])
    ),
    put AS (
        INSERT INTO cluster_members (by, book_id, founder_id)
        SELECT $by, * FROM unnest($books::uuid[], $founders::uuid[])
        ON CONFLICT (by, book_id) DO UPDATE SET founder_id = excluded.founder_id
        RETURNING book_id, founder_id
    )
    SELECT book_id, coalesce(old.founder_id, book_id) AS before, put.founder_id AS after
    FROM put LEFT JOIN old USING (book_id)
""")
_BORDERS = SQL("""
    SELECT left_id, right_id FROM cluster_borders
    WHERE by = $by AND (left_id = ANY($founders::uuid[]) OR right_id = ANY($founders::uuid[]))
""")
_DELETE_BORDERS = SQL("""
    DELETE FROM cluster_borders
    WHERE by = $by AND (left_id = ANY($founders::uuid[]) OR right_id = ANY($founders::uuid[]))
""")
_PUT_BORDERS = SQL("""
    INSERT INTO cluster_borders (by, left_id, right_id)
    SELECT $by, * FROM unnest($lefts::uuid[], $rights::uuid[])
    ON CONFLICT DO NOTHING
""")
_COUNT = SQL("""
    WITH counted AS MATERIALIZED (
        SELECT founder_id, (
            SELECT count(*) FROM cluster_members m WHERE (m.by, m.founder_id) = ($by, given.founder_id)
        ) AS size
        FROM unnest($founders::uuid[]) AS given (founder_id)
    ),
    gone AS (
        DELETE FROM clusters c USING counted
        WHERE (c.by, c.founder_id) = ($by, counted.founder_id) AND counted.size = 0
    )
    INSERT INTO clusters (by, founder_id, size)
    SELECT $by, founder_id, size FROM counted WHERE size > 0 ORDER BY founder_id
    ON CONFLICT (by, founder_id) DO UPDATE
    SET size = excluded.size, written_by = excluded.written_by, measured = false
""")
_HEIR = SQL("""
    SELECT m.book_id FROM cluster_members m JOIN cluster_members own USING (by, founder_id)
    WHERE by = $by AND own.book_id = $book AND m.book_id <> $book ORDER BY m.book_id LIMIT 1
""")
_INHERIT = SQL("INSERT INTO cluster_heirs (by, book_id, heir_id) VALUES ($by, $book, $heir)")
_PASS_ON = SQL("UPDATE cluster_heirs SET heir_id = $heir WHERE by = $by AND heir_id = $book")
_DISINHERIT = SQL("DELETE FROM cluster_heirs WHERE by = $by AND heir_id = $book")


async def update_clusters(
    connection: Connection, pairs: Collection[Pair], changed: Collection[UUID] = ()
) -> None:
    """Update the clusters for the present relations and decisions of these pairs.

    Must be called last in the transaction that changed relations or decisions of the pairs, or pages of
    `changed` books. The older book of each pair is on the left. All these books are marked for completeness.
    """
    if not pairs and not changed:
        return
    await rows(connection, _LOCK)
    for by in KINDS if pairs else ():
        await _Change(connection, by).apply(pairs)
    await mark_for_completeness(connection, {book for pair in pairs for book in pair}, changed)


async def delete_from_clusters(connection: Connection, book_id: UUID) -> None:
    """Delete the relations of a book and the decisions on it, and remove it from its clusters.

    Must be called in the transaction that deletes the book, after locking the book's row.
    """
    pairs: set[Pair] = set()
    for delete in _DELETE:
        deleted = await rows(connection, delete, book=book_id)
        pairs.update((row["left_id"], row["right_id"]) for row in deleted)
    await rows(connection, _LOCK)
    for by in KINDS:
        await _leave_heir(connection, by, book_id)
        if pairs:
            await _Change(connection, by).apply(pairs, deleted=book_id)
    await forget_completeness(connection, book_id)
    await mark_for_completeness(connection, {book for pair in pairs for book in pair if book != book_id})


@dataclass(slots=True)
class _Group:
    """Clusters that edges now join, and other changes of these clusters."""

    clusters: set[UUID] = field(default_factory=set)  # by their founders
    ends: set[UUID] = field(default_factory=set)  # books that lost an edge within one of the clusters
    unclear: bool = False  # the clusters must be computed again


class _Change:
    """One change of the clusters of one kind."""

    def __init__(self, connection: Connection, by: By) -> None:
        self._connection = connection
        self._by = by
        self._moves = ClusterMoves()
        self._touched: set[UUID] = set()  # founders of the clusters that contain the pairs

    async def apply(self, pairs: Collection[Pair], deleted: UUID | None = None) -> None:
        """Update the clusters for these pairs; `deleted` is a book that the transaction will delete."""
        groups = await self._groups(pairs)
        region = await self._region(groups)
        clear = [group for group in groups if not group.clusters & region]
        await self._merge({founder: min(group.clusters) for group in clear for founder in group.clusters})
        for group in clear:
            if group.ends:
                await self._split(min(group.clusters), group.ends)
        if region:
            await self._compute(region)
        await self._rows(_COUNT, founders=list(self._touched | self._moves.founders))
        await insert_cluster_changes(self._connection, self._by, self._moves, deleted)

    async def _groups(self, pairs: Collection[Pair]) -> list[_Group]:
        """Group the clusters that the changed pairs affect, by the rule in `bookprint_core.clusters`."""
        edges = await read_joined(self._connection, self._by, pairs)
        founders = await read_founders(self._connection, self._by, {book for pair in pairs for book in pair})
        self._touched |= set(founders.values())
        bordering = await self._borders(set(founders.values()))
        bordered = {founder for border in bordering for founder in border}
        forest, unclear = Forest(), set()
        ends: dict[UUID, set[UUID]] = defaultdict(set)
        touched: set[UUID] = set()
        for pair in pairs:
            left, right = (founders[book] for book in pair)
            if left == right:
                if pair not in edges:
                    touched.add(left)
                    ends[left].update(pair)
                elif left in bordered:
                    touched.add(left)
                    unclear.add(left)
            elif pair in edges:
                touched.update((left, right))
                forest.join(left, right)
            elif ordered(left, right) in bordering:
                touched.update((left, right))
                unclear.add(left)
        groups: dict[UUID, _Group] = defaultdict(_Group)
        for founder in touched:
            group = groups[forest.find(founder)]
            group.clusters.add(founder)
            group.ends |= ends[founder]
            group.unclear |= founder in unclear
        for group in groups.values():
            group.unclear |= bool(group.ends) and bool(group.clusters & bordered)
        apart = await read_never_matching(self._connection, self._by, touched) if touched else []
        kept_apart = {book for pair in apart for book in pair}
        home = await read_founders(self._connection, self._by, kept_apart) if apart else {}
        for pair in apart:
            left, right = (forest.find(home[book]) for book in pair)
            groups[left].unclear |= left == right
        return list(groups.values())

    async def _region(self, groups: Iterable[_Group]) -> set[UUID]:
        """Return the founders of all clusters that must be computed together."""
        region = {founder for group in groups if group.unclear for founder in group.clusters}
        while region:
            size = len(region)
            region |= {founder for border in await self._borders(region) for founder in border}
            for group in groups:
                if group.clusters & region:
                    region |= group.clusters
            if len(region) == size:
                break
        return region

    async def _compute(self, region: set[UUID]) -> None:
        members = await self._rows(_MEMBERS, founders=list(region))
        old: dict[UUID, UUID] = {row["book_id"]: row["founder_id"] for row in members}
        books = await read_connected(self._connection, self._by, old.keys() | region)
        joining = Joining(await read_never_matching(self._connection, self._by, region))
        async with aclosing(read_edges_in_order(self._connection, self._by, books)) as parts:
            async for edges in parts:
                joining.take(edges)
                if joining.is_final(books):
                    break
        new = joining.clustering()
        await self._remove(old.keys() - new.founders.keys())
        await self._put({book: home for book, home in new.founders.items() if old.get(book) != home})
        await self._rows(_DELETE_BORDERS, founders=list(region))
        await self._put_borders(new.borders)

    async def _merge(self, oldest: Mapping[UUID, UUID]) -> None:
        """Merge each cluster into the oldest cluster that edges join it with."""
        renamed = {founder: home for founder, home in oldest.items() if founder != home}
        if not renamed:
            return
        homes = list(renamed.values())
        self._moves.note(await self._rows(_RENAME, founders=list(renamed), oldest=homes))
        await self._put(renamed | dict(zip(homes, homes, strict=True)))
        bordering = await self._borders(renamed)
        if bordering:
            await self._rows(_DELETE_BORDERS, founders=list(renamed))
            moved = ((renamed.get(left, left), renamed.get(right, right)) for left, right in bordering)
            await self._put_borders({ordered(left, right) for left, right in moved if left != right})

    async def _split(self, founder: UUID, ends: set[UUID]) -> None:
        """Split a cluster without borders: remove the pieces that no edge joins with the rest."""
        pieces, most = Pieces(ends), _FIRST_READ
        while books := pieces.to_read(most):
            pieces.read(books, await read_edges(self._connection, self._by, books))
            most = min(2 * most, _MOST_READ)
        complete = pieces.complete()
        if not complete:
            return
        taken = [book for piece in complete for book in piece]
        rest = [row["book_id"] for row in await self._rows(_OLDEST_BUT, founder=founder, books=taken)]
        if rest[0] != founder:
            moved = await self._rows(_RENAME_BUT, founder=founder, books=taken, oldest=rest[0])
            self._moves.note(moved)
        await self._put({book: min(piece) for piece in complete for book in piece})
        alone = [book for piece in complete if len(piece) == 1 for book in piece]
        await self._remove(alone if len(rest) > 1 else [*alone, *rest])

    async def _borders(self, founders: Collection[UUID]) -> set[Pair]:
        """Return the borders of the clusters with these founders."""
        borders = await self._rows(_BORDERS, founders=list(founders))
        return {(row["left_id"], row["right_id"]) for row in borders}

    async def _put(self, founders: Mapping[UUID, UUID]) -> None:
        if founders:
            put = await self._rows(_PUT, books=list(founders), founders=list(founders.values()))
            self._moves.note(put)

    async def _remove(self, books: Collection[UUID]) -> None:
        if books:
            self._moves.note(await self._rows(_REMOVE, books=list(books)))

    async def _put_borders(self, pairs: Collection[Pair]) -> None:
        if pairs:
            lefts, rights = zip(*pairs, strict=True)
            await self._rows(_PUT_BORDERS, lefts=list(lefts), rights=list(rights))

    async def _rows(self, statement: SQL, **values: object) -> list[Row]:
        return await rows(self._connection, statement, by=self._by, **values)


async def _leave_heir(connection: Connection, by: By, book_id: UUID) -> None:
    """Make the oldest other member the heir of a deleted book and of the books whose heir it was."""
    heirs = await rows(connection, _HEIR, by=by, book=book_id)
    if not heirs:
        await rows(connection, _DISINHERIT, by=by, book=book_id)
        return
    heir = heirs[0]["book_id"]
    await rows(connection, _PASS_ON, by=by, book=book_id, heir=heir)
    await rows(connection, _INHERIT, by=by, book=book_id, heir=heir)
