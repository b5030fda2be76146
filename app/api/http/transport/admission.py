"""Admission: no more requests are worked on than the machine can carry, and the rest are told so at once.

Requests that bring texts, compute with texts or change something have a bulkhead of their own, and so keep
nobody from a lookup. A permit is held while the service works, never while it waits for a sender.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.transport.bulkheads import RETRY_AFTER, Bulkhead, BulkheadTerms, Overloaded

LOOKUP_WAIT, SHORT_LOOKUP_WAIT = 0.1, 0.002
UPLOAD_WAIT, SHORT_UPLOAD_WAIT = 2.0, 1.0
"""Seconds that a request waits for a permit at most, and while its queue stands."""

SMALL_BODY = 64 * 1024
"""Bytes of a body up to which a question counts as a lookup; a longer one brings a text to compute with."""

_WATCHERS = BulkheadTerms(permits=2, longest_wait=2.0, short_wait=0.5)

_ALWAYS_ANSWERED = "/health/live"
_WATCHED = frozenset({"/health/ready", "/metrics"})
_QUESTIONS = frozenset({"/v1/lookups"})
_MASTER_COPIES = re.compile(r"/v1/clusters/[^/]+/text")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(slots=True)
class HeldBytes:
    """The bytes of all bodies that are in memory."""

    most: int
    now: int = 0


class Permit:
    """What a request has of the service: leave to be worked on, and the memory that its body takes."""

    def __init__(self, bulkhead: Bulkhead, held: HeldBytes) -> None:
        self._bulkhead = bulkhead
        self._held = held
        self._own_bytes = 0
        self._is_in = False

    async def acquire(self) -> bool:
        """Be let in; False: it cannot be."""
        self._is_in = await self._bulkhead.acquire()
        return self._is_in

    async def acquire_again(self) -> None:
        """Be let in again after `release`; raises Overloaded."""
        self._is_in = await self._bulkhead.acquire(again=True)
        if not self._is_in:
            raise Overloaded

    def release(self) -> None:
        """Let others in while this request waits for something."""
        if self._is_in:
            self._is_in = False
            self._bulkhead.release()

    @asynccontextmanager
    async def another(self, tries: int) -> AsyncIterator[None]:
        """One more permit in the same bulkhead, for a part of the request.

        Raises Overloaded when there was none at any of so many tries.
        """
        while not await self._bulkhead.acquire():
            tries -= 1
            if not tries:
                raise Overloaded
            await asyncio.sleep(RETRY_AFTER)
        try:
            yield
        finally:
            self._bulkhead.release()

    def hold(self, size: int) -> None:
        """Count so many more bytes of this request's body (fewer where negative); raises Overloaded."""
        size = max(size, -self._own_bytes)  # parts of a request may end after it
        if size > 0 and self._held.now + size > self._held.most:
            raise Overloaded("The bodies of requests take all the memory that they may.")
        self._held.now += size
        self._own_bytes += size

    def end(self) -> None:
        """Give everything back."""
        self.release()
        self.hold(-self._own_bytes)


class Admission:
    """Lets requests in as far as they can be worked on, and answers the others with `refusal`."""

    def __init__(
        self, app: ASGIApp, reads_at_once: int, writes_at_once: int, max_held_bytes: int, refusal: ASGIApp
    ) -> None:
        self._app = app
        self._refusal = refusal
        self._lookups = Bulkhead(BulkheadTerms(reads_at_once, LOOKUP_WAIT, SHORT_LOOKUP_WAIT))
        self._uploads = Bulkhead(BulkheadTerms(writes_at_once, UPLOAD_WAIT, SHORT_UPLOAD_WAIT))
        self._watchers = Bulkhead(_WATCHERS)
        self._held = HeldBytes(max_held_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on once it has a permit."""
        if scope["type"] != "http" or scope["path"] == _ALWAYS_ANSWERED:
            await self._app(scope, receive, send)
            return
        permit = Permit(self._bulkhead_of(scope), self._held)
        if not await permit.acquire():
            await self._refusal(scope, receive, send)
            return
        scope.setdefault("state", {})["permit"] = permit

        async def sending(message: Message) -> None:
            # The answer is made; a client that reads it slowly keeps nobody out.
            permit.release()
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            permit.end()

    def _bulkhead_of(self, scope: Scope) -> Bulkhead:
        path = scope["path"]
        if path in _WATCHED:
            return self._watchers
        if _MASTER_COPIES.fullmatch(path):
            return self._uploads
        if scope["method"] in _READING or (path in _QUESTIONS and _declared_size(scope) <= SMALL_BODY):
            return self._lookups
        return self._uploads


def _declared_size(scope: Scope) -> float:
    """The bytes of the body as its head declares them; infinite where it does not."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return float("inf")
