"""Entries as Postgres stores them; the band index refers to entries.

The band index may be ahead of the catalogue or behind it; only the entries read here count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.stores.postgres.connections import SQL, Database, Row, rows
from app.stores.postgres.pairs.relation_queries import effective_relation_in
from app.stores.postgres.rows import select_summaries, to_summary
from app.stores.postgres.signatures import VALUES, sent_numbers
from bookprint_core.errors import Unavailable, UnknownBook
from bookprint_core.model import BookSummary, Entry
from bookprint_core.recipe import DEFAULT_MINHASH
from bookprint_core.relations.related import RelationSummary

PENDING_LIMIT = 10_000
"""Maximum number of pending entries that lookups compare; with more, lookups are refused."""

FEW_MEMBERS = 2_000
"""Maximum number of entries of a collection that are read at once; else hits are looked up one by one."""

_MANY_HITS = 1_000
"""Number of hits above which all tombstones are read; these are few except after mass deletions."""

_WITH_IDS = "WHERE books.entry_id = ANY($entry_ids::bigint[])"

# ORDER BY makes Postgres scan the index of pending books and mark dead entries; a bitmap scan would read
# these again until a vacuum.
_PENDING = "ARRAY(SELECT entry_id FROM books WHERE indexed_at IS NULL ORDER BY entry_id LIMIT $limit)"
_MEMBERS = """(
    SELECT string_agg(int8send(entry_id), '')
    FROM (SELECT entry_id FROM books WHERE collection = $collection LIMIT $most) AS members
) AS members"""
_READ_PENDING = {
    False: SQL(f"SELECT {_PENDING} AS pending"),
    True: SQL(f"SELECT {_PENDING} AS pending, {_MEMBERS}"),
}
_READ_QUERY_BOOK = {
    (with_sample, with_members): SQL(
        select_summaries(
            f"{_PENDING} AS pending", *([_MEMBERS] if with_members else []), with_sample=with_sample
        )
        + " WHERE books.id = $book_id"
    )
    for with_sample in (False, True)
    for with_members in (False, True)
}
_READ_SUMMARIES = SQL(select_summaries(with_sample=True) + _WITH_IDS)
_CHOSEN = "chosen JOIN LATERAL (SELECT * FROM books WHERE entry_id = chosen.entry_id LIMIT 1) books ON true"
_WITH_QUERY = "WHERE left_id = least($book_id, hit.id) AND right_id = greatest($book_id, hit.id) LIMIT 1"
# Each hit is looked up separately, because the index of collections would read all books of a collection.
# Relations are returned in an array, because a join without a condition compares all pairs of rows.
_READ_HITS = SQL(f"""
    WITH hit AS MATERIALIZED (
        SELECT book.id, entry_id, place
        FROM unnest($hits::bigint[]) WITH ORDINALITY AS named (entry_id, place)
        JOIN LATERAL (
            SELECT id, collection FROM books WHERE books.entry_id = named.entry_id LIMIT 1
        ) AS book ON $collection::text IS NULL OR book.collection = $collection
    ),
    chosen AS (
        (
            SELECT entry_id, false AS far FROM hit
            WHERE place > $start AND place <= $near ORDER BY place LIMIT $limit
        )
        UNION ALL
        (SELECT entry_id, true AS far FROM hit WHERE place > $near ORDER BY place LIMIT $most)
    )
    SELECT state.*, shown.*
    FROM (
        SELECT
            ARRAY(SELECT entry_id FROM hit) AS hits,
            CASE WHEN $many THEN ARRAY(SELECT entry_id FROM tombstones) ELSE
                ARRAY(SELECT entry_id FROM tombstones WHERE entry_id = ANY($others::bigint[]))
            END AS deleted,
            ARRAY(
                SELECT (entry_id, hit.id > $book_id, relation.*, decision.*) FROM hit
                LEFT JOIN LATERAL (
                    SELECT kind, direction, confidence FROM relations {_WITH_QUERY}
                ) AS relation ON true
                LEFT JOIN LATERAL (SELECT verdict, kind FROM decisions {_WITH_QUERY}) AS decision ON true
                WHERE relation.kind IS NOT NULL OR verdict IS NOT NULL
            ) AS relations
    ) AS state
    FULL JOIN ({select_summaries(with_sample=True, source=_CHOSEN, sampled="chosen.far")}) AS shown ON false
