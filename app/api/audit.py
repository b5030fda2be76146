"""The audit log: the query, and the documents."""

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
    """The entries to list; an omitted parameter filters nothing."""

    key_id: UUID | None = Field(default=None, description="Only entries of this key.")
    action: Action | None = Field(default=None, description="Only entries with this action.")
    object: UUID | None = Field(
        default=None, description="Only entries on this book, key or webhook; for decisions, either book."
    )
    since: Moment | None = Field(
        default=None, description="Only entries at or after this time, such as 2027-01-31T18:00:00Z."
    )
    until: Moment | None = Field(default=None, description="Only entries before this time.")

    def to_filter(self) -> AuditFilter:
        return AuditFilter(self.key_id, self.action, self.object, self.since, self.until)


class ActorAnswer(Document):
    """The author of a write, with the address."""

    kind: ActorKind = Field(
        description="A key; the admin key of the environment; anyone, if keys are not required; or a command "
        "with direct access to the database."
    )
    name: str = Field(description="Name of the key at that time; for a command, the user of the system.")
    key_id: UUID | None = Field(description="Id of the key; null: not a stored key.")
    address: str | None = Field(description="Address of the client; for a command, the name of its host.")


class AuditedObject(Document):
    """Object of an entry of the audit log."""

    kind: ObjectKind = part("object_kind")
    id: UUID = part("object_id", "Id of the object; for a decision, the older book.")
    other_id: UUID | None = Field(description="Younger book of a decision; otherwise null.")


class AuditAnswer(Document):
    """An entry of the audit log. Entries never change."""

    at: datetime
    actor: ActorAnswer
    action: Action
    object: AuditedObject

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        fields = {"at": entry.at, "actor": entry.actor, "action": entry.action, "object": entry}
        return cls.model_validate(fields)


class AuditList(Document):
    """One page of the audit log, newest entry first."""

    items: list[AuditAnswer]
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


router = SubjectRouter(
    "/v1/audit", tag="audit", description="Log of all writes: who, what, when and from where."
)


@router.get("", summary="Read the audit log", scope="admin")
async def list_audit(query: Annotated[AuditQuery, Query()], services: ServicesDep) -> AuditList:
    """Lists all writes to books, decisions, keys and webhooks, with author and address, newest first.

    An entry is written in the same transaction as the change that it describes. Refused requests are not
    logged.
    """
    wanted = query.to_filter()
    cursors = Cursors("audit", wanted)
    entries = await services.audit.list_entries(wanted, cursors.place(query.cursor, int), query.limit + 1)
    page = entries[: query.limit]
    next_cursor = cursors.at(page[-1].sequence) if len(entries) > query.limit else None
    return AuditList(items=[AuditAnswer.of(entry) for entry in page], next_cursor=next_cursor)
