"""Admission: a bounded number of requests runs at once; others wait, or are refused if that is hopeless.

Requests that send texts, compute with texts or write have permits of their own, so they do not delay
lookups. A permit is held while the service works, never while it waits for a client.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from math import ceil, inf

from starlette.types import Scope

from app.api.http.problems import RequestRefusal
from app.settings import ProcessShare, Settings

READS_AT_ONCE = 8
"""Reading requests that each API process works on at once."""

_MOST_WRITES = 8
"""Maximum number of concurrent requests with texts or writes, in all API processes; at most one per core."""

LONGEST_WAIT = 5.0
"""Maximum seconds that a request waits for a permit."""

_FLOODED = 0.1
"""Share of the longest wait that a request may expect in a flood, from the first refusal until none waits.
Clients that send one request at a time wait for each other, so they never start a flood."""

BODIES_HELD, FILES_SPOOLED = 4, 8
"""Room for bodies in memory and for files on disk, as a number of bodies or files of the largest size."""

MOST_WAITING = 1_000
"""Maximum number of waiting requests per kind. It bounds a flood before the rate of admission is known."""

LINE_WAIT = 30.0
"""Maximum seconds that a line of a bulk request waits for a permit; meanwhile no more lines are read."""

SMALL_BODY = 64 * 1024
"""Largest body, in bytes, of a lookup that takes a permit for reading; a longer one contains a text."""

COMPUTED = r"(?:/v1)?/(?:clusters/[^/ ]+/text|books/[^/ ]+/completeness)"
"""Paths whose answers are computed from texts; they take the permits of requests that send texts."""

_COMPUTED = re.compile(COMPUTED)
_WATCHING = "/metrics"
_QUESTIONS = frozenset({"/v1/lookups"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})

TOO_MANY = "There are more requests than can be worked on."


class Overloaded(RequestRefusal):
    """The service has more requests than it can work on; `retry_after` is in seconds."""

    status = 503
    title = "The service has too much to do"
    remedy = "Send it again after the seconds that Retry-After names."

    def __init__(self, detail: str, retry_after: int = 1) -> None:
        super().__init__(detail, {"Retry-After": str(retry_after)})
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Capacity:
    """The requests that one API process works on at once, and the bytes that their bodies may occupy."""

    reads: int = READS_AT_ONCE
    writes: int = 1
    longest_wait: float = LONGEST_WAIT
    held_bytes: int = 1 << 28  # of memory
    spooled_bytes: int = 1 << 32  # of the disk

    @classmethod
    def of_one(cls, settings: Settings) -> "Capacity":
        """Return the share of one API process, enough for at least one request of the largest size."""
        processes = ProcessShare.given().processes
        body, file = settings.max_body_bytes, settings.max_file_bytes
        return cls(
            writes=max(1, min(os.cpu_count() or 1, _MOST_WRITES) // processes),
            held_bytes=max(body, BODIES_HELD * body // processes),
            spooled_bytes=max(file, FILES_SPOOLED * file // processes),
        )


class Permits:
    """The permits for requests of one kind. A request without one waits in line up to a bound."""

    def __init__(self, count: int, longest_wait: float, note_refusal: Callable[[], None]) -> None:
        self._note_refusal = note_refusal
        self._free = asyncio.Semaphore(count)
        self._longest_wait = longest_wait  # seconds
        self._waiting = 0
        self._let_in = 0.0  # waiting requests that got a permit since the line was last empty
        self._counted_from = inf  # time of the first of them, by the clock of the event loop
        self._is_flooded = False  # true from a refusal until no request waits

    def is_hopeless(self, share: float = 1.0) -> bool:
        """Return whether a new request would wait longer than `share` of its bound.

        The bound is the longest wait, or less in a flood. The wait is estimated from the rate of admission,
        measured for at least a third of the longest wait: the first answers after a pause are not typical.
        """
        if not self._waiting:
            return False
        seconds = asyncio.get_running_loop().time() - self._counted_from
        is_known = seconds > self._longest_wait / 3
        bound = share * self._longest_wait * (_FLOODED if self._is_flooded else 1.0)
        is_hopeless = self._waiting >= share * MOST_WAITING or (
            is_known and self._waiting * seconds / self._let_in > bound
        )
        self._is_flooded = self._is_flooded or is_hopeless
        return is_hopeless

    async def take(self, patience: float | None = None) -> None:
        """Take a permit, or wait for one; raises Overloaded after `patience` seconds.

        Without `patience` the longest wait applies, and a hopeless request raises Overloaded at once.
        """
        if not self._free.locked():
            await self._free.acquire()
            return
        if patience is None and self.is_hopeless():
            raise self.refusal()
        if not self._waiting:
            self._let_in, self._counted_from, self._is_flooded = 0.0, inf, False
        self._waiting += 1
        try:
            async with asyncio.timeout(patience or self._longest_wait):
                await self._free.acquire()
        except TimeoutError:
            raise self.refusal() from None
        finally:
            self._waiting -= 1
        now = asyncio.get_running_loop().time()
        self._counted_from = min(now, self._counted_from)
        self._let_in += 1
        seconds = now - self._counted_from
        if seconds > self._longest_wait:  # weigh older admissions by half
            self._counted_from += seconds / 2
            self._let_in /= 2

    def give_back(self) -> None:
        self._free.release()

    def refusal(self) -> Overloaded:
        """Return the error for a refused request; `retry_after` outlasts all requests that wait now."""
        self._note_refusal()
        return Overloaded(TOO_MANY, ceil(self._longest_wait))


class Room:
    """The bytes that the bodies of all requests may occupy in memory or on disk."""

    def __init__(self, most: int, refusal: str) -> None:
        self._most = most
        self._refusal = refusal
        self.taken = 0

    def take(self, size: int) -> None:
        """Take more bytes (negative: give back); raises Overloaded beyond the bound."""
        if size > 0 and self.taken + size > self._most:
            raise Overloaded(self._refusal)
        self.taken += size


class Held:
    """The bytes that the body of one request occupies."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._size = 0

    def hold(self, size: int) -> None:
        """Count more bytes (negative: fewer); raises Overloaded."""
        size = max(size, -self._size)  # parts of a request may end after it
        self._room.take(size)
        self._size += size

    def end(self) -> None:
        self.hold(-self._size)


