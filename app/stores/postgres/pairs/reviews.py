"""The queue of doubtful relations without a decision, ranked by doubt and by the number of affected books.

The doubt is stored with the relation; for relations of a corpus it is 1 - confidence. The affected books are
those of the smaller cluster. The rank is stored in the same transaction as the relation, so that an index
orders the queue.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple
from uuid import UUID

from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.rows import METADATA_FIELDS
from bookprint_core.clusters.clustering import Pair
from bookprint_core.model import Metadata
from bookprint_core.relations.classification import Direction, Kind

LEAST_REVIEWED = 0.05
"""Minimum doubt of a relation in the queue, 0 to 1."""

_WINDOW = 5_000
"""Number of relations of the queue that one request searches."""

_MOST_MEMBERS = 1_000
"""Number of books of a cluster that doubles the rank; more books do not raise it."""

_METADATA = ", ".join(
    f"{book}.{name} AS {side}_{name}"
    for side, book in (("left", "one"), ("right", "other"))
    for name in METADATA_FIELDS
)


def _size(book: str) -> str:
    """Return SQL for the size of a book's cluster of related books, at most `_MOST_MEMBERS`."""
    return f"""greatest(1, (
        SELECT count(*) FROM (
            SELECT FROM cluster_members m JOIN cluster_members own USING (by, founder_id)
            WHERE own.by = 'related' AND own.book_id = {book} LIMIT {_MOST_MEMBERS}
        ) AS members
    ))"""


_UPDATE = SQL(f"""
    WITH pair AS (
        SELECT left_id, right_id, EXISTS (
            SELECT FROM decisions d WHERE (d.left_id, d.right_id) = (given.left_id, given.right_id)
        ) AS decided,
        coalesce(r.doubt, 1 - r.confidence) AS doubt
        FROM unnest($lefts::uuid[], $rights::uuid[]) AS given (left_id, right_id)
        JOIN relations r USING (left_id, right_id)
    ),
    taken_out AS (
        DELETE FROM reviews USING pair
        WHERE (decided OR doubt < $least)
            AND (reviews.left_id, reviews.right_id) = (pair.left_id, pair.right_id)
    )
    INSERT INTO reviews (left_id, right_id, rank)
    SELECT left_id, right_id,
        doubt * (1 + ln(least({_size("left_id")}, {_size("right_id")})) / ln({_MOST_MEMBERS}))
    FROM pair
    WHERE NOT decided AND doubt >= $least
    ORDER BY left_id, right_id
    ON CONFLICT (left_id, right_id) DO UPDATE SET rank = excluded.rank
""")
_BEHIND = """
    SELECT left_id, right_id, rank FROM reviews
    WHERE (rank, left_id, right_id) < ($rank, $left, $right)
    ORDER BY rank DESC, left_id DESC, right_id DESC
"""
_LIST = SQL(f"""
    WITH behind AS MATERIALIZED ({_BEHIND} LIMIT {_WINDOW})
    SELECT behind.rank, r.left_id, r.right_id, r.kind, r.direction, r.confidence, r.left_because AS because,
        {_METADATA}
    FROM behind
    JOIN relations r USING (left_id, right_id)
    JOIN books AS one ON one.id = left_id
    JOIN books AS other ON other.id = right_id
    WHERE ($kind::text IS NULL OR r.kind = $kind)
        AND ($collection::text IS NULL OR $collection IN (one.collection, other.collection))
        AND ($language::text IS NULL OR $language IN (one.language, other.language))
        AND ($year::int IS NULL OR $year IN (one.year, other.year))
        AND NOT EXISTS (
            SELECT FROM past_decisions AS past
            WHERE (past.left_id, past.right_id) = (r.left_id, r.right_id)
                AND author = $author AND outcome = 'unsure'
        )
    ORDER BY behind.rank DESC, r.left_id DESC, r.right_id DESC LIMIT $limit
""")
_READ_RANK = SQL("SELECT rank FROM reviews WHERE left_id = $left_id AND right_id = $right_id")
_COUNT = SQL("SELECT count(*) FROM (SELECT FROM reviews LIMIT $most) AS queued")
_READ_END = SQL(f"{_BEHIND} OFFSET {_WINDOW - 1} LIMIT 1")


class ReviewPlace(NamedTuple):
    """A place in the queue, after which a page begins."""

    rank: float
    left: UUID
    right: UUID


_BEGINNING = ReviewPlace(float("inf"), UUID(int=0), UUID(int=0))


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """The relations to list; None means any value. At least one of the two books has the values."""

    kind: Kind | None = None
    collection: str | None = None
    language: str | None = None
    year: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QueuedRelation:
    """A relation in the queue."""

    place: ReviewPlace
    kind: Kind
    direction: Direction | None  # of the left book
    confidence: float  # 0 to 1
    because: str
    left: Metadata
    right: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class ReviewPage:
    """One page of the queue; it may have fewer relations than requested although more follow."""

    items: Sequence[QueuedRelation]
    next: ReviewPlace | None  # None: no more follow


class ReviewQueries:
    """Queries for the queue."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_reviews(
        self, wanted: ReviewFilter, author: str, after: ReviewPlace | None, limit: int
    ) -> ReviewPage:
        """Return at most `limit` relations after a place, without relations on which `author` is unsure.

        A decision removes its relation from the queue and does not move other relations.
        """
        place = (after or _BEGINNING)._asdict()
        values = asdict(wanted) | {"author": author, "limit": limit + 1} | place
        found = [_queued(row) for row in await self._database.rows(_LIST, **values)]
        if len(found) > limit:
            return ReviewPage(found[:limit], found[limit - 1].place)
        for row in await self._database.rows(_READ_END, **place):
            return ReviewPage(found, _place(row))
        return ReviewPage(found, None)

    async def read_place(self, left_id: UUID, right_id: UUID) -> ReviewPlace | None:
        """Return the place of a pair, the older book first; None if the pair is not in the queue."""
        for row in await self._database.rows(_READ_RANK, left_id=left_id, right_id=right_id):
            return ReviewPlace(row["rank"], left_id, right_id)
        return None

    async def count(self, most: int) -> int:
        """Count the relations in the queue, up to `most`."""
        [row] = await self._database.rows(_COUNT, most=most)
        return int(row["count"])


async def update_reviews(connection: Connection, pairs: Collection[Pair]) -> None:
    """Add these pairs to the queue with their rank, and remove pairs that are decided or not in doubt.

    Must be called in the transaction that changes the pairs, before it updates the clusters. Afterwards the
    sizes of the clusters that a pair joins are not known.
    """
    if pairs:
        lefts, rights = zip(*pairs, strict=True)
        await rows(connection, _UPDATE, lefts=list(lefts), rights=list(rights), least=LEAST_REVIEWED)


def _metadata(row: Row, side: str) -> Metadata:
    values: dict[str, Any] = {name: row[f"{side}_{name}"] for name in METADATA_FIELDS}
    return Metadata(**values | {name: tuple(values[name]) for name in ("authors", "identifiers")})


def _queued(row: Row) -> QueuedRelation:
    said = {name: row[name] for name in ("kind", "direction", "confidence", "because")}
    return QueuedRelation(_place(row), left=_metadata(row, "left"), right=_metadata(row, "right"), **said)


def _place(row: Row) -> ReviewPlace:
    return ReviewPlace(row["rank"], row["left_id"], row["right_id"])
