"""Connections that are closed where the head of a request comes too slowly or has no end.

uvicorn waits for a head for ever and takes one of any length; `bookprint serve` has it use this class.
"""

import asyncio
from dataclasses import dataclass

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.replaceable import LEAVING

HEAD_SECONDS = 10.0
"""Seconds from the connection, or from the first byte of a later request, to the end of the head."""

MAX_HEAD_BYTES = 64 * 1024
"""Bytes of URL and headers."""

UNREAD_SECONDS = 60.0
"""Seconds for which the rest of a body is taken whose request has been answered."""


@dataclass(slots=True)
class _Head:
    """A head that has not ended."""

    size: int = 0  # bytes


class HeadTooLong(Exception):
    """The head of a request is too long; uvicorn answers 400."""


class BoundedConnection(HttpToolsProtocol):
    """A connection of uvicorn's whose requests must begin within bounds."""

    _deadline: asyncio.TimerHandle | None = None
    _head: _Head | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head = _Head()
        self._expect_within(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; answer 400 and close where the head is too long."""
        head = self._head
        super().data_received(data)
        if head is None or head is not self._head or self.transport.is_closing():
            return
        head.size += len(data)
        if head.size > MAX_HEAD_BYTES:
            self.send_400_response("The head of the request is too long.")
        elif self._deadline is None:
            self._expect_within(HEAD_SECONDS)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = _Head()
        if self._deadline is None:
            self._expect_within(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        """Take the head, and leave the body to the application; raises HeadTooLong."""
        self._expect_nothing()
        self._head = None
        # Counted again, because all of it may have arrived at once.
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            raise HeadTooLong
        super().on_headers_complete()
        if LEAVING in self.app_state:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Note the end of the body; blank lines that may follow belong to the next head."""
        self._expect_nothing()
        self._head = _Head()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request, or take the rest of this one for a while."""
        unread = self.cycle.response_complete and self.cycle.more_body
        super().on_response_complete()
        if unread and not self.transport.is_closing():
            self._expect_within(UNREAD_SECONDS)

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self._cut_off)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut_off(self) -> None:
        self._deadline = None
        if not getattr(self.cycle, "response_complete", True):
            # While a request is answered the next one is not read, so its sender is not to blame.
            self._expect_within(HEAD_SECONDS)
        elif not self.transport.is_closing():
            self.transport.close()
