"""Waiting for events in other tasks, threads and processes. No other test module reads a clock."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

SECONDS = 180.0
"""Longest wait, in seconds. Nothing in health reaches it, however busy the machine is."""

_PAUSE = 0.05


def eventually(condition: Callable[[], object]) -> bool:
    """Wait until the condition holds, and return whether it did within SECONDS."""
    deadline = time.monotonic() + SECONDS
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return bool(holds)


async def until(condition: Callable[[], Awaitable[object] | object]) -> None:
    """Wait until the condition holds while other tasks go on; raises AssertionError after SECONDS."""
    async with asyncio.timeout(SECONDS):
        while True:
            holds = condition()
            if inspect.isawaitable(holds):
                holds = await holds
            if holds:
                return
            await asyncio.sleep(_PAUSE)
