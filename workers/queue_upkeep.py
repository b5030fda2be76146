"""Takes over the jobs of dead workers, and deletes the records of what was long ago."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import structlog

from app.core.errors import Unavailable
from app.services.jobs import Jobs

log = structlog.get_logger()

_SECONDS_BETWEEN_SWEEPS = 60.0


async def rescue_and_sweep(
    jobs: Jobs, dead_after: timedelta, sweeps: Sequence[Callable[[], Awaitable[object]]]
) -> None:
    """Rescue and sweep again and again. Several processes may do so at once."""
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
            log.warning("jobs cannot be rescued or swept yet", reason=str(exc))
        await asyncio.sleep(dead_after.total_seconds() / 4)
