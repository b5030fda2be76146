"""A receiver of webhooks: an HTTP server that keeps what it is sent and answers as it is told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """One request."""

    headers: dict[str, str]
    body: bytes

    @cached_property
    def item(self) -> Json:
        item: Json = json.loads(self.body)
        return item


@dataclass
class Receiver:
    """A running receiver."""

    answer: Callable[[Message], int] = lambda message: 204
    port: int = 0
    messages: list[Message] = field(default_factory=list)
    accepted: list[Message] = field(default_factory=list)  # those answered with 2xx
    delay: float = 0.0  # seconds before an answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/changes"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])
                }
                message = Message(headers, await reader.readexactly(int(headers["content-length"])))
                self.messages.append(message)
                status = self.answer(message)
                if 200 <= status < 300:
                    self.accepted.append(message)
                await asyncio.sleep(self.delay)
                location = "Location: http://127.0.0.1:1/\r\n" if 300 <= status < 400 else ""
                writer.write(f"HTTP/1.1 {status} X\r\n{location}Content-Length: 0\r\n\r\n".encode())
                await writer.drain()
        writer.close()


@asynccontextmanager
async def receiving(answer: Callable[[Message], int] = lambda message: 204) -> AsyncIterator[Receiver]:
    """A receiver on a free port until the block ends."""
    receiver = Receiver(answer)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
