"""Time windows in the memory of this process, in which limits are counted while Redis is away."""

import asyncio
import time
from collections.abc import Sequence

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter, SlidingWindowCounterRateLimiter

from app.core.limits import Demand, Usage, WindowState, moving_state, settled, sliding_state


class ProcessWindows:
    """The time windows of each holder of limits, as `limits` keeps them."""

    def __init__(self) -> None:
        self._storage = MemoryStorage()
        self._moving = MovingWindowRateLimiter(self._storage)
        self._sliding = SlidingWindowCounterRateLimiter(self._storage)
        self._taking = asyncio.Lock()

    async def count(self, holder: str, demands: Sequence[Demand]) -> tuple[Usage, ...]:
        """Count the demands of a holder if all fit."""
        async with self._taking:
            states = [await self._state(holder, demand) for demand in demands]
            if all(state.fits for state in states):
                for demand in demands:
                    strategy = self._sliding if demand.limit.name == "bytes" else self._moving
                    await strategy.hit(_item(demand), holder, cost=demand.amount)
        return settled(states)

    async def _state(self, holder: str, demand: Demand) -> WindowState:
        item = _item(demand)
        key, seconds = item.key_for(holder), item.get_expiry()
        if demand.limit.name == "bytes":
            # A count is kept for one window longer than it is the present one.
            before, _, count, expiry = await self._storage.get_sliding_window(key, seconds)
            return sliding_state(demand, before, round(1000 * (expiry - seconds)), count)
        oldest, count = await self._storage.get_moving_window(key, item.amount, seconds)
        return moving_state(demand, count, time.time() - oldest)


def _item(demand: Demand) -> RateLimitItemPerSecond:
    limit = demand.limit
    return RateLimitItemPerSecond(limit.most, limit.seconds, limit.name)