""")
_RELATION = ("is_left", "kind", "direction", "confidence", "verdict", "decided_kind")
_READ_MEMBERS = SQL(f"SELECT {_MEMBERS}")
_READ_MINHASHES = SQL(f"""
    SELECT string_agg(int8send(entry_id), '') AS entries, string_agg(data, '') AS data
    FROM signatures WHERE recipe = '{DEFAULT_MINHASH}' AND entry_id = ANY($entry_ids::bigint[])
""")
_COUNT = SQL("SELECT count(*) FROM books")
_COUNT_ROUGHLY = SQL("""
    SELECT CASE WHEN reltuples > 100000 THEN reltuples ELSE (SELECT count(*) FROM books) END AS count
    FROM pg_class WHERE oid = CAST('books' AS regclass)
""")
_COUNT_PENDING = SQL("SELECT count(*) FROM books WHERE indexed_at IS NULL")
_UPDATE_INDEXED = SQL(f"UPDATE books SET indexed_at = now() {_WITH_IDS} AND indexed_at IS NULL")
_DELETE_TOMBSTONES = SQL("DELETE FROM tombstones WHERE deleted_at < now() - make_interval(secs => $seconds)")


@dataclass(frozen=True, slots=True, eq=False)
class QueryBook:
    """The query book of a lookup, with pending books and a collection."""

    entry: Entry
    pending: list[BookSummary]  # all entries that were not in the index yet
    members: NDArray[np.uint64] | None = None  # entries of the collection, ascending; None: too many


@dataclass(frozen=True, slots=True, eq=False)
class CurrentHits:
    """The current hits of the band index, with their relations and summaries from Postgres."""

    entry_ids: NDArray[np.uint64]  # (n,), current and in the collection, in no order
    deleted: NDArray[np.uint64]  # (n,), other hits that are not current, perhaps with further entries
    relations: dict[int, RelationSummary]  # of the query book with current hits, by entry
    summaries: list[BookSummary]  # near hits without samples, far hits with samples


class EntryStore:
    """Store of the current entries of all books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_query_book(
        self, book_id: UUID, *, with_sample: bool, collection: str | None = None
    ) -> QueryBook:
        """Return the book of a lookup, the pending books, and the entries of a collection.

        Must be called before reading the index: a book that is indexed meanwhile is then read twice, never
        missed. The sample is by far the largest part, and only verification needs it. Raises `UnknownBook`,
        and `Unavailable` if too many books are pending.
        """
        statement = _READ_QUERY_BOOK[with_sample, collection is not None]
        rows = await self._database.rows(statement, book_id=book_id, **_limits(collection))
        if not rows:
            raise UnknownBook(book_id)
        return await self._query_book(to_summary(rows[0]).entry, rows[0], collection)

    async def read_pending(self, query: Entry, collection: str | None = None) -> QueryBook:
        """Return the pending books and the entries of a collection, for a query that is not stored."""
        statement = _READ_PENDING[collection is not None]
        [row] = await self._database.rows(statement, **_limits(collection))
        return await self._query_book(query, row, collection)

    async def _query_book(self, query: Entry, row: Row, collection: str | None) -> QueryBook:
        pending, members = row["pending"], None
        if len(pending) > PENDING_LIMIT:
            raise Unavailable(
                f"More than {PENDING_LIMIT} books wait to be indexed, so an answer could be incomplete. "
                "Check that workers run and that Redis can be reached.",
                retry_after=10,
            )
        if collection is not None:
            members = _entry_ids(row["members"])
            members = members if members.size <= FEW_MEMBERS else None
        return QueryBook(query, await self.read_summaries(pending) if pending else [], members)

    async def read_hits(
        self,
        near: NDArray[np.uint64],
        far: NDArray[np.uint64],
        start: int = 0,
        limit: int | None = None,
        most: int | None = None,
        *,
        others: NDArray[np.uint64] | None = None,
        book_id: UUID | None = None,
        collection: str | None = None,
    ) -> CurrentHits:
        """Return the hits that are current and in the collection, if a collection is given.

        Both arrays are ordered, nearest first. Summaries are returned for `limit` near hits after the first
        `start`, and for the first `most` far hits. `others` are only compared with the deleted entries.
        """
        many = others is not None and others.size > _MANY_HITS
        rows = await self._database.rows(
            _READ_HITS,
            hits=[*near.tolist(), *far.tolist()],
            near=near.size,
            start=start,
            limit=limit,
            most=most,
            others=[] if many or others is None else others.tolist(),
            many=many,
            book_id=book_id,
            collection=collection,
        )
        [state] = [row for row in rows if row["hits"] is not None]
        relations = {
            entry_id: effective_relation_in(dict(zip(_RELATION, relation, strict=True)))
            for entry_id, *relation in state["relations"]
        }
        return CurrentHits(
            entry_ids=np.array(state["hits"], dtype=np.uint64),
            deleted=np.array(state["deleted"], dtype=np.uint64),
            relations={entry_id: relation for entry_id, relation in relations.items() if relation},
            summaries=[to_summary(row) for row in rows if row["entry_id"]],
        )

    async def read_members(self, collection: str) -> NDArray[np.uint64]:
        """Return all entries of a collection, ascending."""
        [row] = await self._database.rows(_READ_MEMBERS, collection=collection, most=None)
        return _entry_ids(row["members"])

    async def read_summaries(self, entry_ids: Sequence[int]) -> list[BookSummary]:
        """Return the summaries of the current entries, in no order."""
        rows = await self._database.rows(_READ_SUMMARIES, entry_ids=list(entry_ids))
        return [to_summary(row) for row in rows]

    async def read_minhash_values(
        self, entry_ids: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Return the entries with a MinHash, and the values: (n,) and (n, permutations)."""
        [row] = await self._database.rows(_READ_MINHASHES, entry_ids=entry_ids.tolist())
        values = np.frombuffer(row["data"] or b"", dtype="<u4").reshape(-1, VALUES)
        return sent_numbers(row["entries"]).astype(np.uint64), values

    async def count(self) -> int:
        [row] = await self._database.rows(_COUNT)
        return int(row["count"])

    async def count_roughly(self) -> int:
        """Return the number of books; above 100,000, an estimate that Postgres's autovacuum updates."""
        [row] = await self._database.rows(_COUNT_ROUGHLY)
        return int(row["count"])

    async def count_pending(self) -> int:
        """Return the number of books that are not in the band index yet."""
        [row] = await self._database.rows(_COUNT_PENDING)
        return int(row["count"])

    async def update_indexed(self, entry_ids: Sequence[int]) -> None:
        """Mark these entries as indexed."""
        await self._database.rows(_UPDATE_INDEXED, entry_ids=list(entry_ids))

    async def delete_tombstones(self, older_than: float) -> None:
        """Delete tombstones older than `older_than` seconds; their entries are no longer in the index."""
        async with self._database.session() as connection:  # there may be many
            await rows(connection, _DELETE_TOMBSTONES, seconds=older_than)


def _limits(collection: str | None) -> dict[str, object]:
    """Return the parameters of the query that precedes the index."""
    return {"limit": PENDING_LIMIT + 1, "collection": collection, "most": FEW_MEMBERS + 1}


def _entry_ids(sent: bytes | None) -> NDArray[np.uint64]:
    return np.sort(sent_numbers(sent)).astype(np.uint64)
