"""Entries: what the band index points to, as Postgres knows it.

The band index may be late, early or stale; only what is read here counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.errors import Unavailable, UnknownBook
from app.core.model import BookSummary, Entry
from app.core.recipe import Suite
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.queries import Queries, Query, as_array
from app.stores.postgres.rows import of_suite, select_briefs, to_brief
from app.stores.postgres.suites import RETIRED, SERVING
from app.stores.postgres.tables import books, decisions, relations, suites, tombstones
from app.stores.together import Together

PENDING_LIMIT = 10_000
"""Entries that wait for the band index and are compared straight from Postgres; beyond it lookups refuse."""


_ASKED_TOGETHER = 64
"""Lookups whose books are read with one query."""

_SETTLED_TOGETHER = 16
"""Lookups whose hits are settled with one query; each shows up to 1,000."""

_MOST_SUSPECTS = 1_000
"""More hits than this are held against all departures, of which there are few but after mass deletions."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryBook:
    """The book that a lookup is about."""

    entry: Entry
    pending: list[BookSummary]  # every entry that was not in the index yet


_NOBODY = np.zeros(0, dtype=np.uint64)


class _Question(NamedTuple):
    """What a lookup wants settled."""

    wanted: Sequence[int]
    suspects: NDArray[np.uint64]
    asked: UUID | None


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """What the catalogue has to say to hits of the band index."""

    summaries: dict[int, BookSummary]  # of those asked for, the current ones
    departed: NDArray[np.uint64]  # (n,), what has left of the suspects, perhaps more
    related: bool  # the book asked about was compared with others, or people have decided on it and others


