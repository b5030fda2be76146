"""Newline-delimited JSON, one value a line: read while it arrives, and answered before it has ended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

MEDIA_TYPE = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank."""

    number: int  # from 1; blank lines count, too
    text: bytes | None  # None: longer than a line may be


class DuplexResponse(StreamingResponse):
    """An answer that is sent while its request still arrives.

    Starlette's own takes parts of the request off its stream, to learn whether the client has gone.
    """

    media_type = MEDIA_TYPE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        await self.stream_response(send)


async def lines(
    parts: AsyncIterator[bytes], max_bytes: int, hold: Callable[[int], None]
) -> AsyncIterator[Line]:
    """The lines of a stream; one that is too long is passed over without being held.

    `hold` is told how many more bytes are held, fewer where negative. Those of a line that is yielded still
    count.
    """
    number, held, overlong = 1, bytearray(), False
    async for part in parts:
        *ended, rest = part.split(b"\n")
        for piece in ended:
            overlong = overlong or len(held) + len(piece) > max_bytes
            text = bytes(held + piece) if not overlong else None
            is_line = text is None or bool(text.strip())
            hold((len(text) if text and is_line else 0) - len(held))
            if is_line:
                yield Line(number, text)
            number, held, overlong = number + 1, bytearray(), False
        if not overlong:
            hold(len(rest))
            held += rest
        if len(held) > max_bytes:
            hold(-len(held))
            held, overlong = bytearray(), True
    if overlong or held.strip():
        yield Line(number, None if overlong else bytes(held))


async def in_order(
    lines: AsyncIterator[Line], answer: Callable[[Line], Awaitable[bytes]], at_once: int
) -> AsyncIterator[bytes]:
    """The answer to each line, in their order and as soon as it is there; `at_once` lines are in work.

    A line is in work until its answer has been taken, so that a slow taker slows the reading down. What the
    lines raise is raised after the answers to those before.
    """
    slots = asyncio.Semaphore(at_once)
    works: asyncio.Queue[asyncio.Future[bytes] | None] = asyncio.Queue()

    async def read() -> None:
        try:
            await slots.acquire()
            async for line in lines:
                works.put_nowait(asyncio.ensure_future(answer(line)))
                await slots.acquire()
        finally:
            works.put_nowait(None)

    reading = asyncio.create_task(read())
    try:
        while (work := await works.get()) is not None:
            yield await work
            slots.release()
        await reading
    finally:
        reading.cancel()
