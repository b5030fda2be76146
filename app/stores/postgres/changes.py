"""The feed of changes, numbered in the order of their commits, without gaps.

Changes are numbered after their commit, in batches, each after all earlier positions. The begin of a
transaction does not matter. A reader that continues after a position therefore never misses a change that is
committed later.
"""

from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.clusters.clustering import By
from bookprint_core.model import Book, Fingerprint
from bookprint_core.signatures import identifier

ChangeType = Literal[
    "book.created",
    "book.changed",
    "book.content_replaced",
    "book.deleted",
    "relation.found",
    "relation.gone",
    "relation.decided",
    "cluster.changed",
]


@dataclass(frozen=True, slots=True)
class Change:
    """One item of the feed of changes."""

    position: int  # from 1, in the order of commits, without gaps
    at: datetime  # later than at the position before
    type: ChangeType
    book_id: UUID  # the oldest book of a cluster
    other_id: UUID | None  # the second book of a relation
    data: Mapping[str, Any]  # depends on the type

    @property
    def cursor(self) -> str:
        """The cursor with which a reader continues after this change."""
        return cursor_of(self.position)


CURSOR_MARK = b"feed"


def cursor_of(position: int) -> str:
    """Return the cursor with which a reader continues after a position."""
    return urlsafe_b64encode(CURSOR_MARK + position.to_bytes(8, "big")).decode()


WINDOW = 10_000
"""Number of positions that one statement searches for changes of certain types."""

_WINDOW_OF_COLLECTION = 1_000
"""Number of positions that one statement searches for changes of a collection."""

_AT_ONCE = 10_000
"""Maximum number of changes numbered or deleted in one transaction."""

_LOCK = SQL("SELECT pg_advisory_xact_lock(1667785070)")
"""Lock of the one transaction that numbers changes; the number is "chan" in ASCII."""

# The snapshot of this statement begins after locking, so it contains all earlier positions. Each time is
# later than the time before it, whatever the clocks of the writing transactions showed.
_NUMBER = SQL("""
    WITH last AS (SELECT position, at FROM changes ORDER BY position DESC LIMIT 1),
    taken AS (
        DELETE FROM unnumbered_changes
        WHERE sequence IN (SELECT sequence FROM unnumbered_changes ORDER BY sequence LIMIT $limit)
        RETURNING *
    ),
    placed AS (
        SELECT *, row_number() OVER (ORDER BY sequence) AS place FROM taken
    ),
    timed AS (
        SELECT *, interval '1 microsecond' * place AS after,
            max(at - interval '1 microsecond' * place) OVER (ORDER BY place) AS earliest
        FROM placed
    )
    INSERT INTO changes (position, at, type, book_id, other_id, data)
    SELECT coalesce(last.position, 0) + place, greatest(last.at, earliest) + after,
        type, book_id, other_id, data
    FROM timed LEFT JOIN last ON true
""")
_BOUNDS = """
    SELECT
        coalesce((SELECT position FROM changes ORDER BY position LIMIT 1), 1) AS oldest,
        coalesce((SELECT position FROM changes ORDER BY position DESC LIMIT 1), 0) AS newest,
        EXISTS (SELECT FROM unnumbered_changes) AS unnumbered
"""
_READ_BOUNDS = SQL(_BOUNDS)
# Condition on the collection of a book at its change; for pairs and clusters, on the present collections.
_CONCERNS = """
    CASE WHEN type LIKE 'book.%' THEN $collection IN (data ->> 'collection', data ->> 'former_collection')
    ELSE EXISTS (
        SELECT FROM books WHERE collection = $collection AND id = ANY(
            ARRAY[book_id, other_id] || CASE WHEN type = 'cluster.changed' THEN ARRAY(
                SELECT jsonb_array_elements_text((data -> 'joined') || (data -> 'left'))::uuid
            ) END
        )
    ) END
"""
_READ = SQL(f"""
    WITH kept AS ({_BOUNDS})
    SELECT kept.*, change.*
    FROM kept LEFT JOIN LATERAL (
        SELECT position, at, type, book_id, other_id, data FROM changes
        WHERE position > coalesce($after, oldest - 1) AND position <= coalesce($after, oldest - 1) + $window
            AND ($types::text[] IS NULL OR type = ANY($types::text[]))
            AND ($collection::text IS NULL OR {_CONCERNS})
        ORDER BY position LIMIT $limit
    ) AS change ON true
    ORDER BY change.position
""")
# The newest change is never deleted, because the next position follows it.
_DELETE = SQL("""
    WITH old AS (SELECT position, at FROM changes ORDER BY position LIMIT $limit),
    deleted AS (
        DELETE FROM changes USING old
        WHERE changes.position = old.position AND old.at < now() - $kept_for::interval
            AND old.position < (SELECT position FROM changes ORDER BY position DESC LIMIT 1)
        RETURNING changes.position
    )
    SELECT count(*) FROM deleted
""")


