"""Time windows in Redis, in which what is used of limits is counted for all processes together.

A script counts all demands of a request, or none. With the storage of `limits` each limit takes a round trip
and one more to tell what is left, and what one limit refuses has been counted by another.
"""

from collections.abc import Sequence

from app.core.limits import Demand, Usage, WindowState, moving_state, settled, sliding_state
from app.stores.redis.client import RedisClient
from app.stores.redis.scripts import MEET_DEMANDS

_MICROSECONDS = 1_000_000


class TimeWindows:
    """The time windows of each holder of limits, by the clock of Redis; empty ones go by themselves."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def count(self, holder: str, demands: Sequence[Demand]) -> tuple[Usage, ...]:
        """Count the demands of a holder if all fit, in one round trip; raises `Unavailable`."""
        keys = [_key(holder, demand) for demand in demands]
        terms = [
            term
            for demand in demands
            for term in (demand.limit.name, demand.limit.seconds, demand.limit.most, demand.amount)
        ]
        [answers] = await self._client.run([("EVALSHA", MEET_DEMANDS.sha, len(keys), *keys, *terms)])
        return settled([_state(*each) for each in zip(demands, answers, strict=True)])


def _key(holder: str, demand: Demand) -> str:
    # No pattern by which the index looks for its keys fits it. All keys of a holder have one hash tag.
    return f"bp-limits:{{{holder}}}:{demand.limit.name}:{demand.limit.most}:{demand.limit.seconds}"


def _state(demand: Demand, answer: Sequence[int]) -> WindowState:
    if demand.limit.name == "bytes":
        before, rest, count = answer
        return sliding_state(demand, before, rest, count)
    count, age = answer
    return moving_state(demand, count, age / _MICROSECONDS)
