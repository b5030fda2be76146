"""Limits of API keys: requests, lookups and bytes, counted with the library `limits`.

Redis counts for all processes together. While Redis is unavailable, each process counts by itself, against
its share of the limit.
"""

import asyncio
import time
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv6Address, ip_address
from typing import Literal

import structlog
from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter, SlidingWindowCounterRateLimiter

from app.stores.postgres.keys import Caller
from app.stores.redis.client import TimeWindows, redis_errors
from bookprint_core.errors import Unavailable

log = structlog.get_logger()

LimitName = Literal["requests", "lookups", "bytes", "attempts"]

_MINUTE = 60

_ANSWER_SECONDS = 1.0
"""Maximum seconds to wait for Redis before it counts as unavailable."""

_AWAY_SECONDS = 5.0
"""Seconds for which Redis then counts as unavailable."""

_OWN_NETWORK_BITS = 64
"""Length of the IPv6 prefix that belongs to one client, in bits."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of `most` units in any `seconds`."""

    name: LimitName
    most: int
    seconds: int


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A limit that a request would exceed, and the seconds after which the request fits."""

    limit: Limit
    wait: float


class Limits:
    """Counter of the use of limits. Without Redis, each of the `processes` of the API has an equal share.

    `seconds` is the length of the time windows.
    """

    def __init__(
        self,
        windows: TimeWindows,
        attempts_per_minute: int | None,
        seconds: int = _MINUTE,
        processes: int = 1,
    ) -> None:
        self._windows = windows
        self._processes = processes
        self._attempts_per_minute = attempts_per_minute
        self._seconds = seconds
        self._own = _Counts(MemoryStorage())
        self._away_until: float | None = None  # of `time.monotonic`; None: Redis answers

    @cached_property
    def _shared(self) -> "_Counts":
        return _Counts(self._windows.storage)

    async def take(
        self, caller: Caller, *, requests: int = 0, lookups: int = 0, size: int = 0
    ) -> OverLimit | None:
        """Count requests, lookups and bytes, in this order, up to the first refusal.

        Only limits that the caller has are checked in Redis.
        """
        most = caller.limits
        wanted: list[tuple[LimitName, int | None, int]] = [
            ("requests", most.requests_per_minute, requests),
            ("lookups", most.lookups_per_minute, lookups),
            ("bytes", most.bytes_per_minute, size),
        ]
        for name, limit, amount in wanted:
            if limit is None or not amount:
                continue
            if refusal := await self._take(str(caller.key_id), Limit(name, limit, self._seconds), amount):
                return refusal
        return None

    async def take_attempt(self, address: str) -> OverLimit | None:
        """Count a request without a valid key for its address."""
        if self._attempts_per_minute is None:
            return None
        limit = Limit("attempts", self._attempts_per_minute, self._seconds)
        return await self._take(address_group(address), limit, 1)

    async def _take(self, holder: str, limit: Limit, amount: int) -> OverLimit | None:
        now = time.monotonic()
        if self._away_until is None or now >= self._away_until:
            if self._away_until is not None:
                # One request checks whether Redis is available again; other requests do not wait for it.
                self._away_until = now + _AWAY_SECONDS
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    with redis_errors():
                        refusal = await self._shared.take(holder, limit, amount)
            except (Unavailable, TimeoutError) as error:
                if self._away_until is None:
                    log.warning("Redis is unavailable, limits are counted in this process", reason=str(error))
                self._away_until = time.monotonic() + _AWAY_SECONDS
            else:
                if self._away_until is not None:
                    log.info("Redis is available again and counts the limits")
                self._away_until = None
                return refusal
        share = replace(limit, most=max(1, limit.most // self._processes))
        return await self._own.take(holder, share, amount)


class _Counts:
    """Counters for each holder of limits, in a storage of the library `limits`.

    Bytes are counted in a sliding window, because a moving window stores an entry for each unit.
    """

    def __init__(self, storage: RedisStorage | MemoryStorage) -> None:
        self._storage = storage
        self._moving = MovingWindowRateLimiter(storage)
        self._sliding = SlidingWindowCounterRateLimiter(storage)

    async def take(self, holder: str, limit: Limit, amount: int) -> OverLimit | None:
        """Count the units of a holder if they fit into the limit."""
        item = RateLimitItemPerSecond(limit.most, limit.seconds, limit.name)
        if limit.name == "bytes":
            if await self._sliding.hit(item, holder, cost=amount):
                return None
            _, _, count, expiry = await self._storage.get_sliding_window(item.key_for(holder), limit.seconds)
            # The count of a past window counts for one more window, with a weight that falls to 0.
            rest = max(0.0, expiry - limit.seconds)
            return OverLimit(limit, rest if count <= limit.most - amount else rest + limit.seconds)
        if await self._moving.hit(item, holder, cost=amount):
            return None
        if amount > 1:  # only the newest counted unit shows when several fit
            return OverLimit(limit, float(limit.seconds))
        end, _ = await self._moving.get_window_stats(item, holder)
        return OverLimit(limit, max(0.0, end - time.time()))


def address_group(address: str) -> str:
    """Return the address or network that belongs to one client: an IPv4 address, or an IPv6 network.

    >>> address_group("192.0.2.1"), address_group("2001:db8::1:2:3:4")
    ('192.0.2.1', '2001:db8::/64')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    hosts = 128 - _OWN_NETWORK_BITS
    return f"{IPv6Address(int(parsed) >> hosts << hosts)}/{_OWN_NETWORK_BITS}"
