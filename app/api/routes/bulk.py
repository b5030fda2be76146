"""Posting many books in one request."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from fastapi import APIRouter, Request
from starlette.types import Scope

from app.api.http import ndjson
from app.api.http.access import ScopedRoute, needs, require_key_still_valid
from app.api.http.bodies import (
    BYTE_ORDER_MARK,
    BodyTooLarge,
    UnsupportedMediaType,
    media_type,
    parsed,
    require_uncompressed,
    validated,
)
from app.api.http.deps import ActorDep, MetricsDep, PermitDep, ServicesDep
from app.api.http.metrics import Metrics
from app.api.http.ndjson import DuplexResponse, Line
from app.api.http.openapi import Responses, problems
from app.api.http.problems.of_errors import problem_of
from app.api.http.transport.admission import Overloaded, Permit
from app.api.http.transport.pace import BULK_GRACE_SECONDS, paced
from app.api.http.usage import LimitReached, counted
from app.api.schemas import examples
from app.api.schemas.books import BookAnswer, BookBody
from app.core.audit import Actor
from app.core.errors import NoValidKey, Unavailable
from app.core.model import Submission
from app.wiring import Services

router = APIRouter(prefix="/v1", tags=["books"], route_class=ScopedRoute)
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
    return {
        ndjson.MEDIA_TYPE: {"schema": _LINES, "examples": {"lines": {"summary": "Two lines", "value": text}}}
    }


_ANSWERED: Responses = {
    200: {"description": "One line for each line, in their order.", "content": _content(_OUTCOMES)}
}


@router.post(
    "/books:bulk",
    summary="Post many books",
    response_class=DuplexResponse,
    responses=_ANSWERED | problems(415),
    openapi_extra=needs("ingest") | {"requestBody": {"required": True, "content": _content(_BOOKS)}},
)
async def post_books(
    request: Request, services: ServicesDep, actor: ActorDep, metrics: MetricsDep, permit: PermitDep
) -> DuplexResponse:
    """Takes books in, one JSON body of `POST /v1/books` a line, and answers each with one line.

    A line of the answer has the number of its line, the status, and `id`, `identifier` and `created`, or
    `problem`. It comes while the request is still sent, so read it meanwhile. A line that is refused spoils
    no other; one with status 503 can be sent again after `retry_after` seconds. A stream without
    Content-Length is taken no faster than the key's limit of bytes allows. When the key is revoked the lines
    that have come are refused with 401, and the answer ends.
    """
    require_uncompressed(request.headers)
    declared = media_type(request.headers)
    if declared not in {ndjson.MEDIA_TYPE, "application/ndjson"}:
        raise UnsupportedMediaType(
            f"The body is declared as {declared[:80] or 'nothing'}.",
            remedy=f"Send lines of JSON with Content-Type: {ndjson.MEDIA_TYPE}.",
        )
    answer = partial(_answer, request=request, services=services, actor=actor, metrics=metrics, permit=permit)
    parts = counted(paced(request.stream(), BULK_GRACE_SECONDS), request.scope, waits=True)
    max_bytes: int = request.app.state.max_body_bytes
    lines = ndjson.lines(_while_valid(parts, request.scope), max_bytes, permit.hold)
    return DuplexResponse(ndjson.in_order(lines, answer, _LINES_AT_ONCE))


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
        permit.hold(-len(line.text or b""))
    metrics.count_post(stored.created)
    book = BookAnswer.of(stored.book)
    status = 201 if stored.created else 200
    return _written(
        line, {"status": status, "id": book.id, "identifier": book.identifier, "created": stored.created}
    )


def _submission(text: bytes) -> Submission:
    return validated(BookBody, parsed(text.removeprefix(BYTE_ORDER_MARK))).to_submission()


def _written(line: Line, outcome: dict[str, Any]) -> bytes:
    return orjson.dumps({"line": line.number} | outcome) + b"\n"
