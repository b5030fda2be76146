"""Webhooks in Postgres: their URLs and their positions in the feed.

A worker claims a webhook for a limited time and delivers. A claim that is not released expires. Two workers
with one webhook could only deliver changes twice, because a position never decreases.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from app.stores.postgres.audit import Actor, actor_values, insert_entries
from app.stores.postgres.changes import ChangeType
from app.stores.postgres.connections import SQL, Database, Row
from app.stores.postgres.rows import columns
from app.stores.postgres.schema import webhooks
from bookprint_core.errors import BookprintError


class UnknownWebhook(BookprintError):
    """No webhook has this id, or the webhook was deleted."""

    problem = "unknown-webhook"
    status = 404
    title = "No such webhook"
    remedy = "Use the id of a webhook that the list shows."
    field = "id"
    tells_remedy = True

    def __init__(self, webhook_id: UUID | str) -> None:
        super().__init__(f"No webhook has the id {webhook_id}. List the webhooks.")


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that changes are delivered to."""

    id: UUID
    url: str
    types: tuple[ChangeType, ...] | None  # None: all types
    secret: str
    former_secret: str | None  # also signs; None: no former secret, or it has expired
    position: int  # all changes up to this position are delivered
    created_at: datetime
    failures: int  # since the last delivery
    failing_since: datetime | None  # first failure of the oldest undelivered change
    next_try_at: datetime | None  # None: no failure
    last_error: str | None  # None: no failure
    disabled_at: datetime | None
    disabled_because: str | None


_COLUMNS = ", ".join(
    [
        *columns(webhooks, without=["former_secret", "former_until", "claimed_until"]),
        "CASE WHEN former_until > now() THEN former_secret END AS former_secret",
    ]
)
_NEWEST = "coalesce((SELECT position FROM changes ORDER BY position DESC LIMIT 1), 0)"

_INSERT = SQL(f"""
    WITH made AS (
        INSERT INTO webhooks (id, url, types, secret, position)
        VALUES ($id, $url, $types::text[], $secret, {_NEWEST})
        RETURNING *
    ),
    audited AS ({insert_entries("webhook.created", "made")})
    SELECT {_COLUMNS} FROM made
""")
_READ = SQL(f"SELECT {_COLUMNS} FROM webhooks WHERE id = $id")
_LIST = SQL(f"SELECT {_COLUMNS} FROM webhooks WHERE id > $after ORDER BY id LIMIT $limit")
_COUNT_BY_STATE = SQL("""
    SELECT count(*) AS count, CASE
        WHEN disabled_at IS NOT NULL THEN 'disabled'
        WHEN failing_since IS NOT NULL THEN 'failing'
        ELSE 'active'
    END AS state
    FROM webhooks GROUP BY state
""")
_DELETE = SQL(f"""
    WITH deleted AS (DELETE FROM webhooks WHERE id = $id RETURNING id),
    audited AS ({insert_entries("webhook.deleted", "deleted")})
    SELECT id FROM deleted
""")
_UPDATE_SECRET = SQL(f"""
    WITH rotated AS (
        UPDATE webhooks
        SET former_secret = secret, former_until = now() + $overlap::interval, secret = $secret
        WHERE id = $id
        RETURNING *
    ),
    audited AS ({insert_entries("webhook.rotated", "rotated")})
    SELECT {_COLUMNS} FROM rotated
""")
# MATERIALIZED, because a subquery may run again for each row and then return more rows than the limit.
_UPDATE_CLAIMED = SQL(f"""
    WITH chosen (chosen_id) AS MATERIALIZED (
        SELECT id FROM webhooks
        WHERE disabled_at IS NULL AND position < {_NEWEST}
            AND (next_try_at IS NULL OR next_try_at <= now())
            AND (claimed_until IS NULL OR claimed_until <= now())
        ORDER BY next_try_at NULLS FIRST LIMIT $limit
        FOR UPDATE SKIP LOCKED
    )
    UPDATE webhooks SET claimed_until = now() + $claim::interval
    FROM chosen WHERE id = chosen_id
    RETURNING {_COLUMNS}
""")
_UPDATE_DELIVERED = SQL(f"""
    UPDATE webhooks
    SET position = greatest(position, $position),
        claimed_until = now() + $claim::interval,
        failures = $failures,
        last_error = $error,
        failing_since = CASE
            WHEN $error::text IS NULL THEN NULL
            WHEN $position > position THEN now()
            ELSE coalesce(failing_since, now())
        END,
        next_try_at = CASE WHEN $error::text IS NOT NULL THEN now() + $wait::interval END
    WHERE id = $id AND disabled_at IS NULL
    RETURNING {_COLUMNS}
""")
_UPDATE_UNCLAIMED = SQL("UPDATE webhooks SET claimed_until = NULL WHERE id = $id")
_UPDATE_DISABLED = SQL("""
    UPDATE webhooks SET disabled_at = now(), disabled_because = $because, next_try_at = NULL
    WHERE id = $id AND disabled_at IS NULL
""")


