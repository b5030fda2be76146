"""Connections that are closed if the head of a request arrives too slowly or is too long.

uvicorn bounds neither, so `bookprint serve` configures it with this class.
"""

import asyncio
import re
from dataclasses import dataclass
from functools import lru_cache

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.api.http.admission import COMPUTED, TOO_MANY, Overloaded, Permits
from app.api.http.middleware import HEADERS, HEADERS_OVER_TLS
from app.api.http.problems import problem_response
from app.replaceable import LEAVING

HEAD_SECONDS = 10.0
"""Seconds from the connection, or from the first byte of a later request, to the end of the head."""

MAX_HEAD_BYTES = 64 * 1024
"""Maximum bytes of URL and headers."""

UNREAD_SECONDS = 60.0
"""Seconds for which the rest of a body is read after its request was answered."""


READ_PERMITS = "read_permits"
"""Key, in the lifespan's state, of the permits whose requests may be refused unparsed."""

_HOPE = 0.75
"""Share of the longest wait above which requests are refused unparsed.

It is below 1, because many requests may be parsed before the first of them waits."""

_WHOLE_READ = re.compile(rb"GET (?!%b)/v1/[!-~]* HTTP/1\.1\r\n" % COMPUTED.encode(), re.ASCII)
_NOT_SIMPLE = re.compile(
    rb"\r\n(content-length|transfer-encoding|origin|upgrade|expect|connection(?!: *keep-alive\r))", re.I
)
"""Headers that require more than an answer."""


@dataclass(slots=True)
class _Head:
    """An incomplete head."""

    size: int = 0  # bytes


class HeadTooLong(Exception):
    """The head of a request is too long; uvicorn answers 400."""


class BoundedConnection(HttpToolsProtocol):
    """A connection of uvicorn with bounds on the time and the length of heads."""

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
        """Read data; answer 400 and close if the head is too long.

        A request that would wait too long is refused before it is parsed. In a flood, parsing it would take
        time from requests that can be answered.
        """
        reads: Permits | None = self.app_state.get(READ_PERMITS)
        if reads is not None and reads.is_hopeless(_HOPE) and self._is_idle() and _is_whole_read(data):
            self.transport.write(_refusal(reads.refusal().retry_after, self.scheme == "https"))
            if self._deadline is not None:  # the first head has still not been parsed
                self._expect_within(HEAD_SECONDS)
            return
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
        """Accept the head and start the application; raises HeadTooLong."""
        self._expect_nothing()
        self._head = None
        # Checked again, because the whole head may have arrived at once.
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            raise HeadTooLong
        super().on_headers_complete()
        if LEAVING in self.app_state:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Note the end of the body; blank lines after it belong to the next head."""
        self._expect_nothing()
        self._head = _Head()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continue with the next request, or read the rest of this one for UNREAD_SECONDS."""
        unread = self.cycle.response_complete and self.cycle.more_body
        super().on_response_complete()
        if unread and not self.transport.is_closing():
            self._expect_within(UNREAD_SECONDS)

    def _is_idle(self) -> bool:
        """Return whether the next bytes begin a request, and no request is being answered."""
        at_beginning = self._head is not None and not self._head.size
        # Before the first head there is no cycle.
        return (
            at_beginning and getattr(self.cycle, "response_complete", True) and LEAVING not in self.app_state
        )

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
            # The next request is not read during an answer, so its sender is not too slow.
            self._expect_within(HEAD_SECONDS)
        elif not self.transport.is_closing():
            self.transport.close()


def _is_whole_read(data: bytes) -> bool:
    """Return whether the bytes are exactly one complete reading request."""
    return (
        data.find(b"\r\n\r\n") == len(data) - 4
        and _WHOLE_READ.match(data) is not None
        and _NOT_SIMPLE.search(data) is None
    )


@lru_cache(maxsize=64)
def _refusal(retry_after: int, over_tls: bool) -> bytes:
    """Return the bytes of the answer to a refused request."""
    response = problem_response(Overloaded(TOO_MANY, retry_after))
    headers = [*response.raw_headers, *(HEADERS_OVER_TLS if over_tls else HEADERS)]
    lines = [b"HTTP/1.1 503 Service Unavailable", *(name + b": " + value for name, value in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(response.body)
