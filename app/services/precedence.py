"""Lookups before posts, within a process.

A lookup passes the event loop, Redis and Postgres several times in two milliseconds, and may find the step of
a post at each of them. So a post takes each of its steps when no lookup is under way, and a lookup meets one
of them at most. Nothing waits for long: under lookups without end, posts go on as well.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PATIENCE = 0.005
"""Seconds that one step waits for lookups at most."""

_GLANCE = 0.0003
"""Seconds between two looks of a thread."""


class Precedence:
    """Which lookups are under way, for those who give way to them."""

    def __init__(self) -> None:
        self._lookups = 0
        self._clear = asyncio.Event()
        self._clear.set()

    @contextmanager
    def lookup(self) -> Iterator[None]:
        """A lookup is under way."""
        self._lookups += 1
        self._clear.clear()
        try:
            yield
        finally:
            self._lookups -= 1
            if not self._lookups:
                self._clear.set()

    async def give_way(self) -> None:
        """Wait until no lookup is under way, for `PATIENCE` at most."""
        if self._clear.is_set():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not self._clear.is_set():
                    await self._clear.wait()

    def give_way_in_thread(self) -> None:
        """The same for a thread beside the event loop."""
        until = time.monotonic() + PATIENCE
        while not self._clear.is_set() and time.monotonic() < until:
            time.sleep(_GLANCE)
