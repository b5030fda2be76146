"""The audit log in Postgres. Each statement that writes something also writes its entry.

Therefore neither exists without the other. Entries are never changed, and deleted only above the age that a
deletion names; a trigger of the table refuses other changes.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, cast, get_args
from uuid import UUID

from sqlalchemy import BindParameter, bindparam, select

from app.stores.postgres.connections import SQL, ConditionalSQL, Database, Row, rows
from app.stores.postgres.schema import audit
from bookprint_core.errors import OtherCollection

ActorKind = Literal["key", "admin_key", "anyone", "command"]
"""A stored key, the admin key of the environment, an unknown person, or a system user at a command line."""


Action = Literal[
    "book.created",
    "book.changed",
    "book.content_replaced",
    "book.deleted",
    "decision.made",
    "decision.proposed",
    "decision.withdrawn",
    "key.created",
    "key.revoked",
    "key.rotated",
    "webhook.created",
    "webhook.deleted",
    "webhook.rotated",
]
"""Actions in the audit log; the word before the full stop is the kind of object."""


ACTIONS: tuple[Action, ...] = get_args(Action)


ObjectKind = Literal["book", "decision", "key", "webhook"]


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or program that writes."""

    kind: ActorKind
    name: str  # of the key at that time, or of the system user
    key_id: UUID | None = None  # of a stored key
    address: str | None = None  # of the client, or name of the command's host; None: unknown
    collection: str | None = None  # the only collection it writes to; None: all

    @property
    def author(self) -> str:
        """The id of the key, else the name; identifies a person."""
        return self.name if self.key_id is None else str(self.key_id)

    def require(self, *collections: str | None) -> None:
        """Raise `OtherCollection` unless the actor may write to books of these collections."""
        if self.collection is not None and any(each != self.collection for each in collections):
            raise OtherCollection(self.collection)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One action of an actor."""

    sequence: int  # in the order of writing; some numbers are missing
    at: datetime
    actor: Actor
    action: Action
    object_id: UUID
    other_id: UUID | None  # the second book of a decision

    @property
    def object_kind(self) -> ObjectKind:
        return cast(ObjectKind, self.action.partition(".")[0])


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The entries to list; None means any value."""

    key_id: UUID | None = None
    action: Action | None = None
    object_id: UUID | None = None  # for a decision, one of its books
    since: datetime | None = None
    until: datetime | None = None  # excluded


_AT_ONCE = 10_000
"""Maximum number of entries deleted in one transaction."""

_OBJECT: BindParameter[UUID] = bindparam("object_id")
_LIST = ConditionalSQL(
    select(audit).order_by(audit.c.sequence.desc()).limit(bindparam("limit")),
    {
        "after": audit.c.sequence < bindparam("after"),
        "key_id": audit.c.key_id == bindparam("key_id"),
        "action": audit.c.action == bindparam("action"),
        "object_id": (audit.c.object_id == _OBJECT) | (audit.c.other_id == _OBJECT),
        "since": audit.c.at >= bindparam("since"),
        "until": audit.c.at < bindparam("until"),
    },
)

_NAME_AGE = SQL("SELECT set_config('bookprint.audit_kept_for', $kept_for::interval::text, true)")
_DELETE = SQL("""
    WITH oldest AS (SELECT sequence, at FROM audit ORDER BY sequence LIMIT $limit),
    deleted AS (
        DELETE FROM audit USING oldest
        WHERE audit.sequence = oldest.sequence AND oldest.at < now() - $kept_for::interval
        RETURNING audit.sequence
    )
    SELECT count(*) FROM deleted
""")


def insert_entries(action: Action, written: str, object_id: str = "id", other_id: str = "NULL::uuid") -> str:
    """Return SQL that writes an audit entry for each row of a table; its columns contain the object ids.

    The SQL is part of the statement with the action itself; `actor_values` returns its parameters.
    """
    return f"""
        INSERT INTO audit (actor, key_id, name, address, action, object_id, other_id)
        SELECT $actor, $actor_key_id::uuid, $actor_name, $actor_address, '{action}', {object_id}, {other_id}
        FROM {written}
    """


def actor_values(actor: Actor) -> dict[str, Any]:
    """Return an actor as parameters of a statement with `insert_entries`."""
    return {
        "actor": actor.kind,
        "actor_key_id": actor.key_id,
        "actor_name": actor.name,
        "actor_address": actor.address,
    }


INSERT_CREATED_BOOKS = SQL(insert_entries("book.created", "unnest($book_ids::uuid[]) AS created (id)"))
"""Statement for the transaction that creates these books."""


class AuditStore:
    """Store that reads the audit log and deletes its oldest entries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_entries(self, wanted: AuditFilter, after: int | None, limit: int) -> list[AuditEntry]:
        """Return at most `limit` entries with numbers below `after`, newest first."""
        values = asdict(wanted) | {"after": after, "limit": limit}
        async with self._database.session() as connection:
            return [_entry(row) for row in await rows(connection, _LIST.given(values), **values)]

    async def delete_old(self, kept_for: timedelta) -> int:
        """Delete entries older than this, a limited number at a time; return their number."""
        async with self._database.transaction() as connection:
            await rows(connection, _NAME_AGE, kept_for=kept_for)
            [row] = await rows(connection, _DELETE, kept_for=kept_for, limit=_AT_ONCE)
        return int(row["count"])


def _entry(row: Row) -> AuditEntry:
    actor = Actor(row["actor"], row["name"], row["key_id"], row["address"])
    return AuditEntry(row["sequence"], row["at"], actor, row["action"], row["object_id"], row["other_id"])
