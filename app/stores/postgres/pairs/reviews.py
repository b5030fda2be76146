"""The queue of relations without a decision, in order of what a look at each is worth.

The worth is stored when a relation is, in the same transaction: before the clusters change, since afterwards
nobody could tell the parts that it joins. It is computed again when the metadata of either book change, or a
decision is withdrawn.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple
from uuid import UUID

from app.core.clusters.clustering import Pair
from app.core.model import Metadata
from app.core.relations.classification import Kind
from app.core.relations.reviews import MOST_PART, ReviewedRelation, worth_of
from app.stores.postgres.connections import SQL, Connection, Database, Row, rows
from app.stores.postgres.pairs.relation_queries import to_signals
from app.stores.postgres.rows import METADATA_FIELDS

_WINDOW = 5_000
"""Places of the queue that one request looks through for relations that it asks for."""

_METADATA = ", ".join(
    f"{book}.{name} AS {side}_{name}"
    for side, book in (("left", "one"), ("right", "other"))
    for name in METADATA_FIELDS
)


def _size(book: str) -> str:
    """The size of the cluster of related books that a book is in, at most `MOST_PART`."""
    return f"""greatest(1, (
        SELECT count(*) FROM (
            SELECT FROM cluster_members m JOIN cluster_members own USING (by, founder_id)
            WHERE own.by = 'related' AND own.book_id = {book} LIMIT {MOST_PART}
        ) AS members
    ))::int"""


_READ_PAIRS = SQL(f"""
    SELECT r.left_id, r.right_id, r.kind, r.direction, r.confidence, r.signals, r.revised, {_METADATA},
        decisions.left_id IS NOT NULL AS decided,
        CASE WHEN coalesce(a.founder_id, r.left_id) = coalesce(b.founder_id, r.right_id)
            THEN coalesce(reviews.parts, '{{1,1}}')
            ELSE ARRAY[{_size("r.left_id")}, {_size("r.right_id")}] END AS parts
    FROM unnest($lefts::uuid[], $rights::uuid[]) AS pair (left_id, right_id)
    JOIN relations r USING (left_id, right_id)
    JOIN books AS one ON one.id = r.left_id
    JOIN books AS other ON other.id = r.right_id
    LEFT JOIN reviews USING (left_id, right_id)
    LEFT JOIN decisions USING (left_id, right_id)
    LEFT JOIN cluster_members a ON a.by = 'related' AND a.book_id = r.left_id
    LEFT JOIN cluster_members b ON b.by = 'related' AND b.book_id = r.right_id
""")
_PUT = SQL("""
    INSERT INTO reviews (left_id, right_id, worth, parts)
    SELECT left_id, right_id, worth, ARRAY[left_part, right_part]
    FROM unnest($lefts::uuid[], $rights::uuid[], $worths::float8[], $left_parts::int[], $right_parts::int[])
        AS given (left_id, right_id, worth, left_part, right_part)
    ORDER BY left_id, right_id
    ON CONFLICT (left_id, right_id) DO UPDATE SET worth = excluded.worth, parts = excluded.parts
""")
_DELETE = SQL("""
    DELETE FROM reviews USING unnest($lefts::uuid[], $rights::uuid[]) AS pair (left_id, right_id)
    WHERE (reviews.left_id, reviews.right_id) = (pair.left_id, pair.right_id)
""")
_PAIRS_OF_BOOK = SQL("""
    SELECT left_id, right_id FROM relations WHERE left_id = $book_id
    UNION ALL SELECT left_id, right_id FROM relations WHERE right_id = $book_id
""")
_BEHIND = """
    SELECT left_id, right_id, worth, parts FROM reviews
    WHERE (worth, left_id, right_id) < ($worth, $left, $right)
    ORDER BY worth DESC, left_id DESC, right_id DESC
"""
_LIST = SQL(f"""
    WITH behind AS MATERIALIZED ({_BEHIND} LIMIT {_WINDOW})
    SELECT r.left_id, r.right_id, r.kind, r.direction, r.confidence, r.signals, r.revised, {_METADATA},
        behind.worth, behind.parts
    FROM behind
    JOIN relations r USING (left_id, right_id)
    JOIN books AS one ON one.id = left_id
    JOIN books AS other ON other.id = right_id
    WHERE ($kind::text IS NULL OR r.kind = $kind)
        AND ($collection::text IS NULL OR $collection IN (one.collection, other.collection))
        AND ($language::text IS NULL OR $language IN (one.language, other.language))
        AND ($year::int IS NULL OR $year IN (one.year, other.year))
        AND NOT EXISTS (
            SELECT FROM opinions WHERE (opinions.left_id, opinions.right_id) = (r.left_id, r.right_id)
                AND author = $author AND outcome IN ('waits', 'unsure')
        )
    ORDER BY behind.worth DESC, r.left_id DESC, r.right_id DESC LIMIT $limit
