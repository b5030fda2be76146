"""The audit log as values: who has written what, when and from where."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast, get_args
from uuid import UUID

ActorKind = Literal["key", "admin_key", "anyone", "command"]
"""A stored key, the admin key of the environment, nobody known, or a user of the system at a command line."""

Action = Literal[
    "book.created",
    "book.changed",
    "book.content_replaced",
    "book.deleted",
    "decision.made",
    "decision.withdrawn",
    "key.created",
    "key.revoked",
    "key.rotated",
    "webhook.created",
    "webhook.deleted",
    "webhook.rotated",
]
"""What is written down; the word before the full stop is the kind of the object."""

ACTIONS: tuple[Action, ...] = get_args(Action)

ObjectKind = Literal["book", "decision", "key", "webhook"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who writes, and from where."""

    kind: ActorKind
    name: str  # of the key at the time, or of the user of the system
    key_id: UUID | None = None  # of a stored key
    address: str | None = None  # of the client; of a command, the name of the host; None: not known


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done."""

    sequence: int  # in the order of writing; some numbers are missing
    at: datetime
    actor: Actor
    action: Action
    object_id: UUID
    other_id: UUID | None  # of a decision: the second book

    @property
    def object_kind(self) -> ObjectKind:
        """What the object is."""
        return cast(ObjectKind, self.action.partition(".")[0])


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The entries to list; None of a field means any."""

    key_id: UUID | None = None
    action: Action | None = None
    object_id: UUID | None = None  # of a decision: either book
    since: datetime | None = None
    until: datetime | None = None  # this moment is no longer included