class EntryStore:
    """The current entries of all books."""

    def __init__(self, engine: AsyncEngine, queries: Queries) -> None:
        self._engine = engine
        self._queries = queries
        self._asking: dict[tuple[Suite, bool], Together[UUID, QueryBook | None]] = {}
        self._settling: dict[Suite, Together[_Question, Settled]] = {}

    async def of_book(self, book_id: UUID, suite: Suite, *, with_sample: bool) -> QueryBook:
        """What lookups in a suite need to know of the book with this id, before they ask the index.

        The shingle sample is the largest part by far, and only needed to verify. Raises `UnknownBook`, and
        `Unavailable` as `pending` does.
        """
        kind = suite, with_sample
        if kind not in self._asking:
            self._asking[kind] = Together(partial(self._of_books, *kind), _ASKED_TOGETHER)
        asked = await self._asking[kind].ask(book_id)
        if asked is None:
            raise UnknownBook(book_id)
        return asked

    async def _of_books(
        self, suite: Suite, with_sample: bool, book_ids: Sequence[UUID]
    ) -> Sequence[QueryBook | None]:
        with postgres_outages():
            rows = await self._queries.rows(
                _OF_BOOKS[with_sample],
                book_ids=as_array(book_ids),
                most=PENDING_LIMIT + 1,
                **of_suite(suite),
            )
        pending = await self._briefs_of_pending([row for row in rows if row["id"] is None], suite)
        found = {
            row["id"]: QueryBook(to_brief(row, suite).entry, pending) for row in rows if row["id"] is not None
        }
        return [found.get(book_id) for book_id in book_ids]

    async def settled(
        self,
        wanted: Sequence[int],
        suspects: NDArray[np.uint64],
        suite: Suite,
        asked: UUID | None = None,
    ) -> Settled:
        """What the catalogue has to say to hits in a suite: what those wanted are, and which have left.

        `asked` is the book that the hits are near to, if it is stored. Raises `SuitesChanged` where lookups
        in the suite are not answered.
        """
        if suite not in self._settling:
            self._settling[suite] = Together(partial(self._settle, suite), _SETTLED_TOGETHER)
        return await self._settling[suite].ask(_Question(wanted, suspects, asked))

    async def _settle(self, suite: Suite, asked: Sequence[_Question]) -> Sequence[Settled]:
        suspects = np.concatenate([question.suspects for question in asked])
        all_suspected = suspects.size > _MOST_SUSPECTS
        with postgres_outages():
            rows = await self._queries.rows(
                _SETTLED[all_suspected],
                entry_ids=as_array({entry_id for question in asked for entry_id in question.wanted}),
                suspects=as_array([] if all_suspected else suspects.tolist()),
                asked=as_array(question.asked for question in asked if question.asked is not None),
                **of_suite(suite),
            )
        departed = _NOBODY
        found, related = dict[int, BookSummary](), set[UUID]()
        for row in rows:
            if row["entry_id"] is not None:
                found[row["entry_id"]] = to_brief(row, suite)
            elif row["title"] == _RELATED:
                related.add(row["id"])
            elif row["title"] == _TOMBSTONES:
                departed = np.frombuffer(row["bits"] or b"", dtype=">i8").astype(np.uint64)
        return [
            Settled(
                summaries={entry_id: found[entry_id] for entry_id in question.wanted if entry_id in found},
                departed=departed,
                related=question.asked in related,
            )
            for question in asked
        ]

    async def pending(self, suite: Suite) -> list[BookSummary]:
        """Every entry that is not in the index yet.

        Who looks for books asks this first, and the index afterwards: an entry that is indexed meanwhile is
        met twice, where the other order would miss it. Raises `Unavailable` where too many books are pending
        to compare them all.
        """
        with postgres_outages():
            rows = await self._queries.rows(_PENDING, most=PENDING_LIMIT + 1)
        return await self._briefs_of_pending(rows, suite)

    async def _briefs_of_pending(self, rows: Sequence[Mapping[str, Any]], suite: Suite) -> list[BookSummary]:
        """Those of the pending entries in these rows that are still current, indexed meanwhile or not."""
        if len(rows) > PENDING_LIMIT:
            raise Unavailable(
                f"More than {PENDING_LIMIT} books wait to be indexed, so an answer could be incomplete. "
                "Check that workers run and that Redis can be reached.",
                retry_after=10,
            )
        return await self.summaries([row["entry_id"] for row in rows], suite) if rows else []

    async def summaries(self, entry_ids: Sequence[int], suite: Suite) -> list[BookSummary]:
        """Those of the entries that are current, under a suite, in no order."""
        with postgres_outages():
            rows = await self._queries.rows(_FOUND, entry_ids=as_array(entry_ids), **of_suite(suite))
        return [to_brief(row, suite) for row in rows]

    async def current(self, entry_ids: Sequence[int]) -> NDArray[np.uint64]:
        """The ids of those entries that are current, ascending."""
        with postgres_outages():
            rows = await self._queries.rows(_CURRENT, entry_ids=as_array(entry_ids))
        return np.array([row["entry_id"] for row in rows], dtype=np.uint64)

    async def count(self) -> int:
        """How many books there are."""
        with postgres_outages():
            [row] = await self._queries.rows(_COUNT)
        return int(row["count"])

    async def count_pending(self) -> int:
        """How many books are not in the band index yet."""
        with postgres_outages():
            [row] = await self._queries.rows(_COUNT_PENDING)
        return int(row["count"])

    async def mark_indexed(self, entry_ids: Sequence[int]) -> None:
        """Note that the band index holds these entries."""
        with postgres_outages():
            await self._queries.rows(_MARK_INDEXED, entry_ids=as_array(entry_ids))

    async def forget_departures(self, older_than: float) -> None:
        """Forget entries that left the catalogue so many seconds ago; the index has lost them."""
        with postgres_outages():
            await self._queries.rows(_FORGET_TOMBSTONES, seconds=older_than)


_ANY_OF = books.c.entry_id == sa.any_(sa.bindparam("entry_ids", type_=ARRAY(sa.BigInteger)))
_MOST: sa.BindParameter[int] = sa.bindparam("most", type_=sa.BigInteger)


_BRIEFS = select_briefs()


