"""Webhooks: what clients send, and their documents."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from app.api.schemas import examples
from app.api.schemas.base import Body, Document, shown
from app.core.model import ChangeType, Webhook
from app.services.changes.feed import cursor_of

_URL_PATTERN: JsonDict = {"pattern": "^[!-~]*$"}


class WebhookBody(Body):
    """Where to deliver changes, and which."""

    model_config = shown({"url": examples.WEBHOOK["url"], "types": examples.WEBHOOK["types"]})

    url: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=_URL_PATTERN)] = Field(
        description="A URL, https best, that takes a POST of each change."
    )
    types: Annotated[list[ChangeType], Field(min_length=1, max_length=8)] | None = Field(
        default=None, description="Types of changes to deliver; null or left out: all."
    )


class WebhookAnswer(Document):
    """A webhook as it stands now."""

    model_config = shown(examples.WEBHOOK)

    id: UUID
    url: str
    types: list[ChangeType] | None = Field(description="Types of changes to deliver; null: all.")
    state: Literal["active", "failing", "disabled"] = Field(
        description="Failing ones are tried again at next_try_at, for three days; disabled ones never."
    )
    cursor: str = Field(description="Up to here everything is delivered; the feed goes on behind it.")
    created_at: datetime
    failing_since: datetime | None = Field(
        description="When the oldest change that is not delivered failed for the first time."
    )
    next_try_at: datetime | None
    last_error: str | None = Field(description="Why the last try failed; null: it did not.")
    disabled_at: datetime | None
    disabled_because: str | None

    @classmethod
    def of(cls, webhook: Webhook, **others: object) -> Self:
        """The document of a webhook; `others` are the fields that a subclass adds."""
        failing = "active" if webhook.failing_since is None else "failing"
        fields: dict[str, Any] = {name: getattr(webhook, name, None) for name in WebhookAnswer.model_fields}
        fields["state"] = failing if webhook.disabled_at is None else "disabled"
        fields["cursor"] = cursor_of(webhook.position)
        return cls(**fields, **others)


class WebhookWithSecret(WebhookAnswer):
    """A webhook with its new secret, which is not shown again."""

    model_config = shown(examples.WEBHOOK | {"secret": examples.SECRET})

    secret: str = Field(description="Verifies what is delivered (Standard Webhooks). Keep it safe.")

    @classmethod
    def of(cls, webhook: Webhook, **others: object) -> Self:
        """The document of a webhook whose secret is new."""
        return super().of(webhook, secret=webhook.secret, **others)


class WebhookList(Document):
    """One page of a list of webhooks, in order of ids."""

    model_config = shown({"items": [examples.WEBHOOK], "next_cursor": None})

    items: list[WebhookAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")
