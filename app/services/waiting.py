"""Waiting for something that another process does: it is looked for again and again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
"""Seconds between two looks."""

_MOST_WAITING = 64
"""Requests of one kind that wait in this process at the same time; more are answered at once."""


def nothing() -> None:
    """What is done when a waiting begins that concerns nobody else."""


class Waiting:
    """The requests of one kind that wait."""

    def __init__(self) -> None:
        self._waiting = 0

    async def until(
        self,
        read: Callable[[], Awaitable[T]],
        is_enough: Callable[[T], bool],
        seconds: float,
        begins: Callable[[], None] = nothing,
    ) -> T:
        """The first answer that is enough, else the last within so many seconds.

        `begins` is called if the waiting begins.
        """
        deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
        answer = await read()
        if is_enough(answer) or not seconds or self._waiting >= _MOST_WAITING:
            return answer
        begins()
        self._waiting += 1
        try:
            while not is_enough(answer) and (left := deadline - time.monotonic()) > 0:
                await asyncio.sleep(min(pause, left))
                pause = min(1.5 * pause, _LONGEST_PAUSE)
                answer = await read()
        finally:
            self._waiting -= 1
        return answer
