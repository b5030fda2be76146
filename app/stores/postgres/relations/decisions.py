"""People's decisions on pairs of books, in Postgres."""

from uuid import UUID

from app.core.audit import Actor
from app.core.errors import NothingToConfirm, UnknownBook
from app.core.relations.decision import DecisionVerdict
from app.core.relations.relation import Kind
from app.stores.postgres.access.audit import actor_values, insert_entries
from app.stores.postgres.changes.outbox import insert_pair_changes, insert_withdrawals
from app.stores.postgres.clusters.clusters import update_clusters
from app.stores.postgres.connections import Connection, Database, rows
from app.stores.postgres.jobs import insert_relate_jobs
from app.stores.postgres.statements import SQL

_READ_ENTRIES = SQL(
    "SELECT id, entry_id FROM books WHERE id IN ($left_id, $right_id) ORDER BY id FOR KEY SHARE"
)
_READ_KIND = SQL("SELECT kind FROM relations WHERE left_id = $left_id AND right_id = $right_id")
_INSERT = SQL(f"""
    WITH decided AS (
        INSERT INTO decisions (left_id, right_id, left_entry, right_entry, verdict, kind, decided_by)
        VALUES ($left_id, $right_id, $left_entry, $right_entry, $verdict, $kind, $actor_name)
        ON CONFLICT (left_id, right_id) DO UPDATE
        SET left_entry = excluded.left_entry, right_entry = excluded.right_entry, verdict = excluded.verdict,
            kind = excluded.kind, decided_at = now(), decided_by = excluded.decided_by
        RETURNING left_id, right_id, verdict, kind, decided_by
    ),
    audited AS ({insert_entries("decision.made", "decided", "left_id", "right_id")})
    {insert_pair_changes("relation.decided", "decided", "verdict", "kind", "decided_by")}
""")
_DELETE = SQL(f"""
    WITH deleted AS (
        DELETE FROM decisions WHERE left_id = $left_id AND right_id = $right_id RETURNING left_id, right_id
    ),
    audited AS ({insert_entries("decision.withdrawn", "deleted", "left_id", "right_id")})
    {insert_withdrawals("deleted")}
    RETURNING book_id
""")


class DecisionStore:
    """Writes decisions. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self, book_id: UUID, other_id: UUID, verdict: DecisionVerdict, kind: Kind | None, *, actor: Actor
    ) -> None:
        """Store a decision on two books as they are now, in place of an earlier one.

        A confirmed kind is the one that the machine has found. Books that were never compared are compared
        soon. Raises `UnknownBook`, and `NothingToConfirm`.
        """
        pair = _pair(book_id, other_id)
        async with self._database.transaction() as connection:
            entry_ids = await _entries(connection, pair)
            relations = await rows(connection, _READ_KIND, **pair)
            if verdict == "confirmed":
                if not relations:
                    raise NothingToConfirm(book_id, other_id)
                kind = relations[0]["kind"]
            decision = {"verdict": verdict, "kind": kind} | actor_values(actor)
            await rows(connection, _INSERT, **decision, **pair, **entry_ids)
            if not relations:
                await insert_relate_jobs(connection, [entry_ids["right_entry"]])
            await update_clusters(connection, [(pair["left_id"], pair["right_id"])])

    async def delete(self, book_id: UUID, other_id: UUID, *, actor: Actor) -> bool:
        """Delete the decision on two books; False: there is none."""
        pair = _pair(book_id, other_id)
        async with self._database.transaction() as connection:
            deleted = await rows(connection, _DELETE, **pair, **actor_values(actor))
            if deleted:
                await update_clusters(connection, [(pair["left_id"], pair["right_id"])])
        return bool(deleted)


def _pair(book_id: UUID, other_id: UUID) -> dict[str, UUID]:
    return {"left_id": min(book_id, other_id), "right_id": max(book_id, other_id)}


async def _entries(connection: Connection, pair: dict[str, UUID]) -> dict[str, int]:
    """The present entries of two books, which stay so until the transaction ends."""
    entry_ids = {row["id"]: row["entry_id"] for row in await rows(connection, _READ_ENTRIES, **pair)}
    for book_id in pair.values():
        if book_id not in entry_ids:
            raise UnknownBook(book_id)
    return {"left_entry": entry_ids[pair["left_id"]], "right_entry": entry_ids[pair["right_id"]]}
