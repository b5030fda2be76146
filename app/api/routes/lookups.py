"""Finding the books near a book, or near a text that is not stored."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.http.bodies import parsed
from app.api.http.cursors import Cursors
from app.api.http.deps import BookId, metrics, services
from app.api.http.direct import DirectRoute
from app.api.http.openapi import answers, body, problems
from app.api.schemas import examples
from app.api.schemas.answers import NearDuplicates
from app.api.schemas.nearness import near_duplicates_response
from app.api.schemas.requests import LookupBody, NearnessQuery

router = APIRouter(prefix="/v1", tags=["lookups"], default_response_class=Response, route_class=DirectRoute)

_EXAMPLES: dict[str, dict[str, Any]] = {
    "An identifier": {"identifier": examples.IDENTIFIER},
    "A fingerprint": {"fingerprint": examples.FINGERPRINT},
    "A text": {"text": examples.TEXT},
    "Pages": {"pages": examples.TEXT.split("\f")},
    "Signatures": {"signatures": examples.SIGNATURES},
}


@router.get(
    "/books/{book_id}/near-duplicates",
    summary="Find the books near a book",
    responses=answers({200: NearDuplicates}) | problems(404, 422, 503),
)
async def near_duplicates(
    book_id: BookId, query: Annotated[NearnessQuery, Query()], request: Request
) -> Response:
    """Answers the books near this one, itself left out, nearest first.

    With `d`, every book at Hamming distance at most d; with `k`, the k nearest: both provably complete. With
    neither, the books that fingerprint or MinHash propose and their signatures confirm as near-duplicates.
    """
    question = query.to_question()
    opened = await services(request)
    suite = (await opened.suites.current()).serving
    cursors = Cursors("near", book_id.bytes, query.d, query.k, suite.fingerprint)
    (await metrics(request)).count_lookup(question)
    place = cursors.place(query.cursor)
    answer = await opened.lookup.near_duplicates(book_id, question, place, query.limit, suite)
    cursor = cursors.at_place(answer.next)
    found = [match.book.book_id for match in answer.matches] if answer.related else []
    relations = await opened.relations.findings(book_id, found)
    return near_duplicates_response(
        answer, cursor, book_id=book_id, d=query.d, k=query.k, relations=relations
    )


@router.post(
    "/lookups",
    summary="Find the books near a text",
    responses=answers({200: NearDuplicates}) | problems(400, 413, 415, 422, 503),
    openapi_extra=body(LookupBody, _EXAMPLES),
)
async def look_up(query: Annotated[NearnessQuery, Query()], request: Request) -> Response:
    """Answers the books near what is sent, as for a stored book. Nothing is stored."""
    question = query.to_question()
    opened = await services(request)
    suite = (await opened.suites.current()).serving
    wanted = await parsed(request, LookupBody, lambda body: body.to_query(suite))
    fingerprint, minhash, sample = wanted.fingerprint, wanted.minhash, wanted.sample
    cursors = Cursors(
        "look-up",
        fingerprint and (fingerprint.recipe, fingerprint.bits),
        minhash and (minhash.recipe, minhash.values.tobytes(), minhash.shingle_count),
        sample and (sample.recipe, sample.hashes.tobytes(), sample.level),
        query.d,
        query.k,
    )
    (await metrics(request)).count_lookup(question)
    place = cursors.place(query.cursor)
    answer = await opened.lookup.look_up(wanted, question, place, query.limit)
    cursor = cursors.at_place(answer.next)
    return near_duplicates_response(answer, cursor, book_id=None, d=query.d, k=query.k, relations={})
