"""Posting many books in one request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api import examples
from app.api.books import BookAnswer
from app.api.http.admission import Overloaded, Permit
from app.api.http.bodies import (
    BULK_GRACE_SECONDS,
    BYTE_ORDER_MARK,
    BodyTooLarge,
    UnsupportedMediaType,
    media_type,
    paced,
    parsed,
    require_uncompressed,
    validated,
)
from app.api.http.deps import ActorDep, MetricsDep, PermitDep, ServicesDep
from app.api.http.metrics import Metrics
from app.api.http.openapi import Responses, problems
from app.api.http.problems import problem_of
from app.api.http.routes import SubjectRouter
from app.api.http.usage import LimitReached, counted, require_key_still_valid
from app.api.submissions import BookBody
from app.core.errors import Unavailable
from app.core.model import Submission
from app.services.access.audit import Actor
from app.services.access.keys import NoValidKey
from app.services.books import told_of_post
from app.wiring import Services

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
        await self.stream_response(send)


async def lines_of(
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


router = SubjectRouter("/v1", tag="books")
log = structlog.get_logger()

_LINES_AT_ONCE = 4

_LINES: dict[str, Any] = {"type": "string", "format": "binary"}
_BOOKS = [{"text": examples.TEXT} | examples.METADATA, {"pages": examples.TEXT.split("\f")}]
_OUTCOMES = [
    {"line": 1, "status": 201, "id": examples.BOOK_ID, "identifier": examples.IDENTIFIER, "created": True},
    {
        "line": 2,
        "status": 503,
        "problem": {
            "type": "urn:bookprint:problem:unavailable",
            "title": "A part of the service is down",
            "status": 503,
            "detail": "The catalogue (Postgres) cannot be reached. Try again in a moment.",
            "errors": [],
        },
        "retry_after": 1,
    },
]


def _content(lines: list[dict[str, Any]]) -> dict[str, Any]:
    text = b"".join(orjson.dumps(line) + b"\n" for line in lines).decode()
    return {MEDIA_TYPE: {"schema": _LINES, "examples": {"lines": {"summary": "Two lines", "value": text}}}}


_ANSWERED: Responses = {
    200: {"description": "One line for each line, in their order.", "content": _content(_OUTCOMES)}
}


@router.post(
    "/books:bulk",
    summary="Post many books",
    response_class=DuplexResponse,
    responses=_ANSWERED | problems(415),
    scope="ingest",
    openapi_extra={"requestBody": {"required": True, "content": _content(_BOOKS)}},
)
async def post_books(
    request: Request, services: ServicesDep, actor: ActorDep, metrics: MetricsDep, permit: PermitDep
) -> DuplexResponse:
    """Takes books in, one JSON body of `POST /v1/books` a line, and answers each with one line.

    A line of the answer has the number of its line, the status, and `id`, `identifier` and `created`, or
    `problem`; `warnings`, too, where the book is there already, in another collection. It comes while the
    request is still sent, so read it meanwhile. A line that is refused spoils no other; one with status 503
    can be sent again after `retry_after` seconds. A stream without Content-Length is taken no faster than the
    key's limit of bytes allows. When the key is revoked the lines that have come are refused with 401, and
    the answer ends.
    """
    require_uncompressed(request.headers)
    declared = media_type(request.headers)
    if declared not in {MEDIA_TYPE, "application/ndjson"}:
        raise UnsupportedMediaType(
            f"The body is declared as {declared[:80] or 'nothing'}.",
            remedy=f"Send lines of JSON with Content-Type: {MEDIA_TYPE}.",
        )
    answer = partial(_answer, request=request, services=services, actor=actor, metrics=metrics, permit=permit)
    parts = counted(paced(request.stream(), BULK_GRACE_SECONDS), request.scope, waits=True)
    max_bytes: int = request.app.state.max_body_bytes
    lines = lines_of(_while_valid(parts, request.scope), max_bytes, permit.memory.hold)
    return DuplexResponse(in_order(lines, answer, _LINES_AT_ONCE))


async def _while_valid(parts: AsyncIterator[bytes], scope: Scope) -> AsyncIterator[bytes]:
    """The parts of a body, until one has come whose key is not valid any more; its lines are refused."""
    async for part in parts:
        yield part
        try:
            with suppress(Unavailable):
                await require_key_still_valid(scope)
        except (NoValidKey, LimitReached):
            return


async def _answer(
    line: Line, request: Request, services: Services, actor: Actor, metrics: Metrics, permit: Permit
) -> bytes:
    try:
        if line.text is None:
            raise BodyTooLarge(request.app.state.max_body_bytes)
        await require_key_still_valid(request.scope)
        async with permit.of_line():
            submission = await asyncio.to_thread(_submission, line.text)
            stored = await services.ingest.post(submission, actor=actor)
    except Exception as error:
        problem = problem_of(error)
        if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log.exception("line failed", line=line.number)
        outcome: dict[str, Any] = {"status": problem.status, "problem": problem.model_dump(mode="json")}
        if isinstance(error, Unavailable | Overloaded):
            outcome["retry_after"] = error.retry_after
        return _written(line, outcome)
    finally:
        permit.memory.hold(-len(line.text or b""))
    metrics.count_post(stored.created)
    book = BookAnswer.of(stored.book)
    status = 201 if stored.created else 200
    outcome = {"status": status, "id": book.id, "identifier": book.identifier, "created": stored.created}
    told = told_of_post(stored, submission, actor)
    return _written(line, outcome | ({"warnings": told} if told else {}))


def _submission(text: bytes) -> Submission:
    return validated(BookBody, parsed(text.removeprefix(BYTE_ORDER_MARK))).to_submission()


def _written(line: Line, outcome: dict[str, Any]) -> bytes:
    return orjson.dumps({"line": line.number} | outcome) + b"\n"
