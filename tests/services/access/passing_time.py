"""Time that passes when a test says so, for what is counted in windows of time."""

import time
from dataclasses import dataclass

import pytest

from tests.redis_cluster import Operator


@dataclass(frozen=True, slots=True)
class PassingTime:
    """Lets time pass for the library `limits`: for the clock that it reads, and for its keys in Redis."""

    monkeypatch: pytest.MonkeyPatch
    redis: Operator | None

    def stand_at(self, moment: float) -> None:
        """Have the clock show this moment from now on."""
        self.monkeypatch.setattr(time, "time", lambda: moment)

    async def go_on(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self.stand_at(time.time() + seconds)
        if self.redis is None:
            return
        async for key in self.redis.scan_iter(match="bp-limits*"):
            left = await self.redis.pttl(key) - int(1000 * seconds)
            await (self.redis.pexpire(key, left) if left > 0 else self.redis.delete(key))
