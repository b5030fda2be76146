"""All that one worker process does, side by side."""

import asyncio
import signal
from dataclasses import replace

from procrastinate import App

from app.settings import Settings
from app.stores.postgres.jobs import INDEX_QUEUE, RELATE_QUEUE
from app.wiring import open_services
from workers.index_watch import watch_index
from workers.queue_upkeep import rescue_and_sweep
from workers.queue_worker import Pace, QueueWorker, connect, work_off
from workers.tasks import create_queue

_PACE = Pace()


async def run(settings: Settings, concurrency: int, pace: Pace = _PACE) -> None:
    """Run jobs, look after the queue and watch the index, until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    index_complete = asyncio.Event()
    # One group: should one task ever fail, the process ends and is started anew.
    async with open_services(settings) as services, asyncio.TaskGroup() as group:

        def open_queue() -> App:
            return create_queue(connect(str(settings.database_url)), services)

        # Its fetch passes over all jobs that wait in the other queue, and none of its own is urgent.
        slow = replace(pace, poll=4 * pace.poll)
        indexing = QueueWorker(INDEX_QUEUE, concurrency=1, starts_after=None, longest=None, pace=slow)
        relating = QueueWorker(RELATE_QUEUE, concurrency, starts_after=index_complete, pace=pace)
        tasks = [
            group.create_task(watch_index(services, index_complete)),
            group.create_task(rescue_and_sweep(services.jobs, pace.dead_after)),
            group.create_task(work_off(open_queue, indexing, services.jobs)),
            group.create_task(work_off(open_queue, relating, services.jobs)),
        ]
        await stop.wait()
        for task in tasks:
            task.cancel()