@dataclass(frozen=True, slots=True)
class FeedBounds:
    """The bounds of the stored positions."""

    oldest: int
    newest: int  # oldest - 1: no change yet
    unnumbered: bool  # some committed changes are not numbered yet


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page of the feed."""

    changes: Sequence[Change]  # oldest first
    reached: int  # the page contains all wanted changes up to this position
    bounds: FeedBounds


class ChangeFeed:
    """Reads, numbers and deletes changes in Postgres."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def update_numbers(self) -> None:
        """Number committed changes, a limited number at a time."""
        async with self._database.transaction() as connection:
            await rows(connection, _LOCK)
            await rows(connection, _NUMBER, limit=_AT_ONCE)

    async def read(
        self,
        after: int | None,
        limit: int,
        types: Collection[ChangeType] | None = None,
        collection: str | None = None,
    ) -> FeedPage:
        """Return at most `limit` changes of these types after a position; None: from the oldest change.

        With a `collection`, returns only changes of its books.
        """
        window = WINDOW if collection is None else _WINDOW_OF_COLLECTION
        found = await self._database.rows(
            _READ,
            after=after,
            window=window,
            limit=limit,
            types=None if types is None else list(types),
            collection=collection,
        )
        bounds = _bounds(found[0])
        changes = [
            Change(row["position"], row["at"], row["type"], row["book_id"], row["other_id"], row["data"])
            for row in found
            if row["position"] is not None
        ]
        start = bounds.oldest - 1 if after is None else after
        reached = changes[-1].position if len(changes) == limit else min(bounds.newest, start + window)
        return FeedPage(changes, reached, bounds)

    async def read_bounds(self) -> FeedBounds:
        [row] = await self._database.rows(_READ_BOUNDS)
        return _bounds(row)

    async def delete_old(self, kept_for: timedelta) -> int:
        """Delete changes older than this, a limited number at a time; return their number."""
        [row] = await self._database.rows(_DELETE, kept_for=kept_for, limit=_AT_ONCE)
        return int(row["count"])


def _bounds(row: Row) -> FeedBounds:
    return FeedBounds(row["oldest"], row["newest"], row["unnumbered"])


_MOST_BOOKS = 1000
"""Maximum number of books in a change; changes of more books are divided."""


class ClusterMoves:
    """Founders of the clusters of books before and after a change; a book without a cluster is its own."""

    def __init__(self) -> None:
        self._before: dict[UUID, UUID] = {}
        self._after: dict[UUID, UUID] = {}

    def note(self, moved: Iterable[Row]) -> None:
        """Add written rows with `book_id` and the founders `before` and `after`."""
        for row in moved:
            self._before.setdefault(row["book_id"], row["before"])
            self._after[row["book_id"]] = row["after"]

    @property
    def founders(self) -> set[UUID]:
        """The founders of all clusters that books joined or left."""
        return {*self._before.values(), *self._after.values()}

    def changes(self, by: By, deleted: UUID | None) -> list[Mapping[str, Any]]:
        """Return the changes of the clusters that books joined or left, as rows of `book_id` and `data`.

        A cluster that has become empty has no change: its books have joined other clusters, or are deleted.
        """
        joined: dict[UUID, list[UUID]] = defaultdict(list)
        left: dict[UUID, list[UUID]] = defaultdict(list)
        for book, after in sorted(self._after.items()):
            before = self._before[book]
            if book == deleted:
                left[before].append(book)
            elif before != after:
                joined[after].append(book)
                left[before].append(book)
        founders = sorted(founder for founder in joined.keys() | left.keys() if founder != deleted)
        return [
            {"book_id": founder, "data": {"id": name.id, "key": name.key, "by": by, **part}}
            for founder in founders
            if self._after.get(founder, founder) == founder
            for name in [ClusterName(by, founder)]
            for part in _parts(joined[founder], left[founder])
        ]


