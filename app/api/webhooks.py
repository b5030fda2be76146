"""Webhooks: bodies and documents."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import BeforeValidator, Field
from pydantic.config import JsonDict

from app.api.http import examples
from app.api.http.deps import ActorDep, ServicesDep, id_of
from app.api.http.openapi import with_headers
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Body, Cursors, Document, PageQuery
from app.services.changes import ChangeType, cursor_of
from app.services.webhooks import UnknownWebhook, Webhook

_URL_PATTERN: JsonDict = {"pattern": "^[!-~]*$"}


class WebhookBody(Body):
    """The URL to deliver changes to, and the types of changes."""

    url: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=_URL_PATTERN)] = Field(
        description="URL that accepts a POST of each change; https is recommended."
    )
    types: Annotated[list[ChangeType], Field(min_length=1, max_length=8)] | None = Field(
        default=None, description="Types of changes to deliver; null or left out: all."
    )


class WebhookAnswer(Document):
    """The present state of a webhook."""

    id: UUID
    url: str
    types: list[ChangeType] | None = Field(description="Types of changes to deliver; null: all.")
    state: Literal["active", "failing", "disabled"] = Field(
        description="failing: tried again at next_try_at, for three days. disabled: not tried again."
    )
    cursor: str = Field(description="Cursor of the last delivered change; the feed continues after it.")
    created_at: datetime
    failing_since: datetime | None = Field(
        description="Time of the first failed try of the oldest undelivered change."
    )
    next_try_at: datetime | None
    last_error: str | None = Field(description="Reason why the last try failed; null: it did not fail.")
    disabled_at: datetime | None
    disabled_because: str | None

    @classmethod
    def of(cls, webhook: Webhook, **others: object) -> Self:
        """Return the document of a webhook; `others` are the fields of a subclass."""
        failing = "active" if webhook.failing_since is None else "failing"
        fields: dict[str, Any] = {name: getattr(webhook, name, None) for name in WebhookAnswer.model_fields}
        fields["state"] = failing if webhook.disabled_at is None else "disabled"
        fields["cursor"] = cursor_of(webhook.position)
        return cls(**fields, **others)


class WebhookWithSecret(WebhookAnswer):
    """A webhook with its new secret, which is not shown again."""

    secret: str = Field(description="Secret to verify deliveries (Standard Webhooks). Keep it safe.")

    @classmethod
    def of(cls, webhook: Webhook, **others: object) -> Self:
        return super().of(webhook, secret=webhook.secret, **others)


class WebhookList(Document):
    """One page of a list of webhooks, in order of ids."""

    items: list[WebhookAnswer]
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


router = SubjectRouter("/v1/webhooks", tag="webhooks", description="URLs that changes are delivered to.")

WebhookId = Annotated[
    UUID,
    BeforeValidator(partial(id_of, unknown=UnknownWebhook)),
    Path(description="Id of the webhook.", examples=[examples.WEBHOOK_ID]),
]


@router.post(
    "",
    status_code=201,
    summary="Register a webhook",
    responses=with_headers(201, Location="The path of the webhook."),
    scope="admin",
)
async def register_webhook(
    body: WebhookBody,
    services: ServicesDep,
    actor: ActorDep,
    response: Response,
) -> WebhookWithSecret:
    """Registers a URL for all future changes, signed according to the Standard Webhooks specification.

    The body of a delivery is an item of the feed. An answer of 2xx within 15 seconds confirms the delivery.
    Otherwise the delivery is tried again, with growing waits, for three days.
    """
    webhook = await services.webhooks.register(body.url, body.types, actor=actor)
    response.headers["Location"] = f"/v1/webhooks/{webhook.id}"
    return WebhookWithSecret.of(webhook)


@router.get("", summary="List webhooks", scope="admin")
async def list_webhooks(query: Annotated[PageQuery, Query()], services: ServicesDep) -> WebhookList:
    """Lists the webhooks in order of their ids, without their secrets."""
    cursors = Cursors("webhooks")
    webhooks = await services.webhooks.list_webhooks(cursors.place(query.cursor, UUID), query.limit + 1)
    page = webhooks[: query.limit]
    next_cursor = cursors.at(page[-1].id) if len(webhooks) > query.limit else None
    return WebhookList(items=[WebhookAnswer.of(webhook) for webhook in page], next_cursor=next_cursor)


@router.get("/{webhook_id}", summary="Read a webhook", scope="admin")
async def read_webhook(webhook_id: WebhookId, services: ServicesDep) -> WebhookAnswer:
    """Returns the progress of the webhook, and the reason if it fails or is disabled."""
    return WebhookAnswer.of(await services.webhooks.read(webhook_id))


@router.delete("/{webhook_id}", status_code=204, summary="Delete a webhook", scope="admin")
async def delete_webhook(webhook_id: WebhookId, services: ServicesDep, actor: ActorDep) -> Response:
    """Deletes the webhook. A delivery already sent may still arrive."""
    await services.webhooks.delete(webhook_id, actor=actor)
    return Response(status_code=204)


@router.post("/{webhook_id}/rotate", summary="Give a webhook a new secret", scope="admin")
async def rotate_secret(webhook_id: WebhookId, services: ServicesDep, actor: ActorDep) -> WebhookWithSecret:
    """Returns a new secret. For one day, deliveries are also signed with the old secret."""
    return WebhookWithSecret.of(await services.webhooks.rotate(webhook_id, actor=actor))
