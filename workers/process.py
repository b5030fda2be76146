"""All that one worker process does, side by side."""

import asyncio
import signal
from collections.abc import Collection
from dataclasses import replace
from typing import Literal, get_args

from procrastinate import App

from app.settings import Settings
from app.stores.postgres.jobs import INDEX_QUEUE, RELATE_QUEUE
from app.wiring import Services, delivery_on, open_stores, services_on
from workers.index_watch import watch_index
from workers.queue_upkeep import rescue_and_sweep
from workers.queue_worker import Pace, QueueWorker, connect, work_off
from workers.tasks import create_queue
from workers.webhook_delivery import deliver_changes

Part = Literal["jobs", "changes"]
"""What a worker does: it runs jobs and watches the index, or delivers changes to webhooks."""

PARTS: tuple[Part, ...] = get_args(Part)

_PACE = Pace()


async def run(
    settings: Settings, concurrency: int, pace: Pace = _PACE, parts: Collection[Part] = PARTS
) -> None:
    """Run jobs, look after the queue, watch the index and deliver changes, until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # One group: should one task ever fail, the process ends and is started anew.
    async with open_stores(settings) as stores, asyncio.TaskGroup() as group:
        tasks: list[asyncio.Task[None]] = []
        if "jobs" in parts:
            tasks += _start_jobs(group, services_on(stores, settings), settings, concurrency, pace)
        if "changes" in parts:
            tasks.append(group.create_task(deliver_changes(delivery_on(stores, settings))))
        await stop.wait()
        pending = set(tasks)
        while pending:
            for task in pending:
                task.cancel()
            # Once more after that: asyncio.wait_for may lose the first one (until Python 3.12).
            _, pending = await asyncio.wait(pending, timeout=pace.grace + 1)


def _start_jobs(
    group: asyncio.TaskGroup, services: Services, settings: Settings, concurrency: int, pace: Pace
) -> list[asyncio.Task[None]]:
    index_complete = asyncio.Event()
    sweeps = (services.jobs.sweep, services.audit.sweep)

    def open_queue() -> App:
        return create_queue(connect(str(settings.database_url)), services)

    # Its fetch passes over all jobs that wait in the other queue, and none of its own is urgent.
    slow = replace(pace, poll=4 * pace.poll)
    indexing = QueueWorker(INDEX_QUEUE, concurrency=1, starts_after=None, longest=None, pace=slow)
    relating = QueueWorker(RELATE_QUEUE, concurrency, starts_after=index_complete, pace=pace)
    return [
        group.create_task(watch_index(services, index_complete)),
        group.create_task(rescue_and_sweep(services.jobs, pace.dead_after, sweeps)),
        group.create_task(work_off(open_queue, indexing, services.jobs)),
        group.create_task(work_off(open_queue, relating, services.jobs)),
    ]
