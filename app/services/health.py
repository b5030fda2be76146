"""Whether the parts that Bookprint stands on are well."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from app.core.errors import BookprintError
from app.core.model import IndexState
from app.services.index.reconcile import Reindex
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.migrate import is_current
from app.stores.redis.indexes import Indexes

_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PartHealth:
    """One part and, where it is not well, why."""

    ok: bool
    detail: str


class Health:
    """Pings Postgres, Redis and the job queue."""

    def __init__(self, engine: AsyncEngine, reindex: Reindex, indexes: Indexes) -> None:
        self._engine = engine
        self._reindex = reindex
        self._indexes = indexes

    async def check(self) -> dict[str, PartHealth]:
        """The health of each part by name: postgres, redis, jobs."""
        postgres, jobs = await asyncio.gather(_state(self._postgres), _state(self._jobs))
        # Which indexes must be complete is known to Postgres alone.
        redis = await _state(self._index if postgres.ok else self._redis)
        return {"postgres": postgres, "redis": redis, "jobs": jobs}

    async def _postgres(self) -> str:
        with postgres_outages():
            async with self._engine.connect() as connection:
                if not await connection.run_sync(is_current):
                    raise BookprintError("The schema is not up to date. Run `bookprint migrate`.")
        return "up"

    async def _redis(self) -> str:
        await self._indexes.ping()
        return "up"

    async def _index(self) -> str:
        state = await self._reindex.state()
        if state is not IndexState.COMPLETE:
            raise BookprintError("The band index is being rebuilt from the catalogue; lookups wait for it.")
        return "up"

    async def _jobs(self) -> str:
        try:
            with postgres_outages():
                async with self._engine.connect() as connection:
                    lives = await connection.scalar(_LIVING_WORKER)
        except sa.exc.ProgrammingError as exc:
            raise BookprintError("The job queue has no tables. Run `bookprint migrate`.") from exc
        # Not a reason to refuse traffic: books are stored and found without a worker, they only stay pending.
        return "up" if lives else "No worker has been seen for a minute: run `bookprint worker`."


_LIVING_WORKER = sa.text(
    "SELECT EXISTS (SELECT FROM procrastinate_workers WHERE last_heartbeat > now() - interval '1 minute')"
)


async def _state(check: Callable[[], Awaitable[str]]) -> PartHealth:
    try:
        async with asyncio.timeout(_SECONDS):
            return PartHealth(ok=True, detail=await check())
    except TimeoutError:
        return PartHealth(ok=False, detail=f"No answer within {_SECONDS:g} seconds.")
    except BookprintError as exc:
        return PartHealth(ok=False, detail=str(exc))
