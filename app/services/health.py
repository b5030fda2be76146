"""Health of the parts that Bookprint needs: PostgreSQL, Redis and the job queue."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.services.index.upkeep import IndexUpkeep
from app.stores.postgres.connections import SchemaQueries
from app.stores.postgres.jobs import JobStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.epoch import IndexState
from bookprint_core.errors import BookprintError

log = structlog.get_logger()

_SECONDS = 2.0
_FRESH_SECONDS = 0.2
"""Seconds for which a result is reused, so that many callers cost no more than one."""

_SECONDS_BETWEEN_NOTICES = 30.0
"""Seconds between two log lines about failing parts, and from the start to the first line."""

_WORKER_SILENCE = timedelta(minutes=1)
"""Maximum time since the last heartbeat of a worker that counts as alive."""


@dataclass(frozen=True, slots=True)
class PartHealth:
    """The health of a part; `detail` is the reason if the part is not ok."""

    ok: bool
    detail: str


class Health:
    """Service that checks Postgres, Redis and the job queue.

    Faults are logged for the operator, because callers without a key do not see them.
    """

    def __init__(self, schema: SchemaQueries, jobs: JobStore, upkeep: IndexUpkeep, index: BandIndex) -> None:
        self._schema = schema
        self._job_store = jobs
        self._upkeep = upkeep
        self._band_index = index
        self._parts: dict[str, PartHealth] = {}
        self._checked_at = float("-inf")
        self._checking = asyncio.Lock()
        self._next_notice = time.monotonic() + _SECONDS_BETWEEN_NOTICES

    async def check(self) -> dict[str, PartHealth]:
        """Return the health of each part (postgres, redis, jobs), checked at most 0.2 seconds ago."""
        async with self._checking:
            if time.monotonic() - self._checked_at > _FRESH_SECONDS:
                self._parts = await self._check()
                self._checked_at = time.monotonic()
            return self._parts

    async def _check(self) -> dict[str, PartHealth]:
        postgres, jobs = await asyncio.gather(_state(self._postgres), _state(self._jobs))
        # Without Postgres the index cannot be rebuilt, so only Redis itself is checked.
        redis = await _state(self._index if postgres.ok else self._redis)
        parts = {"postgres": postgres, "redis": redis, "jobs": jobs}
        down = {name: part.detail for name, part in parts.items() if not part.ok}
        if down and time.monotonic() >= self._next_notice:
            self._next_notice = time.monotonic() + _SECONDS_BETWEEN_NOTICES
            log.warning("not ready", **down)
        return parts

    async def require_schema(self) -> None:
        """Raise BookprintError if the database does not have the schema of this version."""
        if not await self._schema.has_newest():
            raise BookprintError("The schema is not up to date. Run `bookprint migrate`.")

    async def _postgres(self) -> str:
        await self.require_schema()
        return "up"

    async def _redis(self) -> str:
        await self._band_index.ping()
        await self._band_index.require_noeviction()
        return "up"

    async def _index(self) -> str:
        state = await self._upkeep.state()
        if state is not IndexState.COMPLETE:
            raise BookprintError("The band index is being rebuilt from the catalogue; lookups wait for it.")
        await self._band_index.require_noeviction()
        return "up"

    async def _jobs(self) -> str:
        # Not a reason to refuse traffic: without a worker, lookups find books, which only stay pending.
        if await self._job_store.count_workers(_WORKER_SILENCE):
            return "up"
        return "No worker has been seen for a minute: run `bookprint worker`."


async def _state(check: Callable[[], Awaitable[str]]) -> PartHealth:
    try:
        async with asyncio.timeout(_SECONDS):
            return PartHealth(ok=True, detail=await check())
    except TimeoutError:
        return PartHealth(ok=False, detail=f"No answer within {_SECONDS:g} seconds.")
    except BookprintError as exc:
        return PartHealth(ok=False, detail=str(exc))