""")
_READ_WORTH = SQL("SELECT worth FROM reviews WHERE left_id = $left_id AND right_id = $right_id")
_COUNT = SQL("SELECT count(*) FROM (SELECT FROM reviews LIMIT $most) AS queued")
_READ_END = SQL(f"{_BEHIND} OFFSET {_WINDOW - 1} LIMIT 1")


class ReviewPlace(NamedTuple):
    """A place in the queue, to go on from."""

    worth: float
    left: UUID
    right: UUID


_BEGINNING = ReviewPlace(float("inf"), UUID(int=0), UUID(int=0))


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """The relations to list; None of a field means any. One of the two books has to fit."""

    kind: Kind | None = None
    collection: str | None = None
    language: str | None = None
    year: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QueuedRelation:
    """A relation in the queue."""

    place: ReviewPlace
    relation: ReviewedRelation


@dataclass(frozen=True, slots=True, eq=False)
class ReviewPage:
    """One page of the queue, which may have fewer than were asked for though there are more."""

    items: Sequence[QueuedRelation]
    next: ReviewPlace | None  # None: there are no more


class ReviewQueries:
    """Reads the queue."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_reviews(
        self, wanted: ReviewFilter, author: str, after: ReviewPlace | None, limit: int
    ) -> ReviewPage:
        """Up to `limit` relations behind a place, but none on which the author's opinion waits or is unsure.

        Whoever decides meanwhile takes his relation out, and moves no other one.
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
        """The place of a pair, the older book first; None: it is not in the queue."""
        for row in await self._database.rows(_READ_WORTH, left_id=left_id, right_id=right_id):
            return ReviewPlace(row["worth"], left_id, right_id)
        return None

    async def count(self, most: int) -> int:
        """The relations in the queue, of which no more than `most` are counted."""
        [row] = await self._database.rows(_COUNT, most=most)
        return int(row["count"])


async def update_reviews(connection: Connection, pairs: Collection[Pair]) -> None:
    """Put these pairs into the queue at what they are worth now, and take out those that are decided on.

    To be called in the transaction that changes them, before the clusters are brought up to date.
    """
    found = await rows(connection, _READ_PAIRS, **_sides(pairs)) if pairs else []
    if decided := [(row["left_id"], row["right_id"]) for row in found if row["decided"]]:
        await rows(connection, _DELETE, **_sides(decided))
    if queued := [row for row in found if not row["decided"]]:
        await rows(
            connection,
            _PUT,
            **_sides([(row["left_id"], row["right_id"]) for row in queued]),
            worths=[worth_of(_relation(row)).value for row in queued],
            left_parts=[row["parts"][0] for row in queued],
            right_parts=[row["parts"][1] for row in queued],
        )


async def update_reviews_of(connection: Connection, book_id: UUID) -> None:
    """The same for all relations of a book whose metadata have changed."""
    pairs = await rows(connection, _PAIRS_OF_BOOK, book_id=book_id)
    await update_reviews(connection, [(row["left_id"], row["right_id"]) for row in pairs])


def _sides(pairs: Collection[Pair]) -> dict[str, list[UUID]]:
    return {"lefts": [left for left, _ in pairs], "rights": [right for _, right in pairs]}


def _relation(row: Row) -> ReviewedRelation:
    return ReviewedRelation(
        kind=row["kind"],
        direction=row["direction"],
        confidence=row["confidence"],
        signals=None if row["signals"] is None else to_signals(row["signals"]),
        revised=row["revised"],
        left=_metadata(row, "left"),
        right=_metadata(row, "right"),
        parts=tuple(row["parts"]),
    )


def _metadata(row: Row, side: str) -> Metadata:
    values: dict[str, Any] = {name: row[f"{side}_{name}"] for name in METADATA_FIELDS}
    for name in ("authors", "identifiers"):
        values[name] = tuple(values[name])
    return Metadata(**values)


def _queued(row: Row) -> QueuedRelation:
    return QueuedRelation(_place(row), _relation(row))


def _place(row: Row) -> ReviewPlace:
    return ReviewPlace(row["worth"], row["left_id"], row["right_id"])
