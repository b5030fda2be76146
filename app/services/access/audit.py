"""The audit log as administrators read it, and the end of its oldest entries."""

from datetime import timedelta

from app.services.access.keys import ANYONE
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
from app.stores.postgres.keys import Caller


class Audit:
    """Who has written what. Entries are kept for `kept_days`, or for ever."""

    def __init__(self, entries: AuditStore, kept_days: int | None) -> None:
        self._entries = entries
        self._kept_for = None if kept_days is None else timedelta(days=kept_days)

    async def page(self, wanted: AuditFilter, after: int | None, limit: int) -> list[AuditEntry]:
        """Up to `limit` entries behind the number `after`, the newest first."""
        return await self._entries.list_entries(wanted, after, limit)

    async def sweep(self) -> int:
        """Forget entries that are too old to be kept; returns how many."""
        return 0 if self._kept_for is None else await self._entries.delete_old(self._kept_for)


def actor_of(caller: Caller, address: str | None) -> Actor:
    """The actor in a request of this caller from this address."""
    if caller.key_id is not None:
        return Actor("key", caller.name, caller.key_id, address, caller.collection)
    return Actor("anyone" if caller == ANYONE else "admin_key", caller.name, None, address)
