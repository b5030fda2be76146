"""Posting many books in one request."""

import asyncio
from typing import Any

from fastapi import Request

from app.api.books import BookAnswer
from app.api.http import examples
from app.api.http.bodies import parsed, validated
from app.api.http.deps import ActorDep, MetricsDep, PermitDep, ServicesDep
from app.api.http.lines import DuplexResponse, answered_lines, described_answers, described_lines
from app.api.http.routes import SubjectRouter
from app.api.schemas.submissions import BookBody
from app.services.books import told_of_post

router = SubjectRouter("/v1", tag="books")

_BOOKS = [examples.BookBody, {"pages": examples.TEXT.split("\f")}]
_OUTCOMES: list[dict[str, Any]] = [
    {"line": 1, "status": 201, "id": examples.BOOK_ID, "identifier": examples.IDENTIFIER, "created": True},
    examples.LINE_PROBLEM,
]


@router.post(
    "/books:bulk",
    summary="Post many books",
    response_class=DuplexResponse,
    responses=described_answers(_OUTCOMES),
    scope="ingest",
    openapi_extra={"requestBody": {"required": True, "content": described_lines(_BOOKS)}},
    also=None,
)
async def post_books(
    request: Request, services: ServicesDep, actor: ActorDep, metrics: MetricsDep, permit: PermitDep
) -> DuplexResponse:
    """Stores books, one JSON body of `POST /v1/books` per line, and answers each line with one line.

    An answer line contains the number of the request line, the status, and either `id`, `identifier` and
    `created`, or `problem`. It also contains `warnings` if the book exists with other metadata. Read the
    answer while you send: answer lines arrive during the request. A refused line does not affect others; one
    with status 503 can be sent again after `retry_after` seconds. A stream without Content-Length is read no
    faster than the key's limit of bytes allows. If the key is revoked, the lines received so far are refused
    with 401, and the answer ends.
    """

    async def answer(line: bytes) -> dict[str, Any]:
        submission = await asyncio.to_thread(lambda: validated(BookBody, parsed(line)).to_submission())
        stored = await services.ingest.post(submission, actor=actor)
        metrics.count_post(stored.created)
        book = BookAnswer.of(stored.book)
        status = 201 if stored.created else 200
        outcome = {"status": status, "id": book.id, "identifier": book.identifier, "created": stored.created}
        told = told_of_post(stored, submission, actor)
        return outcome | ({"warnings": told} if told else {})

    return answered_lines(request, permit, answer)
