"""Delivers changes to webhooks as they come, and forgets changes that are too old."""

import asyncio
import time
from typing import TYPE_CHECKING

import structlog

from app.core.errors import Unavailable
from app.stores.postgres.webhooks import Webhook

if TYPE_CHECKING:  # a client of HTTP comes with it, which most workers do without
    from app.services.deliveries import Delivery

log = structlog.get_logger()

_SECONDS = 0.25
_SECONDS_AFTER_OUTAGE = 1.0
_SECONDS_BETWEEN_SWEEPS = 60.0


async def deliver_changes(delivery: "Delivery") -> None:
    """Deliver and sweep again and again. Several processes may do so at once."""
    sweep_due = 0.0
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                for webhook in await delivery.claim():
                    group.create_task(_deliver(delivery, webhook))
                if time.monotonic() >= sweep_due:
                    await delivery.sweep()
                    sweep_due = time.monotonic() + _SECONDS_BETWEEN_SWEEPS
            except Unavailable as exc:
                log.warning("changes cannot be delivered yet", reason=str(exc))
                await asyncio.sleep(_SECONDS_AFTER_OUTAGE)
            await asyncio.sleep(_SECONDS)


async def _deliver(delivery: "Delivery", webhook: Webhook) -> None:
    try:
        await delivery.deliver(webhook)
    except Unavailable as exc:
        log.warning("delivery was interrupted", webhook=str(webhook.id), reason=str(exc))
