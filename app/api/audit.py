"""The audit log: which entries to list, and their documents."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from fastapi import Query
from pydantic import Field

from app.api.http.deps import ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Cursors, Document, Moment, PageQuery, part
from app.services.access.audit import Action, ActorKind, AuditEntry, AuditFilter, ObjectKind


class AuditQuery(PageQuery):
    """The entries to list; what is left out counts for any."""

    key_id: UUID | None = Field(default=None, description="Only what was done with this key.")
    action: Action | None = Field(default=None, description="Only this.")
    object: UUID | None = Field(
        default=None, description="Only what was done to this book, key or webhook; of decisions either book."
    )
    since: Moment | None = Field(default=None, description="Only from this time on, as 2027-01-31T18:00:00Z.")
    until: Moment | None = Field(default=None, description="Only before this time.")

    def to_filter(self) -> AuditFilter:
        return AuditFilter(self.key_id, self.action, self.object, self.since, self.until)


class ActorAnswer(Document):
    """Who wrote something, and from where."""

    kind: ActorKind = Field(
        description="A key; the admin key of the environment; anyone, where no key is asked for; or a "
        "command that reached the database itself."
    )
    name: str = Field(description="Of the key at that time; of a command, the user of the system.")
    key_id: UUID | None = Field(description="Null where it was no stored key.")
    address: str | None = Field(description="Of the client; of a command, the name of its host.")


class AuditedObject(Document):
    """Object of an entry of the audit log."""

    kind: ObjectKind = part("object_kind")
    id: UUID = part("object_id", "Of a decision: the older book.")
    other_id: UUID | None = Field(description="Of a decision: the younger book; else null.")


class AuditAnswer(Document):
    """One thing that was done. It is never changed."""

    at: datetime
    actor: ActorAnswer
    action: Action
    object: AuditedObject

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        fields = {"at": entry.at, "actor": entry.actor, "action": entry.action, "object": entry}
        return cls.model_validate(fields)


class AuditList(Document):
    """One page of the audit log, the newest entry first."""

    items: list[AuditAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")


router = SubjectRouter("/v1/audit", tag="audit", description="Who has written what, when and from where.")


@router.get("", summary="Read who has written what", scope="admin")
async def list_audit(query: Annotated[AuditQuery, Query()], services: ServicesDep) -> AuditList:
    """Lists what was done to books, decisions, keys and webhooks, by whom and from where, the newest first.

    An entry is written with the thing that it tells of, so neither is there without the other. Requests that
    were refused are not in it.
    """
    wanted = query.to_filter()
    cursors = Cursors("audit", wanted)
    entries = await services.audit.list_entries(wanted, cursors.place(query.cursor, int), query.limit + 1)
    page = entries[: query.limit]
    next_cursor = cursors.at(page[-1].sequence) if len(entries) > query.limit else None
    return AuditList(items=[AuditAnswer.of(entry) for entry in page], next_cursor=next_cursor)