def _lone(**given: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Rows like those of `select_briefs`, empty but for the columns given."""
    return sa.select(
        *(given.get(column.name, sa.null()).label(column.name) for column in _BRIEFS.selected_columns)
    )


# In order, Postgres walks the index of pending books and marks those that no longer are; a bitmap would meet
# them again until a vacuum.
_ALL_PENDING = (
    _lone(entry_id=books.c.entry_id)
    .where(books.c.indexed_at.is_(None))
    .order_by(books.c.entry_id)
    .limit(_MOST)
)
_PENDING = Query(_ALL_PENDING)
_OF_BOOKS = {
    with_sample: Query(
        sa.union_all(
            select_briefs(with_sample).where(
                books.c.id == sa.any_(sa.bindparam("book_ids", type_=ARRAY(sa.Uuid)))
            ),
            _ALL_PENDING,
        )
    )
    for with_sample in (False, True)
}
_FOUND = Query(select_briefs(with_sample=True).where(_ANY_OF))
_ANSWERING, _RELATED, _TOMBSTONES = "answering", "related", "departed"
"""What a row without an entry id tells, in place of a title: that lookups in the suite are answered, that the
book with this id has relations, or the entries that have left, packed."""
_ASKED = sa.func.unnest(sa.bindparam("asked", type_=ARRAY(sa.Uuid))).column_valued("asked")


def _related(column: sa.ColumnElement[UUID]) -> sa.ColumnElement[bool]:
    return (
        sa.select(column).where(column == _ASKED).limit(sa.literal_column("1")).scalar_subquery().is_not(None)
    )


# Packed, because thousands of rows would take Python longer than the rest of the lookup.
_TOMBSTONES_OF = _lone(
    title=sa.literal(_TOMBSTONES, sa.Text),
    bits=sa.func.string_agg(sa.func.int8send(tombstones.c.entry_id), sa.literal_column("''::bytea")),
)
_SUSPECTS = sa.bindparam("suspects", type_=ARRAY(sa.BigInteger))
_SETTLED = {
    all_suspected: Query(
        sa.union_all(
            _BRIEFS.where(_ANY_OF),
            _TOMBSTONES_OF if all_suspected else _DEPARTURES.where(tombstones.c.entry_id == sa.any_(_SUSPECTS)),
            _lone(title=sa.literal(_ANSWERING, sa.Text)).where(
                suites.c.fingerprint == sa.bindparam("fingerprint", type_=sa.Text),
                sa.or_(suites.c.state == SERVING, suites.c.state == RETIRED),
            ),
            _lone(title=sa.literal(_RELATED, sa.Text), id=_ASKED).where(
                sa.or_(
                    *(
                        _related(column)
                        for pairs in (relations, decisions)
                        for column in (pairs.c.left_id, pairs.c.right_id)
                    )
                )
            ),
        )
    )
    for all_suspected in (False, True)
}
_CURRENT = Query(sa.select(books.c.entry_id).where(_ANY_OF).order_by(books.c.entry_id))
_COUNT = Query(sa.select(sa.func.count().label("count")).select_from(books))
_COUNT_PENDING = Query(
    sa.select(sa.func.count().label("count")).select_from(books).where(books.c.indexed_at.is_(None))
)
_FORGET_TOMBSTONES = Query(
    sa.delete(tombstones).where(
        tombstones.c.deleted_at
        < sa.func.now() - sa.func.make_interval(0, 0, 0, 0, 0, 0, sa.bindparam("seconds", type_=sa.Double))
    )
)
_MARK_INDEXED = Query(
    sa.update(books).where(_ANY_OF, books.c.indexed_at.is_(None)).values(indexed_at=sa.func.now())
)


class SessionLock:
    """A lock that one process at a time holds; held by a session, so a crash frees it."""

    _KEY: int

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._connection: AsyncConnection | None = None

    async def __aenter__(self) -> bool:
        """Whether the lock could be had; False: another process holds it."""
        with postgres_outages():
            self._connection = await self._engine.connect()
            return bool(
                await self._connection.scalar(
                    sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": self._KEY}
                )
            )

    async def __aexit__(self, *_: object) -> None:
        # The session's end frees the lock whatever state the connection is in.
        if self._connection is not None:
            await self._connection.invalidate()
            await self._connection.close()


class ReconcileLock(SessionLock):
    """Lets one process at a time reconcile the band index."""

    _KEY = 7_236_502


class RecipesLock(SessionLock):
    """Lets one process at a time change which recipes are indexed."""

    _KEY = 7_236_503
