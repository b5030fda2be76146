"""Entries: what the band index points to, as Postgres knows it.

The band index may be late, early or stale; only what is read here counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.errors import Unavailable, UnknownBook
from app.core.model import BookSummary, Entry
from app.core.recipe import Suite
from app.stores.postgres.connections import SQL, Database
from app.stores.postgres.rows import select_summaries, suite_recipes, to_summary

PENDING_LIMIT = 10_000
"""Entries that wait for the band index and are compared straight from Postgres; beyond it lookups refuse."""

_MANY_HITS = 1_000
"""More hits than this are compared with all tombstones, of which there are few but after mass deletions."""

_WITH_IDS = "WHERE books.entry_id = ANY($entry_ids::bigint[])"

# In order, Postgres walks the index of pending books and marks those that no longer are; a bitmap would meet
# them again until a vacuum.
_PENDING = "ARRAY(SELECT entry_id FROM books WHERE indexed_at IS NULL ORDER BY entry_id LIMIT $limit)"
_READ_PENDING = SQL(f"SELECT {_PENDING} AS pending")
_READ_QUERY_BOOK = {
    with_sample: SQL(
        select_summaries(f"{_PENDING} AS pending", with_sample=with_sample) + " WHERE books.id = $book_id"
    )
    for with_sample in (False, True)
}
_READ_SUMMARIES = SQL(select_summaries(with_sample=True) + _WITH_IDS)
_READ_CURRENT_HITS = SQL(f"""
    SELECT state.*, shown.*
    FROM (
        SELECT
            EXISTS (SELECT FROM relations WHERE left_id = $book_id)
                OR EXISTS (SELECT FROM relations WHERE right_id = $book_id)
                OR EXISTS (SELECT FROM decisions WHERE left_id = $book_id)
                OR EXISTS (SELECT FROM decisions WHERE right_id = $book_id) AS related,
            ARRAY(SELECT entry_id FROM tombstones WHERE entry_id = ANY($hits::bigint[])) AS deleted
    ) AS state
    LEFT JOIN ({select_summaries()} {_WITH_IDS}) AS shown ON true
""")
_READ_TOMBSTONES = SQL("SELECT ARRAY(SELECT entry_id FROM tombstones) AS deleted")
_READ_CURRENT_IDS = SQL(f"SELECT entry_id FROM books {_WITH_IDS} ORDER BY entry_id")
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
    """The book that a lookup is about."""

    entry: Entry
    pending: list[BookSummary]  # every entry that was not in the index yet


@dataclass(frozen=True, slots=True, eq=False)
class CurrentHits:
    """The current hits of the band index, with their summaries."""

    summaries: dict[int, BookSummary]  # of the hits to be shown, those that are current, by entry id
    deleted: NDArray[np.uint64]  # (n,), the hits that have a tombstone, perhaps with other entries
    related: bool  # the query book was compared with others, or people have decided on it and others


class EntryStore:
    """The current entries of all books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_query_book(self, book_id: UUID, suite: Suite, *, with_sample: bool) -> QueryBook:
        """The book of a lookup in a suite, and the pending ones, to be read before the index.

        The shingle sample is the largest part by far, and only needed to verify. Raises `UnknownBook`, and
        `Unavailable` as `read_pending` does.
        """
        rows = await self._database.rows(
            _READ_QUERY_BOOK[with_sample], book_id=book_id, limit=PENDING_LIMIT + 1, **suite_recipes(suite)
        )
        if not rows:
            raise UnknownBook(book_id)
        [row] = rows
        return QueryBook(to_summary(row, suite).entry, await self._read_pending(row["pending"], suite))

    async def read_pending(self, suite: Suite) -> list[BookSummary]:
        """Every entry that is not in the index yet, to be read before the index.

        An entry that is indexed meanwhile is met twice, where the other order would miss it. Raises
        `Unavailable` where too many books are pending to compare them all.
        """
        [row] = await self._database.rows(_READ_PENDING, limit=PENDING_LIMIT + 1)
        return await self._read_pending(row["pending"], suite)

    async def _read_pending(self, entry_ids: Sequence[int], suite: Suite) -> list[BookSummary]:
        """Those of these entries that are still current, indexed meanwhile or not."""
        if len(entry_ids) > PENDING_LIMIT:
            raise Unavailable(
                f"More than {PENDING_LIMIT} books wait to be indexed, so an answer could be incomplete. "
                "Check that workers run and that Redis can be reached.",
                retry_after=10,
            )
        return await self.read_summaries(entry_ids, suite) if entry_ids else []

    async def read_current_hits(
        self, shown: Sequence[int], hits: NDArray[np.uint64], suite: Suite, book_id: UUID | None = None
    ) -> CurrentHits:
        """The current hits of a lookup in a suite; `shown` are the entries that its page shows.

        `book_id` is that of the query, if it is a stored book.
        """
        many = hits.size > _MANY_HITS
        rows = await self._database.rows(
            _READ_CURRENT_HITS,
            book_id=book_id,
            hits=[] if many else hits.tolist(),
            entry_ids=list(shown),
            **suite_recipes(suite),
        )
        [state] = await self._database.rows(_READ_TOMBSTONES) if many else rows[:1]
        return CurrentHits(
            summaries={row["entry_id"]: to_summary(row, suite) for row in rows if row["entry_id"]},
            deleted=np.array(state["deleted"], dtype=np.uint64),
            related=rows[0]["related"],
        )

    async def read_summaries(self, entry_ids: Sequence[int], suite: Suite) -> list[BookSummary]:
        """Those of the entries that are current, under a suite, in no order."""
        rows = await self._database.rows(_READ_SUMMARIES, entry_ids=list(entry_ids), **suite_recipes(suite))
        return [to_summary(row, suite) for row in rows]

    async def read_current_ids(self, entry_ids: Sequence[int]) -> NDArray[np.uint64]:
        """The ids of those entries that are current, ascending."""
        rows = await self._database.rows(_READ_CURRENT_IDS, entry_ids=list(entry_ids))
        return np.array([row["entry_id"] for row in rows], dtype=np.uint64)

    async def count(self) -> int:
        """The number of books."""
        [row] = await self._database.rows(_COUNT)
        return int(row["count"])

    async def count_roughly(self) -> int:
        """The number of books; above 100,000 Postgres's estimate, which its autovacuum corrects."""
        [row] = await self._database.rows(_COUNT_ROUGHLY)
        return int(row["count"])

    async def count_pending(self) -> int:
        """The number of books that are not in the band index yet."""
        [row] = await self._database.rows(_COUNT_PENDING)
        return int(row["count"])

    async def update_indexed(self, entry_ids: Sequence[int]) -> None:
        """Note that the band index holds these entries."""
        await self._database.rows(_UPDATE_INDEXED, entry_ids=list(entry_ids))

    async def delete_tombstones(self, older_than: float) -> None:
        """Delete tombstones of so many seconds ago; the index has lost their entries."""
        await self._database.rows(_DELETE_TOMBSTONES, seconds=older_than)
