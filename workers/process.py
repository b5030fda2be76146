"""Concurrent tasks of one worker process."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, get_args

import structlog
from procrastinate import App

from app.services.index.upkeep import IndexUpkeep
from app.services.jobs import Jobs
from app.settings import Settings
from app.stores.postgres.jobs import INDEX_QUEUE, RELATE_QUEUE
from app.stores.postgres.webhooks import Webhook
from app.stores.redis.epoch import IndexState
from app.wiring import Services, delivery_on, open_stores, services_on
from bookprint_core.errors import Unavailable
from workers.queue_worker import Pace, QueueWorker, connect, work_off
from workers.tasks import create_queue

if TYPE_CHECKING:  # imports an HTTP client, which most workers do not need
    from app.services.deliveries import Delivery

log = structlog.get_logger()

Part = Literal["jobs", "urgent"]
"""Part of a worker. `jobs` runs jobs; `urgent` keeps the index complete and delivers changes to webhooks."""

PARTS: tuple[Part, ...] = get_args(Part)

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_SWEEPS = 60.0
_SECONDS_BETWEEN_MEASURES = 2.0
_SECONDS_BETWEEN_CLAIMS = 0.25
_SECONDS_AFTER_OUTAGE = 1.0
_PACE = Pace()


async def run(
    settings: Settings, concurrency: int, pace: Pace = _PACE, parts: Collection[Part] = PARTS
) -> None:
    """Run jobs, maintain the queue, complete the index and deliver changes, until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # If one task of the group fails, the process ends and is started again.
    async with open_stores(settings) as stores, asyncio.TaskGroup() as group:
        tasks: list[asyncio.Task[None]] = []
        if "jobs" in parts:
            tasks += _start_jobs(group, services_on(stores, settings), settings, concurrency, pace)
        if "urgent" in parts:
            tasks.append(group.create_task(complete_index(services_on(stores, settings).upkeep)))
            tasks.append(group.create_task(deliver_changes(delivery_on(stores, settings))))
        await stop.wait()
        pending = set(tasks)
        while pending:
            for task in pending:
                task.cancel()
            # Cancelled repeatedly: before Python 3.12 asyncio.wait_for may lose a cancellation.
            _, pending = await asyncio.wait(pending, timeout=pace.grace + 1)


def _start_jobs(
    group: asyncio.TaskGroup, services: Services, settings: Settings, concurrency: int, pace: Pace
) -> list[asyncio.Task[None]]:
    index_complete = asyncio.Event()
    sweeps = (services.jobs.sweep, services.audit.sweep)

    def open_queue() -> App:
        return create_queue(connect(str(settings.database_url)), services)

    # Each fetch skips all jobs that wait in the other queue, and index jobs are not urgent.
    slow = replace(pace, poll=4 * pace.poll)
    indexing = QueueWorker(INDEX_QUEUE, concurrency=1, starts_after=None, longest=None, pace=slow)
    relating = QueueWorker(RELATE_QUEUE, concurrency, starts_after=index_complete, pace=pace)
    return [
        group.create_task(follow_index(services, index_complete)),
        group.create_task(measure("clusters", services.clusters.measure)),
        group.create_task(measure("the completeness of scans", services.completeness.look)),
        group.create_task(rescue_and_sweep(services.jobs, pace.dead_after, sweeps)),
        group.create_task(work_off(open_queue, indexing, services.jobs)),
        group.create_task(work_off(open_queue, relating, services.jobs)),
    ]


async def complete_index(upkeep: IndexUpkeep) -> None:
    """Repeatedly check the state of the index and complete it. Several processes may do this at once."""
    told = IndexState.COMPLETE
    while True:
        try:
            state = await upkeep.state()
            is_news, told = state is not told, state
            if state is not IndexState.COMPLETE:
                if is_news:
                    is_built = state is IndexState.LOST
                    log.info("band index is being built" if is_built else "band index is being checked")
                changed = await upkeep.catch_up()
                if changed is not None:
                    log.info(
                        "band index is complete",
                        entries=changed.entries,
                        added=changed.added,
                        removed=changed.removed,
                    )
        except Unavailable as exc:
            log.warning("band index cannot be updated yet", outage=str(exc))
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)


async def follow_index(services: Services, complete: asyncio.Event) -> None:
    """Repeatedly check the state of the index and update `complete`."""
    while True:
        try:
            if await services.upkeep.state() is not IndexState.COMPLETE:
                complete.clear()
            elif not complete.is_set():
                await services.relate.warm_up()
                complete.set()
        except Unavailable:
            complete.clear()
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)


async def rescue_and_sweep(
    jobs: Jobs, dead_after: timedelta, sweeps: Sequence[Callable[[], Awaitable[object]]]
) -> None:
    """Repeatedly rescue jobs of dead workers, and sweep. Several processes may do this at once."""
    sweep_due = 0.0
    while True:
        try:
            for job in await jobs.rescue(dead_after):
                log.warning("a job's worker died", job=job.id, task=job.task, state=job.state)
            if time.monotonic() >= sweep_due:
                for sweep in sweeps:
                    await sweep()
                sweep_due = time.monotonic() + _SECONDS_BETWEEN_SWEEPS
        except Unavailable as exc:
            log.warning("jobs cannot be rescued or swept yet", outage=str(exc))
        await asyncio.sleep(dead_after.total_seconds() / 4)


async def measure(what: str, measure_some: Callable[[], Awaitable[int]]) -> None:
    """Repeatedly call `measure_some` for what has changed. Several processes may do this at once."""
    while True:
        measured = 0
        try:
            measured = await measure_some()
        except Unavailable as exc:
            log.warning(f"{what} cannot be measured yet", outage=str(exc))
        if not measured:
            await asyncio.sleep(_SECONDS_BETWEEN_MEASURES)


async def deliver_changes(delivery: "Delivery") -> None:
    """Repeatedly deliver changes and sweep. Several processes may do this at once."""
    sweep_due = 0.0
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                for webhook in await delivery.claim():
                    group.create_task(_deliver(delivery, webhook))
                if time.monotonic() >= sweep_due:
                    await delivery.changes.sweep()
                    sweep_due = time.monotonic() + _SECONDS_BETWEEN_SWEEPS
            except Unavailable as exc:
                log.warning("changes cannot be delivered yet", outage=str(exc))
                await asyncio.sleep(_SECONDS_AFTER_OUTAGE)
            await asyncio.sleep(_SECONDS_BETWEEN_CLAIMS)


async def _deliver(delivery: "Delivery", webhook: Webhook) -> None:
    try:
        await delivery.deliver(webhook)
    except Unavailable as exc:
        log.warning("delivery was interrupted", webhook=str(webhook.id), reason=str(exc))
