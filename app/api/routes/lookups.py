"""Finding the books near a book, or near a text that is not stored."""

import asyncio
from collections.abc import Callable
from typing import Annotated

import orjson
from fastapi import APIRouter, Body, Query, Response

from app.api.http.access import LOOKUP, needs
from app.api.http.bodies import JsonRoute
from app.api.http.cursors import Cursors
from app.api.http.deps import BookId, MetricsDep, ServicesDep
from app.api.http.metrics import Metrics
from app.api.http.openapi import problems, with_file
from app.api.schemas import examples
from app.api.schemas.lookups import (
    LookupAnswer,
    LookupBody,
    NearDuplicates,
    NearnessQuery,
    lookup_answer_of,
    near_duplicates_of,
)
from app.core.model import Entry, Submission
from app.core.recipe import Suite
from app.core.signatures.identifier import Identifier
from app.services.lookups.queries import query_entry
from app.wiring import Services

router = APIRouter(prefix="/v1", tags=["lookups"], route_class=JsonRoute)

_QUERIES = examples.named(
    {
        "An identifier": {"identifier": examples.IDENTIFIER},
        "A long identifier with an ISBN": {"identifier": examples.COMPOSITE},
        "A fingerprint": {"fingerprint": examples.FINGERPRINT},
        "A text": {"text": examples.TEXT},
        "Pages": {"pages": examples.TEXT.split("\f")},
        "Signatures": {"signatures": examples.SIGNATURES},
    }
)


@router.get(
    "/books/{book_id}/near-duplicates",
    summary="Find the books near a book",
    response_model=NearDuplicates,
    responses=problems(404, 422, 503),
    openapi_extra=needs("read") | LOOKUP,
)
async def near_duplicates(
    book_id: BookId, query: Annotated[NearnessQuery, Query()], services: ServicesDep, metrics: MetricsDep
) -> Response:
    """Answers the books near this one, itself left out, nearest first.

    With `d`, every book at Hamming distance at most d; with `k`, the k nearest: both provably complete. With
    neither, the books that fingerprint or MinHash propose and their signatures confirm as near-duplicates.
    """
    question = query.to_question()
    suite = await services.lookup.serving()
    cursors = Cursors("near", book_id.bytes, query.d, query.k, suite.fingerprint)
    metrics.count_lookup(question)
    position = cursors.place(query.cursor)
    answer = await services.lookup.near_duplicates(book_id, question, position, query.limit, suite)
    related = [match.book.book_id for match in answer.matches] if answer.related else []
    relations = await services.relations.summaries(book_id, related)
    return _written(near_duplicates_of(answer, query, cursors.at_place(answer.next), book_id, relations))


@router.post(
    "/lookups",
    summary="Find the books near a text",
    response_model=LookupAnswer,
    responses=problems(400, 413, 415, 422, 503),
    openapi_extra=needs("read") | LOOKUP | with_file(),
)
async def look_up(
    body: Annotated[LookupBody, Body(openapi_examples=_QUERIES)],
    query: Annotated[NearnessQuery, Query()],
    services: ServicesDep,
    metrics: MetricsDep,
) -> Response:
    """Answers the books near the text, signatures, identifier, fingerprint or file; nothing is stored.

    With neither `d` nor `k`, an identifier finds what `bookprint compare` calls the same without the service:
    by its length, its MinHash bits where it has them, and more readily where the ISBN is the same.
    """
    if (identifier := body.to_identifier()) is not None:
        return await _answer_identifier(identifier, query, services, metrics)
    return await answer_lookup(
        lambda suite: query_entry(suite, body.to_content(), body.to_sketch(), body.to_fingerprint()),
        query,
        services,
        metrics,
    )


async def _answer_identifier(
    identifier: Identifier, query: NearnessQuery, services: Services, metrics: Metrics
) -> Response:
    question, fingerprint, minhash = query.to_question(), identifier.fingerprint, identifier.minhash
    cursors = Cursors(
        "look-up",
        (fingerprint.recipe, fingerprint.bits),
        minhash and (minhash.recipe, minhash.bits, minhash.shingle_count),
        (identifier.word_count, identifier.isbn),
        query.d,
        query.k,
    )
    metrics.count_lookup(question)
    position = cursors.place(query.cursor)
    answer = await services.identifier_lookup.look_up(identifier, question, position, query.limit)
    document = near_duplicates_of(answer, query, cursors.at_place(answer.next))
    return _written(lookup_answer_of(document, None))


async def answer_lookup(
    entry_under: Callable[[Suite], Entry],
    query: NearnessQuery,
    services: Services,
    metrics: Metrics,
    sent: Submission | None = None,
) -> Response:
    """The books near the signatures that a book has under the suite that serves; the file it came in."""
    question = query.to_question()
    suite = await services.lookup.serving()
    entry = await asyncio.to_thread(entry_under, suite)
    fingerprint, minhash, sample = entry.fingerprint, entry.minhash, entry.sample
    cursors = Cursors(
        "look-up",
        fingerprint and (fingerprint.recipe, fingerprint.bits),
        minhash and (minhash.recipe, minhash.values.tobytes(), minhash.shingle_count),
        sample and (sample.recipe, sample.hashes.tobytes(), sample.level),
        query.d,
        query.k,
    )
    metrics.count_lookup(question)
    answer = await services.lookup.look_up(entry, question, cursors.place(query.cursor), query.limit)
    document = near_duplicates_of(answer, query, cursors.at_place(answer.next))
    return _written(lookup_answer_of(document, sent))


def _written(document: NearDuplicates | LookupAnswer) -> Response:
    return Response(orjson.dumps(document), media_type="application/json")