def _parts(joined: list[UUID], left: list[UUID]) -> Iterable[Mapping[str, list[UUID]]]:
    for start in range(0, max(len(joined), len(left)), _MOST_BOOKS):
        end = start + _MOST_BOOKS
        yield {"joined": joined[start:end], "left": left[start:end]}


_INSERT_CREATED = SQL("""
    INSERT INTO unnumbered_changes (type, book_id, data)
    SELECT 'book.created', id, jsonb_build_object(
        'version', 1, 'external_id', external_id, 'collection', collection, 'identifier', identifier
    )
    FROM unnest($ids::uuid[], $external_ids::text[], $collections::text[], $identifiers::text[])
        AS created (id, external_id, collection, identifier)
""")
_INSERT_CLUSTERS = SQL("""
    INSERT INTO unnumbered_changes (type, book_id, data)
    SELECT 'cluster.changed', book_id, data
    FROM jsonb_to_recordset($changes::jsonb) AS changed (book_id uuid, data jsonb)
""")


TOLD = "id, version, external_id, collection"
"""The columns of a book that `insert_book_changes` needs."""


def insert_book_changes(kind: ChangeType, books: str, *more: str) -> str:
    """Return SQL that writes a change for each row of a table with the columns `TOLD` and `more`.

    The SQL is part of the statement that changes the books, which has a parameter `identifier`.
    """
    named = _named("version", "external_id", "collection", *more)
    return f"""
        INSERT INTO unnumbered_changes (type, book_id, data)
        SELECT '{kind}', id, jsonb_build_object({named}, 'identifier', $identifier::text) FROM {books}
    """


def insert_pair_changes(kind: ChangeType, pairs: str, *data: str) -> str:
    """Return SQL that writes a change for each pair in a table; the change contains the columns `data`."""
    return f"""
        INSERT INTO unnumbered_changes (type, book_id, other_id, data)
        SELECT '{kind}', left_id, right_id, jsonb_build_object({_named(*data)}) FROM {pairs}
    """


def _named(*columns: str) -> str:
    return ", ".join(f"'{column}', {column}" for column in columns)


def insert_withdrawals(pairs: str) -> str:
    """Return SQL that writes the withdrawal of the decision on each pair in a table."""
    return insert_pair_changes(
        "relation.decided",
        f"""(
            SELECT left_id, right_id, NULL AS verdict, NULL AS kind, NULL AS decided_by FROM {pairs}
        ) AS withdrawn""",
        *("verdict", "kind", "decided_by"),
    )


def identifier_of(fingerprint: Fingerprint | None, word_count: int) -> str | None:
    """Return the identifier in a change of a book; None without a fingerprint."""
    return None if fingerprint is None else identifier.encode(fingerprint, word_count)


def identifier_of_book(book: Book) -> str | None:
    """Return the identifier of a stored book; None without a fingerprint."""
    return identifier_of(book.fingerprint, book.word_count)


async def insert_created(
    connection: Connection, books: Mapping[UUID, tuple[str | None, str | None, str | None]]
) -> None:
    """Write the creation of books, in order; the values are external id, collection and identifier."""
    external_ids, collections, identifiers = zip(*books.values(), strict=True)
    values = {"external_ids": external_ids, "collections": collections, "identifiers": identifiers}
    await rows(connection, _INSERT_CREATED, ids=list(books), **values)


async def insert_cluster_changes(
    connection: Connection, by: By, moves: ClusterMoves, deleted: UUID | None
) -> None:
    """Write the changes of clusters that books have joined and left; a `deleted` book only leaves."""
    changes: Sequence[Mapping[str, object]] = moves.changes(by, deleted)
    if changes:
        await rows(connection, _INSERT_CLUSTERS, changes=changes)
