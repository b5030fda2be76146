"""Sending messages to one URL: over some connections at once, each to an address that was checked."""

import asyncio
import ssl
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urlsplit

import httpcore

from app.services.changes.addresses import NoWayThere, addresses_of

CONNECTIONS = 16

_LONGEST_ANSWER = 64 * 1024
"""Bytes of an answer that are read, so that its connection can be used again."""

_SECONDS_TO_BEGIN = 5.0
"""Seconds of one call within which a message is begun to be sent."""

_FAILED = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


@dataclass(frozen=True, slots=True)
class Target:
    """Where messages go."""

    url: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The part of the URL that names the host, as the header Host does."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True)
class Message:
    """One POST."""

    body: bytes
    headers: Mapping[str, str]


class NotTaken(Exception):
    """A message that was not taken; the text says why."""


class Gone(NotTaken):
    """The receiver wants nothing more: 410."""


class Sender:
    """Sends to one target, and keeps its connections until the end of the block.

    Only an answer of 2xx within `seconds` counts; redirects are not followed.
    """

    def __init__(
        self, target: Target, allowed_hosts: Collection[str], tls: ssl.SSLContext, seconds: float
    ) -> None:
        self._target = target
        self._allowed_hosts = allowed_hosts
        self._tls = tls
        self._seconds = seconds
        self._idle: list[httpcore.AsyncHTTPConnection] = []

    async def __aenter__(self) -> "Sender":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._idle:
            await connection.aclose()

    async def send(self, messages: Sequence[Message]) -> list[NotTaken | None]:
        """Send the messages, and return why each was not taken, in their order; None: it was.

        After a few seconds no more are begun, and the list is the shorter.
        """
        try:
            addresses = await addresses_of(self._target.host, self._target.port, self._allowed_hosts)
        except NoWayThere as exc:
            return [NotTaken(str(exc)) for _ in messages]
        outcomes: dict[int, NotTaken | None] = {}
        waiting = iter(enumerate(messages))
        until = time.monotonic() + _SECONDS_TO_BEGIN

        async def send_some() -> None:
            for number, message in waiting:
                outcomes[number] = await self._send(message, addresses)
                if time.monotonic() > until:
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(min(CONNECTIONS, len(messages))):
                group.create_task(send_some())
        return [outcomes[number] for number in range(len(outcomes))]

    async def _send(self, message: Message, addresses: Sequence[str]) -> NotTaken | None:
        connection = self._connection(addresses)
        try:
            async with asyncio.timeout(self._seconds):
                status = await self._status(connection, message)
        except TimeoutError:
            reason = f"No answer within {self._seconds:g} seconds."
        except httpcore.ConnectError as exc:
            reason = f"No connection: {exc}"
        except _FAILED as exc:
            reason = f"The connection failed: {str(exc) or type(exc).__name__}"
        else:
            if connection.is_idle():
                self._idle.append(connection)
            return _not_taken(status)
        await connection.aclose()
        return NotTaken(reason)

    def _connection(self, addresses: Sequence[str]) -> httpcore.AsyncHTTPConnection:
        """An idle connection that still stands, else a new one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
        return httpcore.AsyncHTTPConnection(
            httpcore.URL(self._target.url).origin,
            ssl_context=self._tls,
            network_backend=_CheckedAddresses(addresses),
        )

    async def _status(self, connection: httpcore.AsyncHTTPConnection, message: Message) -> int:
        size = 0
        headers = [
            ("Host", self._target.authority),
            ("Content-Length", str(len(message.body))),
            *message.headers.items(),
        ]
        async with connection.stream(
            "POST", self._target.url, headers=headers, content=message.body
        ) as response:
            async for chunk in response.aiter_stream():
                size += len(chunk)
                if size > _LONGEST_ANSWER:
                    break
            return response.status


class _CheckedAddresses(httpcore.AsyncNetworkBackend):
    """Connects to these addresses, wherever the name in the URL leads by now."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address that takes one."""
        *others, last = self._addresses
        for address in others:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError:
                continue
        return await self._backend.connect_tcp(last, port, timeout, local_address, socket_options)


def _not_taken(status: int) -> NotTaken | None:
    if 200 <= status < 300:
        return None
    if status == 410:
        return Gone("The receiver answered 410.")
    if 300 <= status < 400:
        return NotTaken(f"The receiver answered {status}; redirects are not followed.")
    return NotTaken(f"The receiver answered {status}.")
