"""People's decisions on pairs of books, in Postgres."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.errors import NothingToConfirm, UnknownBook
from app.core.relations.decision import DecisionVerdict
from app.core.relations.relation import Kind
from app.stores.postgres.clusters import edges_changed
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.jobs import defer_relates


class DecisionStore:
    """Writes decisions. Each method is one transaction."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def decide(
        self, book_id: UUID, other_id: UUID, verdict: DecisionVerdict, kind: Kind | None
    ) -> None:
        """Store a decision on two books as they are now, in place of an earlier one.

        What is confirmed is the kind that the machine has found. Books that were never compared are compared
        soon. Raises `UnknownBook`, and `NothingToConfirm`.
        """
        pair = _pair(book_id, other_id)
        with postgres_outages():
            async with self._engine.begin() as connection:
                entry_ids = await _entries(connection, pair)
                found = await connection.scalar(_FOUND, pair)
                if verdict == "confirmed":
                    if found is None:
                        raise NothingToConfirm(book_id, other_id)
                    kind = found
                values = pair | entry_ids | {"verdict": verdict, "kind": kind}
                await connection.execute(_DECIDE, values)
                if found is None:
                    await defer_relates(connection, [entry_ids["right_entry"]])
                await edges_changed(connection, [(pair["left_id"], pair["right_id"])])

    async def withdraw(self, book_id: UUID, other_id: UUID) -> bool:
        """Remove the decision on two books; False: there is none."""
        pair = _pair(book_id, other_id)
        with postgres_outages():
            async with self._engine.begin() as connection:
                removed = (await connection.execute(_WITHDRAW, pair)).rowcount
                if removed:
                    await edges_changed(connection, [(pair["left_id"], pair["right_id"])])
        return bool(removed)


def _pair(book_id: UUID, other_id: UUID) -> dict[str, UUID]:
    return {"left_id": min(book_id, other_id), "right_id": max(book_id, other_id)}


async def _entries(connection: AsyncConnection, pair: dict[str, UUID]) -> dict[str, int]:
    """The present entries of two books, which stay so until the transaction ends."""
    rows = await connection.execute(_ENTRIES, pair)
    entry_ids = {row[0]: row[1] for row in rows}
    for book_id in pair.values():
        if book_id not in entry_ids:
            raise UnknownBook(book_id)
    return {"left_entry": entry_ids[pair["left_id"]], "right_entry": entry_ids[pair["right_id"]]}


_IDS = (sa.bindparam("left_id", type_=sa.Uuid), sa.bindparam("right_id", type_=sa.Uuid))

_ENTRIES = sa.text(
    "SELECT id, entry_id FROM books WHERE id IN (:left_id, :right_id) ORDER BY id FOR KEY SHARE"
).bindparams(*_IDS)
_FOUND = sa.text("SELECT kind FROM relations WHERE left_id = :left_id AND right_id = :right_id").bindparams(
    *_IDS
)
_DECIDE = sa.text("""
    INSERT INTO decisions (left_id, right_id, left_entry, right_entry, verdict, kind)
    VALUES (:left_id, :right_id, :left_entry, :right_entry, :verdict, :kind)
    ON CONFLICT (left_id, right_id) DO UPDATE
    SET left_entry = excluded.left_entry, right_entry = excluded.right_entry, verdict = excluded.verdict,
        kind = excluded.kind, decided_at = now()
""").bindparams(*_IDS, sa.bindparam("kind", type_=sa.Text))
_WITHDRAW = sa.text("DELETE FROM decisions WHERE left_id = :left_id AND right_id = :right_id").bindparams(
    *_IDS
)
