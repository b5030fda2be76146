"""The tasks of the job queues."""

import time

import structlog
from procrastinate import App, PsycopgConnector

from app.core.errors import Unavailable
from app.stores.postgres.jobs import INDEX_QUEUE, RECONCILE, RELATE, RELATE_QUEUE
from app.wiring import Services
from workers.retry import JobRetry

log = structlog.get_logger()

_EVERY_MINUTE = "* * * * *"

_SHARE_OF_TIME = 0.05
"""Most of a worker's time that catching up may take: a large library's index catches up less often."""


def create_queue(connector: PsycopgConnector, services: Services) -> App:
    """The queues with their tasks, bound to the services of this process."""
    queue = App(connector=connector)
    due = 0.0

    @queue.task(name=RELATE, queue=RELATE_QUEUE, retry=JobRetry())
    async def relate(entry_id: int) -> None:
        """Find the relations of a book; index the book first where its post could not."""
        await services.relate.relate_entry(entry_id)

    @queue.periodic(cron=_EVERY_MINUTE)
    @queue.task(name=RECONCILE, queue=INDEX_QUEUE, retry=JobRetry())
    async def reconcile(timestamp: int) -> None:
        """Compare the band index with the catalogue, and mend it."""
        nonlocal due
        if time.monotonic() >= due:
            started = time.monotonic()
            try:
                await services.upkeep.catch_up()
            except Unavailable as exc:
                log.warning("band index cannot be brought up to date yet", reason=str(exc))
            due = started + (time.monotonic() - started) / _SHARE_OF_TIME

    return queue