@dataclass(frozen=True, slots=True)
class DeliveryProgress:
    """The outcome of one delivery of changes to a webhook."""

    position: int  # all changes up to this position are delivered
    failures: int = 0  # since the last delivery
    error: str | None = None  # reason why a change was not delivered
    wait: timedelta = timedelta()  # before the next try


class WebhookStore:
    """Webhooks in Postgres. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self,
        webhook_id: UUID,
        url: str,
        types: Sequence[ChangeType] | None,
        secret: str,
        *,
        actor: Actor,
    ) -> Webhook:
        """Store a webhook that receives all changes that are not numbered yet."""
        [row] = await self._database.rows(
            _INSERT,
            id=webhook_id,
            url=url,
            types=None if types is None else list(types),
            secret=secret,
            **actor_values(actor),
        )
        return _webhook(row)

    async def read(self, webhook_id: UUID) -> Webhook:
        """Return the webhook with this id; raises `UnknownWebhook`."""
        return _known(await self._database.rows(_READ, id=webhook_id), webhook_id)

    async def list_webhooks(self, after: UUID | None, limit: int) -> list[Webhook]:
        """Return at most `limit` webhooks after the id `after`, in order of ids."""
        found = await self._database.rows(_LIST, after=after or UUID(int=0), limit=limit)
        return [_webhook(row) for row in found]

    async def count_by_state(self) -> dict[str, int]:
        """Return the numbers of active, failing and disabled webhooks."""
        return {row["state"]: row["count"] for row in await self._database.rows(_COUNT_BY_STATE)}

    async def delete(self, webhook_id: UUID, *, actor: Actor) -> None:
        """Delete a webhook; raises `UnknownWebhook`."""
        if not await self._database.rows(_DELETE, id=webhook_id, **actor_values(actor)):
            raise UnknownWebhook(webhook_id)

    async def update_secret(
        self, webhook_id: UUID, secret: str, overlap: timedelta, *, actor: Actor
    ) -> Webhook:
        """Replace the secret of a webhook; the old one also signs for `overlap`. Raises `UnknownWebhook`."""
        values = {"id": webhook_id, "secret": secret, "overlap": overlap} | actor_values(actor)
        return _known(await self._database.rows(_UPDATE_SECRET, **values), webhook_id)

    async def update_claimed(self, claim: timedelta, limit: int) -> list[Webhook]:
        """Claim webhooks with undelivered changes for the duration `claim`."""
        claimed = await self._database.rows(_UPDATE_CLAIMED, claim=claim, limit=limit)
        return [_webhook(row) for row in claimed]

    async def update_delivered(
        self, webhook_id: UUID, progress: DeliveryProgress, claim: timedelta
    ) -> Webhook | None:
        """Store the progress of a webhook and extend its claim; return None if it was deleted or disabled."""
        values = asdict(progress) | {"id": webhook_id, "claim": claim}
        return next(map(_webhook, await self._database.rows(_UPDATE_DELIVERED, **values)), None)

    async def update_unclaimed(self, webhook_id: UUID) -> None:
        await self._database.rows(_UPDATE_UNCLAIMED, id=webhook_id)

    async def update_disabled(self, webhook_id: UUID, because: str) -> None:
        await self._database.rows(_UPDATE_DISABLED, id=webhook_id, because=because)


def _known(found: Sequence[Row], webhook_id: UUID) -> Webhook:
    if not found:
        raise UnknownWebhook(webhook_id)
    return _webhook(found[0])


def _webhook(row: Row) -> Webhook:
    values: dict[str, Any] = dict(row.items())
    return Webhook(**values | {"types": None if row["types"] is None else tuple(row["types"])})
