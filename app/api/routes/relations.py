"""Relations of a book to others, and decisions of people on them."""

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response

from app.api.http.access import needs, require_key_still_valid
from app.api.http.bodies import JsonRoute
from app.api.http.cursors import Cursors
from app.api.http.deps import ActorDep, BookId, OtherId, PermitDep, ServicesDep
from app.api.http.openapi import ProblemResponse, problems, problems_only
from app.api.schemas import examples
from app.api.schemas.relations import (
    DecisionBody,
    PageRelation,
    PageRelationQuery,
    RelationsAnswer,
    RelationsQuery,
)

router = APIRouter(prefix="/v1/books/{book_id}/relations", tags=["relations"], route_class=JsonRoute)

_DECISIONS = examples.named({"Another kind": {"kind": "SAME_TEXT"}, "Not related": {"verdict": "rejected"}})


@router.get(
    "",
    summary="Read a book's relations",
    responses=problems(404, 422, 503),
    openapi_extra=needs("read"),
)
async def list_relations(
    book_id: BookId,
    query: Annotated[RelationsQuery, Query()],
    request: Request,
    services: ServicesDep,
    permit: PermitDep,
) -> RelationsAnswer:
    """Answers how this book is related to every other one that it was compared with, closest first.

    The comparison runs in the background: `pending` says whether it still does, and `wait` holds the answer
    until it is done. All direct relations come in one answer; only those known `via` a relative page.
    """
    cursors = Cursors("relations", book_id.bytes)
    relations = await services.relations.of_book(
        book_id, cursors.book(query.cursor), query.limit, query.wait, permit.release
    )
    await require_key_still_valid(request.scope)
    next_cursor = None if relations.next is None else cursors.at_book(relations.next)
    return RelationsAnswer.of(relations, next_cursor)


@router.get(
    "/{other_id}",
    summary="Read one relation",
    responses=problems(404, 409, 422, 503),
    openapi_extra=needs("read"),
)
async def read_relation(
    book_id: BookId, other_id: OtherId, query: Annotated[PageRelationQuery, Query()], services: ServicesDep
) -> PageRelation:
    """Answers how two books are related, with the pages that match, as seen from the first one.

    With `exact` the two texts are compared once more, shingle by shingle; both must be kept.
    """
    related, matches = await services.relations.pair(book_id, other_id)
    overlap = await services.relations.exact_overlap(book_id, other_id) if query.exact else None
    return PageRelation.of_pair(related, matches, overlap)


@router.put(
    "/{other_id}/decision",
    summary="Decide on a relation",
    responses=problems(400, 404, 409, 413, 415, 422, 503),
    openapi_extra=needs("decide"),
)
async def decide(
    body: Annotated[DecisionBody, Body(openapi_examples=_DECISIONS)],
    book_id: BookId,
    other_id: OtherId,
    services: ServicesDep,
    actor: ActorDep,
) -> PageRelation:
    """Records a person's verdict, in place of an earlier one; it outranks the machine until it is withdrawn.

    `confirmed` keeps the machine's present finding; `rejected` keeps the two books apart; `kind` names
    another relation. The words `"confirmed"` and `"rejected"` may stand alone.
    """
    verdict, kind = body.to_verdict()
    decided = await services.relations.decide(book_id, other_id, verdict, kind, actor=actor)
    return PageRelation.of_pair(*decided)


@router.delete(
    "/{other_id}/decision",
    status_code=204,
    summary="Withdraw a decision",
    response_class=ProblemResponse,
    responses=problems_only(404, 422, 503),
    openapi_extra=needs("decide"),
)
async def withdraw(book_id: BookId, other_id: OtherId, services: ServicesDep, actor: ActorDep) -> Response:
    """Withdraws a person's decision: the machine's finding counts again."""
    await services.relations.withdraw(book_id, other_id, actor=actor)
    return Response(status_code=204)
