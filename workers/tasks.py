"""The tasks of the job queue."""

import time

from procrastinate import App, JobContext, PsycopgConnector, RetryStrategy

from app.stores.jobs import INDEX_BOOK, QUEUE, RECONCILE, RESCUE
from app.wiring import House

_EVERY_MINUTE = "* * * * *"

_SHARE_OF_TIME = 0.05
"""A large library is reconciled less often, so that it takes no more of a worker's time than this."""

_STALLED_SECONDS = 30.0
"""Without a heartbeat for so long, a worker counts as dead and its jobs are taken up again."""


def create_queue(connector: PsycopgConnector, house: House) -> App:
    """The queue with its tasks, bound to the services of this process."""
    queue = App(connector=connector)
    due = 0.0

    @queue.task(name=INDEX_BOOK, queue=QUEUE, retry=RetryStrategy(max_attempts=20, wait=2, linear_wait=5))
    async def index_book(entry_id: int) -> None:
        """Finish the indexing of a book whose post could not."""
        await house.reindex.index_entry(entry_id)

    @queue.periodic(cron=_EVERY_MINUTE)
    @queue.task(name=RECONCILE, queue=QUEUE, queueing_lock=RECONCILE)
    async def reconcile(timestamp: int) -> None:
        """Hold the band index against the catalogue."""
        nonlocal due
        if time.monotonic() >= due:
            started = time.monotonic()
            await house.reindex.reconcile()
            due = started + (time.monotonic() - started) / _SHARE_OF_TIME

    @queue.periodic(cron=_EVERY_MINUTE)
    @queue.task(name=RESCUE, queue=QUEUE, queueing_lock=RESCUE, pass_context=True)
    async def rescue(context: JobContext, timestamp: int) -> None:
        """Take up the jobs of workers that died."""
        jobs = context.app.job_manager
        for job in await jobs.get_stalled_jobs(seconds_since_heartbeat=_STALLED_SECONDS):
            await jobs.retry_job(job)

    return queue
