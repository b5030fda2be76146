"""Bulkheads: so many requests are worked on at once, and others wait for a permit while that makes sense.

A queue that a burst has filled empties by itself, so waiting in it is worth while. One that stands only makes
everybody late, so waits in it are cut short. Sources: Nichols and Jacobson, Controlling Queue Delay, 2012;
Maurer, Fail at Scale, 2015 (both ACM Queue).
"""

import asyncio
from collections import deque
from dataclasses import dataclass

from starlette.exceptions import HTTPException

RETRY_AFTER = 1
"""Seconds after which a refused request may be sent again."""


# FastAPI lets no other errors through while it reads a body.
class Overloaded(HTTPException):
    """More was asked of this service than it can work on."""

    problem = "overloaded"
    retry_after = RETRY_AFTER

    def __init__(self, detail: str = "More requests came than can be worked on.") -> None:
        super().__init__(503, detail, headers={"Retry-After": str(RETRY_AFTER)})


@dataclass(frozen=True, slots=True)
class BulkheadTerms:
    """How many are let in, and how long others wait."""

    permits: int
    longest_wait: float  # seconds, in a burst; a queue stands once nobody came in sooner for as long
    short_wait: float  # seconds, while the queue stands


@dataclass(slots=True, eq=False)
class _Waiting:
    is_in: "asyncio.Future[bool]"
    since: float  # the event loop's time


class Bulkhead:
    """Permits for requests of one kind, and those that wait for one."""

    def __init__(self, terms: BulkheadTerms) -> None:
        self._terms = terms
        self._free = terms.permits
        self._new: deque[_Waiting] = deque()
        self._returning: deque[_Waiting] = deque()
        self._eased_at = self._refused_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self, *, again: bool = False) -> bool:
        """Take a permit, or wait for one; False: there is none.

        Who comes in again goes before those who are new: work has been done for them.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._free:
            self._free -= 1
            self._eased_at = now
            return True
        if not again and self._is_hopeless(now):
            self._refused_at = now
            return False
        waiting = _Waiting(loop.create_future(), now)
        (self._returning if again else self._new).append(waiting)
        self._watch(loop)
        try:
            return await waiting.is_in
        except asyncio.CancelledError:
            if waiting.is_in.done() and not waiting.is_in.cancelled() and waiting.is_in.result():
                self.release()
            raise

    def release(self) -> None:
        """Give a permit to the next that waits."""
        now = asyncio.get_running_loop().time()
        self._refuse_late(now)
        while self._returning or self._new:
            waiting = (self._returning or self._new).popleft()
            if not waiting.is_in.done():
                if now - waiting.since <= self._terms.short_wait:
                    self._eased_at = now
                waiting.is_in.set_result(True)
                return
        self._free += 1

    def _stands(self, now: float) -> bool:
        """Whether the queue does not empty by itself."""
        recently = now - self._terms.longest_wait
        return self._eased_at < recently or self._refused_at > recently

    def _is_hopeless(self, now: float) -> bool:
        """Whether a new request would wait for nothing; to say so at once costs least."""
        return (
            len(self._new) >= self._terms.permits
            and now - self._new[0].since > self._terms.short_wait / 2
            and self._stands(now)
        )

    def _longest(self, queue: deque[_Waiting], now: float) -> float:
        """Seconds that the first of a queue may wait.

        As many as have permits may wait in any case: clients that ask again as soon as they are answered.
        """
        is_short = queue is self._new and len(queue) > self._terms.permits and self._stands(now)
        return self._terms.short_wait if is_short else self._terms.longest_wait

    def _refuse_late(self, now: float) -> None:
        for queue in (self._new, self._returning):
            while queue and now - queue[0].since >= self._longest(queue, now):
                waiting = queue.popleft()
                if not waiting.is_in.done():
                    waiting.is_in.set_result(False)
                    self._refused_at = now

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None:
            self._timer = loop.call_later(self._terms.short_wait, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._refuse_late(loop.time())
        if self._new or self._returning:
            self._watch(loop)
