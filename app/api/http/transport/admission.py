"""Admission: no more requests are worked on than the machine can carry, and the rest are told so at once.

Requests that bring texts or change something have a room of their own, and so keep nobody from a lookup.
A place is held while the service works, never while it waits for a sender.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.transport.rooms import RETRY_AFTER, Overloaded, Room, Terms

LOOKUP_WAIT, SHORT_LOOKUP_WAIT = 0.1, 0.002
UPLOAD_WAIT, SHORT_UPLOAD_WAIT = 2.0, 1.0
"""Seconds that a request waits for a place at most, and while its queue stands."""

SMALL_BODY = 64 * 1024
"""Bytes of a body up to which a question counts as a lookup; a longer one brings a text to compute with."""

_WATCHERS = Terms(places=2, longest_wait=2.0, short_wait=0.5)

_ALWAYS_ANSWERED = "/health/live"
_WATCHED = frozenset({"/health/ready", "/metrics"})
_QUESTIONS = frozenset({"/v1/lookups"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(slots=True)
class HeldBytes:
    """The bytes of all bodies that are in memory."""

    most: int
    now: int = 0


class Place:
    """What a request has of the service: its place in a room, and the memory that its body takes."""

    def __init__(self, room: Room, held: HeldBytes) -> None:
        self._room = room
        self._held = held
        self._own_bytes = 0
        self._is_in = False

    async def enter(self) -> bool:
        """Take a place; False: there is none."""
        self._is_in = await self._room.enter()
        return self._is_in

    async def go_on(self) -> None:
        """Take a place again; raises Overloaded."""
        self._is_in = await self._room.enter(again=True)
        if not self._is_in:
            raise Overloaded

    def give_back(self) -> None:
        """Leave the place to others while this request waits for something."""
        if self._is_in:
            self._is_in = False
            self._room.leave()

    @asynccontextmanager
    async def beside(self, tries: int) -> AsyncIterator[None]:
        """One more place in the same room, for a part of the request.

        Raises Overloaded when there was none at any of so many tries.
        """
        while not await self._room.enter():
            tries -= 1
            if not tries:
                raise Overloaded
            await asyncio.sleep(RETRY_AFTER)
        try:
            yield
        finally:
            self._room.leave()

    def hold(self, size: int) -> None:
        """Count so many more bytes of this request's body (fewer where negative); raises Overloaded."""
        size = max(size, -self._own_bytes)  # parts of a request may end after it
        if size > 0 and self._held.now + size > self._held.most:
            raise Overloaded("The bodies of requests take all the memory that they may.")
        self._held.now += size
        self._own_bytes += size

    def end(self) -> None:
        """Give everything back."""
        self.give_back()
        self.hold(-self._own_bytes)


class Admission:
    """Lets requests in as far as there is room, and answers the others with `refusal`."""

    def __init__(
        self, app: ASGIApp, lookup_places: int, upload_places: int, max_held_bytes: int, refusal: ASGIApp
    ) -> None:
        self._app = app
        self._refusal = refusal
        self._lookups = Room(Terms(lookup_places, LOOKUP_WAIT, SHORT_LOOKUP_WAIT))
        self._uploads = Room(Terms(upload_places, UPLOAD_WAIT, SHORT_UPLOAD_WAIT))
        self._watchers = Room(_WATCHERS)
        self._held = HeldBytes(max_held_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on once it has a place."""
        if scope["type"] != "http" or scope["path"] == _ALWAYS_ANSWERED:
            await self._app(scope, receive, send)
            return
        place = Place(self._room_of(scope), self._held)
        if not await place.enter():
            await self._refusal(scope, receive, send)
            return
        scope.setdefault("state", {})["place"] = place

        async def sending(message: Message) -> None:
            # The answer is made; a client that reads it slowly keeps nobody out.
            place.give_back()
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            place.end()

    def _room_of(self, scope: Scope) -> Room:
        path = scope["path"]
        if path in _WATCHED:
            return self._watchers
        if scope["method"] in _READING or (path in _QUESTIONS and _declared_size(scope) <= SMALL_BODY):
            return self._lookups
        return self._uploads


def _declared_size(scope: Scope) -> float:
    """The bytes of the body as its head declares them; infinite where it does not."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return float("inf")
