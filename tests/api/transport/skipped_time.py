"""An event loop in which seconds of waiting take no time, for tests of how long something is waited for."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from selectors import DefaultSelector, SelectorKey
from typing import Any, ParamSpec

P = ParamSpec("P")


class _Selector(DefaultSelector):
    """Finds what is ready now; where nothing is, it lets the time pass for which it would have waited."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        ready = super().select(timeout and 0)
        if not ready and timeout:
            self.now += timeout
        return ready


class SkippedTime(asyncio.SelectorEventLoop):
    """The loop; its clock begins at 0, and stands while anything can be done."""

    def __init__(self) -> None:
        self._waiting = _Selector()
        super().__init__(self._waiting)

    def time(self) -> float:
        return self._waiting.now


def in_skipped_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in such a loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=SkippedTime) as runner:
            runner.run(test(*args, **kwargs))

    return run
