"""Limits: what a request uses, held against what its key may use.

They are counted in Redis, for all processes together. While Redis is away, each process counts by itself: a
key may then use its limits once for each process, and never without bound.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from app.core.errors import Unavailable
from app.core.limits import Demand, Limit, LimitName, Usage, address_group
from app.stores.postgres.keys import Caller
from app.stores.redis.time_windows import TimeWindows

if TYPE_CHECKING:
    from app.services.process_windows import ProcessWindows

log = structlog.get_logger()

_MINUTE = 60

_ANSWER_SECONDS = 1.0
"""Longest wait for Redis before it counts as away."""

_AWAY_SECONDS = 5.0
"""How long it then counts as away."""

_UPLOAD_SECONDS = 1.0
"""When to try an upload again; how long those under way will take, nobody knows."""


class Limits:
    """Counts what is used of limits. `seconds` is the length of the time windows."""

    def __init__(self, windows: TimeWindows, attempts_per_minute: int | None, seconds: int = _MINUTE) -> None:
        self._shared = windows
        self._attempts: Limit | None = None
        if attempts_per_minute is not None:
            self._attempts = Limit("attempts", attempts_per_minute, seconds)
        self._seconds = seconds
        self._uploads: Counter[UUID | None] = Counter()
        self._away_until: float | None = None  # of `time.monotonic`; None: Redis answers

    @cached_property
    def _own(self) -> "ProcessWindows":
        # Late, because a process whose Redis answers has no use for it.
        from app.services.process_windows import ProcessWindows

        return ProcessWindows()

    async def take(
        self, caller: Caller, *, requests: int = 0, lookups: int = 0, size: int = 0
    ) -> tuple[Usage, ...]:
        """Count what a request uses, and tell how each limit stands that concerns it.

        Where one is a refusal, nothing is counted. Where no limit concerns the request, Redis is not asked.
        """
        most = caller.limits
        wanted: list[tuple[LimitName, int | None, int]] = [
            ("requests", most.requests_per_minute, requests),
            ("lookups", most.lookups_per_minute, lookups),
            ("bytes", most.bytes_per_minute, size),
        ]
        demands = [
            Demand(Limit(name, limit, self._seconds), amount)
            for name, limit, amount in wanted
            if limit is not None and amount
        ]
        return await self._take(str(caller.key_id), demands) if demands else ()

    async def take_attempt(self, address: str) -> Usage | None:
        """Count a request without a valid key; a refusal beyond the limit of the address, None: no limit."""
        if self._attempts is None:
            return None
        [usage] = await self._take(address_group(address), [Demand(self._attempts, 1)])
        return usage

    @contextmanager
    def uploading(self, caller: Caller) -> Iterator[Usage | None]:
        """Count an upload of a key until the block ends; None: the key has no limit of uploads.

        The usage is a refusal where there are too many. They are those of this process.
        """
        most = caller.limits.uploads_at_once
        if most is None:
            yield None
            return
        limit, others = Limit("uploads", most), self._uploads[caller.key_id]
        if others >= most:
            yield Usage(limit, 0, _UPLOAD_SECONDS)
            return
        self._uploads[caller.key_id] += 1
        try:
            yield Usage(limit, most - others - 1)
        finally:
            self._uploads[caller.key_id] -= 1
            if not self._uploads[caller.key_id]:
                del self._uploads[caller.key_id]

    async def _take(self, holder: str, demands: Sequence[Demand]) -> tuple[Usage, ...]:
        now = time.monotonic()
        if self._away_until is None or now >= self._away_until:
            if self._away_until is not None:
                # One request tries whether Redis is back; the others do not wait for that.
                self._away_until = now + _AWAY_SECONDS
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    usages = await self._shared.count(holder, demands)
            except (Unavailable, TimeoutError) as error:
                if self._away_until is None:
                    log.warning("Redis is away, limits are counted in this process", reason=str(error))
                self._away_until = time.monotonic() + _AWAY_SECONDS
            else:
                if self._away_until is not None:
                    log.info("Redis is back, limits are counted there")
                self._away_until = None
                return usages
        return await self._own.count(holder, demands)
