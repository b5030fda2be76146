"""The audit log as administrators read it, the end of its oldest entries, and the history of a book."""

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
    """Something that was done to a book, or said of it."""

    at: datetime
    by: str | None  # None: not known, or not for the reader
    action: Action | None  # None: a decision
    decision: PastDecision | None = None
    other_id: UUID | None = None  # of a decision: the second book


class Audit(AuditStore):
    """Who has written what. Entries are kept for `kept_days`, or for ever."""

    def __init__(self, database: Database, decisions: Decisions, kept_days: int | None) -> None:
        super().__init__(database)
        self._decisions = decisions
        self._kept_for = None if kept_days is None else timedelta(days=kept_days)

    async def sweep(self) -> int:
        """Forget entries that are too old to be kept; returns how many."""
        return 0 if self._kept_for is None else await self.delete_old(self._kept_for)

    async def history(self, book_id: UUID, limit: int, *, actor: Actor, tells_names: bool) -> list[BookEvent]:
        """Up to `limit` events of a book, the newest first; who wrote it is for administrators.

        The latest `limit` entries of the audit log are read, and the decisions that the actor may see.
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
    """Return the actor in a request of this caller from this address."""
    if caller.key_id is not None:
        return Actor("key", caller.name, caller.key_id, address, caller.collection)
    return Actor("anyone" if caller == ANYONE else "admin_key", caller.name, None, address)
