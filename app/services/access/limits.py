"""Limits: what a request uses, counted by the library `limits` against what its key may use.

It is counted in Redis, for all processes together. While Redis is away, each process counts by itself,
against its share of the limit.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv6Address, ip_address
from typing import Literal
from uuid import UUID

import structlog
from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter, SlidingWindowCounterRateLimiter

from app.core.errors import Unavailable
from app.stores.postgres.keys import Caller
from app.stores.redis.client import redis_errors
from app.stores.redis.time_windows import TimeWindows

log = structlog.get_logger()

LimitName = Literal["requests", "lookups", "bytes", "uploads", "attempts"]

_MINUTE = 60

_ANSWER_SECONDS = 1.0
"""Longest wait for Redis before it counts as away."""

_AWAY_SECONDS = 5.0
"""How long it then counts as away."""

_UPLOAD_SECONDS = 1.0
"""When to try an upload again; how long those under way will take is not known."""

_OWN_NETWORK_BITS = 64
"""A client with IPv6 has this much of an address to itself."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` units in any `seconds`, or at once where there are none."""

    name: LimitName
    most: int
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """How a limit stands after a request has been held against it."""

    limit: Limit
    left: int
    wait: float | None = None  # seconds until the request fits; None: it does
    more_in: float | None = None  # seconds until more is left; None: that is not told

    @property
    def is_refusal(self) -> bool:
        return self.wait is not None


Demand = tuple[Limit, int]
"""A limit, and how many of its units a request would use."""


class Limits:
    """Counts what is used of limits. `processes` of the API share what is not counted for all together.

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
        self._attempts: Limit | None = None
        if attempts_per_minute is not None:
            self._attempts = Limit("attempts", attempts_per_minute, seconds)
        self._seconds = seconds
        self._uploads: Counter[UUID | None] = Counter()
        self._own = _Counts(MemoryStorage())
        self._away_until: float | None = None  # of `time.monotonic`; None: Redis answers

    @cached_property
    def _shared(self) -> "_Counts":
        return _Counts(self._windows.storage)

    async def take(
        self, caller: Caller, *, requests: int = 0, lookups: int = 0, size: int = 0
    ) -> tuple[Usage, ...]:
        """Count what a request uses, and tell how each limit stands that concerns it.

        Of requests, lookups and bytes, in this order, nothing is counted from the first refusal on. Where no
        limit concerns the request, Redis is not asked.
        """
        most = caller.limits
        wanted: list[tuple[LimitName, int | None, int]] = [
            ("requests", most.requests_per_minute, requests),
            ("lookups", most.lookups_per_minute, lookups),
            ("bytes", most.bytes_per_minute, size),
        ]
        demands = [
            (Limit(name, limit, self._seconds), amount)
            for name, limit, amount in wanted
            if limit is not None and amount
        ]
        return await self._take(str(caller.key_id), demands) if demands else ()

    async def take_attempt(self, address: str) -> Usage | None:
        """Count a request without a valid key; a refusal beyond the limit of the address, None: no limit."""
        if self._attempts is None:
            return None
        [usage] = await self._take(address_group(address), [(self._attempts, 1)])
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
        most = self._share(most)
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
                    with redis_errors():
                        usages = await self._shared.take(holder, demands)
            except (Unavailable, TimeoutError) as error:
                if self._away_until is None:
                    log.warning("Redis is away, limits are counted in this process", reason=str(error))
                self._away_until = time.monotonic() + _AWAY_SECONDS
            else:
                if self._away_until is not None:
                    log.info("Redis is back, limits are counted there")
                self._away_until = None
                return usages
        shares = [(replace(limit, most=self._share(limit.most)), amount) for limit, amount in demands]
        return await self._own.take(holder, shares)

    def _share(self, most: int) -> int:
        return max(1, most // self._processes)


class _Counts:
    """What each holder of limits has used, as `limits` counts it in a storage.

    Bytes are counted in a sliding window, because a moving one keeps an entry for each unit.
    """

    def __init__(self, storage: RedisStorage | MemoryStorage) -> None:
        self._storage = storage
        self._moving = MovingWindowRateLimiter(storage)
        self._sliding = SlidingWindowCounterRateLimiter(storage)

    async def take(self, holder: str, demands: Sequence[Demand]) -> tuple[Usage, ...]:
        """Count the demands of a holder in order, but none from the first that does not fit on."""
        fitting: list[bool] = []
        for limit, amount in demands:
            strategy = self._sliding if limit.name == "bytes" else self._moving
            take = strategy.hit if all(fitting) else strategy.test
            fitting.append(await take(_item(limit), holder, cost=amount))
        return tuple(
            [
                await (self._slid if limit.name == "bytes" else self._moved)(holder, limit, amount, fits)
                for (limit, amount), fits in zip(demands, fitting, strict=True)
            ]
        )

    async def _moved(self, holder: str, limit: Limit, amount: int, fits: bool) -> Usage:
        end, left = await self._moving.get_window_stats(_item(limit), holder)
        more_in = max(0.0, end - time.time())
        if fits:
            return Usage(limit, left, None, more_in)
        # When several will fit, only the newest that counts could tell.
        wait = more_in if amount == 1 else float(limit.seconds)
        return Usage(limit, left, wait, wait)

    async def _slid(self, holder: str, limit: Limit, amount: int, fits: bool) -> Usage:
        before, _, count, expiry = await self._storage.get_sliding_window(
            _item(limit).key_for(holder), limit.seconds
        )
        # A count is kept for one window longer than it is the present one.
        rest = max(0.0, expiry - limit.seconds)
        left = max(0, limit.most - int(before * rest / limit.seconds) - count)
        if fits:
            return Usage(limit, left)
        wait = sliding_wait(limit, amount, before, rest, count)
        return Usage(limit, left, wait, wait)


def _item(limit: Limit) -> RateLimitItemPerSecond:
    return RateLimitItemPerSecond(limit.most, limit.seconds, limit.name)


def sliding_wait(limit: Limit, amount: int, before: int, rest: float, count: int) -> float:
    """The seconds until `amount` units fit in a sliding window, if nothing else comes.

    The former window has `before` units, this one has `count` and lasts `rest` seconds. A share of the former
    one's counts, which shrinks evenly to nothing.

    >>> sliding_wait(Limit("bytes", 100, 60), 50, before=100, rest=30.0, count=20)
    12.0
    """
    room = limit.most - amount
    if before * rest / limit.seconds + count <= room:
        return 0.0
    if count <= room:
        return rest - (room - count) * limit.seconds / before
    return rest + limit.seconds * (1 - room / count)


def address_group(address: str) -> str:
    """The addresses that one client can send from: an IPv4 address, or a network of IPv6.

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
