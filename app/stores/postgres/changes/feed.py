"""The feed of changes: numbered in the order of their commits, without holes.

A transaction that is yet to commit has no position, whenever it began. Only committed changes are numbered,
one batch after the other, and each behind all that were numbered before. So a reader behind a position never
misses a change that is committed later.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.core.model import Change, ChangeType
from app.stores.postgres.connections import Database, Row, rows
from app.stores.postgres.statements import SQL

WINDOW = 10_000
"""Positions that are looked through at once for changes of certain types."""

_AT_ONCE = 10_000
"""Changes that are numbered or deleted in one transaction."""

_LOCK = SQL("SELECT pg_advisory_xact_lock(1667785070)")
"""Held by the one transaction that numbers; the number is "chan" in ASCII."""

# The snapshot of this statement is taken once the lock is held, so it has all positions given before. Each
# moment is later than the one before, whatever the clocks of the writing transactions said.
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
_READ = SQL(f"""
    WITH kept AS ({_BOUNDS})
    SELECT kept.*, change.*
    FROM kept LEFT JOIN LATERAL (
        SELECT position, at, type, book_id, other_id, data FROM changes
        WHERE position > coalesce($after, oldest - 1) AND position <= coalesce($after, oldest - 1) + $window
            AND ($types::text[] IS NULL OR type = ANY($types::text[]))
        ORDER BY position LIMIT $limit
    ) AS change ON true
    ORDER BY change.position
""")
# The newest stays for ever: the next position follows it.
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
    """The positions that are kept."""

    oldest: int
    newest: int  # oldest - 1: there is none yet
    unnumbered: bool  # there are committed changes that are yet to be numbered


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A stretch of the feed."""

    changes: Sequence[Change]  # oldest first
    reached: int  # up to here all changes of the wanted types are in it
    bounds: FeedBounds


class ChangeFeed:
    """Numbered changes in Postgres."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def update_numbers(self) -> None:
        """Number the changes that are committed, up to a limited number of them."""
        async with self._database.transaction() as connection:
            await rows(connection, _LOCK)
            await rows(connection, _NUMBER, limit=_AT_ONCE)

    async def read(
        self, after: int | None, limit: int, types: Collection[ChangeType] | None = None
    ) -> FeedPage:
        """Up to `limit` changes of these types behind a position (None: from the oldest that is kept)."""
        found = await self._database.rows(
            _READ, after=after, window=WINDOW, limit=limit, types=None if types is None else list(types)
        )
        bounds = _bounds(found[0])
        changes = [
            Change(row["position"], row["at"], row["type"], row["book_id"], row["other_id"], row["data"])
            for row in found
            if row["position"] is not None
        ]
        start = bounds.oldest - 1 if after is None else after
        reached = changes[-1].position if len(changes) == limit else min(bounds.newest, start + WINDOW)
        return FeedPage(changes, reached, bounds)

    async def read_bounds(self) -> FeedBounds:
        """The positions that are kept."""
        [row] = await self._database.rows(_READ_BOUNDS)
        return _bounds(row)

    async def delete_old(self, kept_for: timedelta) -> int:
        """Delete changes that are older than this, a limited number at a time; returns how many."""
        [row] = await self._database.rows(_DELETE, kept_for=kept_for, limit=_AT_ONCE)
        return int(row["count"])


def _bounds(row: Row) -> FeedBounds:
    return FeedBounds(row["oldest"], row["newest"], row["unnumbered"])
