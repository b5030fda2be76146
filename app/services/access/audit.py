"""The audit log for administrators, the deletion of its old entries, and the history of a book."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.services.access.keys import ANYONE
from app.services.pairs.decisions import Decisions, HistoryFilter, PastDecision
from app.stores.postgres.audit import (
    ACTIONS as ACTIONS,
    Action as Action,
    Actor as Actor,
    ActorKind as ActorKind,
    AuditEntry as AuditEntry,
    AuditFilter as AuditFilter,
    AuditStore,
    ObjectKind as ObjectKind,
)
from app.stores.postgres.connections import Database
from app.stores.postgres.keys import Caller


@dataclass(frozen=True, slots=True)
class BookEvent:
    """A change of a book, or a decision on it."""

    at: datetime
    by: str | None  # None: not known, or not shown to the reader
    action: Action | None  # None: a decision
    decision: PastDecision | None = None
    other_id: UUID | None = None  # the second book of a decision


class Audit(AuditStore):
    """The audit log. Entries are stored for `kept_days`; None: for ever."""

    def __init__(self, database: Database, decisions: Decisions, kept_days: int | None) -> None:
        super().__init__(database)
        self._decisions = decisions
        self._kept_for = None if kept_days is None else timedelta(days=kept_days)

    async def sweep(self) -> int:
        """Delete entries older than `kept_days`; returns their number."""
        return 0 if self._kept_for is None else await self.delete_old(self._kept_for)

    async def history(self, book_id: UUID, limit: int, *, actor: Actor, tells_names: bool) -> list[BookEvent]:
        """Return at most `limit` events of a book, newest first; `tells_names` adds names to changes.

        Reads the latest `limit` entries of the audit log, and the decisions that the actor may see.
        """
        written, decided = await asyncio.gather(
            self.list_entries(AuditFilter(object_id=book_id), None, limit),
            self._decisions.history(HistoryFilter(book_id=book_id), None, limit, actor=actor),
        )
        events = [
            BookEvent(each.at, each.actor.name if tells_names else None, each.action)
            for each in written
            if each.object_kind == "book"
        ]
        for past in decided:
            other_id = past.right_id if past.left_id == book_id else past.left_id
            events.append(BookEvent(past.at, past.name, None, past, other_id))
        return sorted(events, key=lambda event: event.at, reverse=True)[:limit]


def actor_of(caller: Caller, address: str | None) -> Actor:
    """Return the caller as an actor, with the address of the request."""
    if caller.key_id is not None:
        return Actor("key", caller.name, caller.key_id, address, caller.collection)
    return Actor("anyone" if caller == ANYONE else "admin_key", caller.name, None, address)
