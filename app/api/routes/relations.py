"""How a book is related to others, and what people decide about it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from app.api.http import deps
from app.api.http.bodies import parsed
from app.api.http.cursors import Cursors
from app.api.http.deps import BookId, ServicesDep
from app.api.http.openapi import answers, body, problems
from app.api.schemas import examples
from app.api.schemas.answers import json_response
from app.api.schemas.relations import PageRelation, RelationsAnswer
from app.api.schemas.requests import DecisionBody, RelationsQuery

router = APIRouter(
    prefix="/v1/books/{book_id}/relations", tags=["relations"], default_response_class=Response
)


async def _other_id(
    other_id: Annotated[str, Path(description="Id of the other book.", examples=[examples.OTHER_ID])],
) -> UUID:
    return await deps.book_id(other_id)


OtherId = Annotated[UUID, Depends(_other_id)]


@router.get(
    "", summary="Read a book's relations", responses=answers({200: RelationsAnswer}) | problems(404, 422, 503)
)
async def list_relations(
    book_id: BookId, query: Annotated[RelationsQuery, Query()], services: ServicesDep
) -> Response:
    """Answers how this book is related to every other one that it was compared with, closest first.

    The comparison runs in the background: `pending` says whether it still does, and `wait` holds the answer
    until it is done. All direct relations come in one answer; only those known `via` a relative page.
    """
    cursors = Cursors("relations", book_id.bytes)
    found = await services.relations.of_book(book_id, cursors.book(query.cursor), query.limit, query.wait)
    next_cursor = None if found.next is None else cursors.at_book(found.next)
    return json_response(RelationsAnswer.of(found, next_cursor))


@router.get(
    "/{other_id}",
    summary="Read one relation",
    responses=answers({200: PageRelation}) | problems(404, 422, 503),
)
async def read_relation(book_id: BookId, other_id: OtherId, services: ServicesDep) -> Response:
    """Answers how two books are related, with the pages that match; all of it told of the first one."""
    return json_response(PageRelation.of_pair(*await services.relations.pair(book_id, other_id)))


@router.put(
    "/{other_id}/decision",
    summary="Decide on a relation",
    responses=answers({200: PageRelation}) | problems(400, 404, 409, 413, 415, 422, 503),
    openapi_extra=body(
        DecisionBody,
        {"Another kind": {"kind": "SAME_TEXT"}, "Not related": {"verdict": "rejected"}},
    ),
)
async def decide(request: Request, book_id: BookId, other_id: OtherId, services: ServicesDep) -> Response:
    """Records a person's verdict, in place of an earlier one; it outranks the machine until it is withdrawn.

    `confirmed` keeps what the machine has found, whatever it may say later; `rejected` keeps the two books
    apart; `kind` names another relation. The words `"confirmed"` and `"rejected"` may stand alone.
    """
    verdict, kind = await parsed(request, DecisionBody, DecisionBody.to_verdict)
    return json_response(
        PageRelation.of_pair(*await services.relations.decide(book_id, other_id, verdict, kind))
    )


@router.delete(
    "/{other_id}/decision",
    status_code=204,
    summary="Withdraw a decision",
    responses=problems(404, 422, 503),
)
async def withdraw(book_id: BookId, other_id: OtherId, services: ServicesDep) -> Response:
    """Forgets what a person decided: what the machine found counts again."""
    await services.relations.withdraw(book_id, other_id)
    return Response(status_code=204)
