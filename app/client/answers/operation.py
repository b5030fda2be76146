"""Changes, webhooks, audit log and jobs as JSON answers; their fields are explained at /docs."""

from typing import Any, Literal, TypedDict

ChangeType = Literal[
    "book.created",
    "book.changed",
    "book.content_replaced",
    "book.deleted",
    "relation.found",
    "relation.gone",
    "relation.decided",
    "cluster.changed",
]

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


class ChangeJson(TypedDict):
    """A change of a book, a relation or a cluster."""

    cursor: str
    at: str
    type: ChangeType
    book_id: str
    other_id: str | None
    data: dict[str, Any]


class ChangesJson(TypedDict):
    """Changes, oldest first, and where to go on."""

    items: list[ChangeJson]
    next_cursor: str


class WebhookJson(TypedDict):
    """A URL to which changes are delivered."""

    id: str
    url: str
    types: list[ChangeType] | None
    state: Literal["active", "failing", "disabled"]
    cursor: str
    created_at: str
    failing_since: str | None
    next_try_at: str | None
    last_error: str | None
    disabled_at: str | None
    disabled_because: str | None


class WebhookWithSecretJson(WebhookJson):
    """A webhook with its new secret, which is not shown again."""

    secret: str


class WebhooksJson(TypedDict):
    """A page of webhooks."""

    items: list[WebhookJson]
    next_cursor: str | None


class ActorJson(TypedDict):
    """Who wrote something, and from where."""

    kind: Literal["key", "admin_key", "anyone", "command"]
    name: str
    key_id: str | None
    address: str | None


class AuditedObjectJson(TypedDict):
    """What was written."""

    kind: Literal["book", "decision", "key", "webhook"]
    id: str
    other_id: str | None


class AuditEntryJson(TypedDict):
    """One thing that was done."""

    at: str
    actor: ActorJson
    action: Action
    object: AuditedObjectJson


class AuditJson(TypedDict):
    """A page of the audit log."""

    items: list[AuditEntryJson]
    next_cursor: str | None


class JobJson(TypedDict):
    """A job of the workers."""

    id: int
    task: str
    state: Literal["waiting", "running", "succeeded", "failed"]
    attempts: int
    max_attempts: int
    book_id: str | None
    created_at: str
    next_try_at: str | None
    reason: str | None
