"""Requests and answers of JSON lines: each line is answered on its own, in order, as it arrives."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import orjson
import structlog
from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.http.admission import Overloaded, Permit
from app.api.http.bodies import (
    BULK_GRACE_SECONDS,
    BYTE_ORDER_MARK,
    BodyTooLarge,
    UnsupportedMediaType,
    media_type,
    paced,
    require_uncompressed,
)
from app.api.http.problems import Responses, problem_of, problems
from app.api.http.usage import LimitReached, count_lookups, counted, require_key_still_valid
from app.services.access.keys import NoValidKey
from bookprint_core.errors import Unavailable

log = structlog.get_logger()

LINES_AT_ONCE = 4

_LINES: dict[str, Any] = {"type": "string", "format": "binary"}

MEDIA_TYPE = "application/x-ndjson"


T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Line:
    """A non-blank line of a request."""

    number: int  # from 1; counts blank lines
    text: bytes | None  # None: too long


class DuplexResponse(StreamingResponse):
    """An answer that is sent while the request still arrives.

    StreamingResponse itself would read from the request to detect a disconnect, and so lose parts of it.
    """

    media_type = MEDIA_TYPE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def lines_of(
    parts: AsyncIterator[bytes], max_bytes: int, hold: Callable[[int], None]
) -> AsyncIterator[Line]:
    """Yield the lines of a stream; a line that is too long is yielded without text and not held in memory.

    Each change of the bytes held goes to `hold`, negative when fewer. A yielded line still counts as held.
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
    lines: AsyncIterator[T], answer: Callable[[T], Awaitable[A]], at_once: int
) -> AsyncIterator[A]:
    """Yield the answer to each line, in order, as soon as it is ready; at most `at_once` lines are in work.

    A line is in work until its answer is consumed: a slow consumer slows down the reading. An error of
    `lines` is raised after the answers to all earlier lines.
    """
    slots = asyncio.Semaphore(at_once)
    works: asyncio.Queue[asyncio.Future[A] | None] = asyncio.Queue()

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


AnswerLine = Callable[[bytes], Awaitable[dict[str, Any]]]
"""Function that answers one line; an error that it raises concerns that line alone."""


def described_lines(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Describe a body of JSON lines like the given examples."""
    text = b"".join(orjson.dumps(line) + b"\n" for line in lines).decode()
    return {MEDIA_TYPE: {"schema": _LINES, "examples": {"lines": {"summary": "Two lines", "value": text}}}}


def described_answers(lines: Sequence[dict[str, Any]]) -> Responses:
    """Describe an answer of JSON lines like the given examples."""
    content = described_lines(lines)
    return {200: {"description": "One line per request line, in order.", "content": content}} | problems(415)


def answered_lines(
    request: Request, permit: Permit, answer: AnswerLine, *, are_lookups: bool = False
) -> DuplexResponse:
    """Answer the lines of a request; with `are_lookups` each line counts as a lookup.

    Raises UnsupportedMediaType.
    """
    require_uncompressed(request.headers)
    declared = media_type(request.headers)
    if declared not in {MEDIA_TYPE, "application/ndjson"}:
        raise UnsupportedMediaType(
            f"The body is declared as {declared[:80] or 'nothing'}.",
            remedy=f"Send lines of JSON with Content-Type: {MEDIA_TYPE}.",
        )
    parts = counted(paced(request.stream(), BULK_GRACE_SECONDS), request.scope, waits=True)
    max_bytes: int = request.app.state.max_body_bytes
    lines = lines_of(_while_valid(parts, request.scope), max_bytes, permit.memory.hold)
    answer_of = partial(_answer, request, permit, answer, int(are_lookups))
    return DuplexResponse(in_order(lines, answer_of, LINES_AT_ONCE))


async def _while_valid(parts: AsyncIterator[bytes], scope: Scope) -> AsyncIterator[bytes]:
    """Yield the parts of a body until the key is no longer valid; the lines of the last part are refused."""
    async for part in parts:
        yield part
        try:
            with suppress(Unavailable):
                await require_key_still_valid(scope)
        except (NoValidKey, LimitReached):
            return


@asynccontextmanager
async def turn_of_line(request: Request, permit: Permit, lookups: int) -> AsyncIterator[None]:
    """Check the key, wait for the limit of lookups, and hold a permit while a line is answered."""
    await require_key_still_valid(request.scope)
    await count_lookups(request.scope, lookups, waits=True)
    async with permit.of_line():
        yield


async def _answer(request: Request, permit: Permit, answer: AnswerLine, lookups: int, line: Line) -> bytes:
    try:
        if line.text is None:
            raise BodyTooLarge(request.app.state.max_body_bytes)
        async with turn_of_line(request, permit, lookups):
            outcome = await answer(line.text.removeprefix(BYTE_ORDER_MARK))
    except Exception as error:
        problem = problem_of(error)
        if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log.exception("line failed", line=line.number)
        outcome = {"status": problem.status, "problem": problem.model_dump(mode="json")}
        if isinstance(error, Unavailable | Overloaded):
            outcome["retry_after"] = error.retry_after
    finally:
        permit.memory.hold(-len(line.text or b""))
    return orjson.dumps({"line": line.number} | outcome) + b"\n"