class Permit(AbstractAsyncContextManager["Permit"]):
    """The permit of one request, and the memory that its body occupies."""

    def __init__(self, permits: Permits, memory: Room) -> None:
        self._permits = permits
        self.memory = Held(memory)
        self._is_in = False

    async def acquire(self) -> None:
        if not self._is_in:
            await self._permits.take()
            self._is_in = True

    def release(self) -> None:
        """Give the permit back while this request waits for something."""
        if self._is_in:
            self._is_in = False
            self._permits.give_back()

    @asynccontextmanager
    async def of_line(self) -> AsyncIterator[None]:
        """Hold a permit of the same kind for one line of the request; raises Overloaded."""
        await self._permits.take(LINE_WAIT)
        try:
            yield
        finally:
            self._permits.give_back()

    async def __aexit__(self, *_: object) -> None:
        self.release()
        self.memory.end()


class Admission:
    """The permits of this process, and the room for the bodies of its requests."""

    def __init__(self, capacity: Capacity, note_refusal: Callable[[], None]) -> None:
        self.reads = Permits(capacity.reads, capacity.longest_wait, note_refusal)
        self._writes = Permits(capacity.writes, capacity.longest_wait, note_refusal)
        self._watching = Permits(1, capacity.longest_wait, note_refusal)
        self.memory = Room(capacity.held_bytes, "The memory for the bodies of requests is full.")
        self.disk = Room(capacity.spooled_bytes, "The room on the disk for the files of requests is full.")

    def permit_for(self, scope: Scope) -> Permit:
        """Return the permit of a request, not yet acquired."""
        path = scope["path"]
        if path == _WATCHING:
            return Permit(self._watching, self.memory)
        is_read = scope["method"] in _READING
        if path in _QUESTIONS and not is_read:
            size = declared_size(scope)
            is_read = size is not None and size <= SMALL_BODY
        is_read = is_read and not _COMPUTED.fullmatch(path)
        return Permit(self.reads if is_read else self._writes, self.memory)


def brings_body(scope: Scope) -> bool:
    """Return whether a request has a body to read; its permit is acquired after the body has arrived."""
    return scope["method"] not in {*_READING, "DELETE"} and declared_size(scope) != 0


def declared_size(scope: Scope) -> int | None:
    """Return the Content-Length of a request, 0 if it sends no body; None: the length is not declared."""
    headers = first_values(scope)
    if "transfer-encoding" in headers:
        return None
    declared = headers.get("content-length", "0")
    # `int` raises ValueError for thousands of digits.
    return int(declared) if declared.isdecimal() and len(declared) < 20 else None


def first_values(scope: Scope) -> dict[str, str]:
    """Return the headers of a request by lower-case name; the first value of a repeated name."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
