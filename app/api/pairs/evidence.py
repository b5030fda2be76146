"""The relation of two books and its evidence, as JSON or in formats for other tools."""

import asyncio
from typing import Annotated

from fastapi import Depends, Query, Response
from pydantic import Field

from app.api.http import deps
from app.api.http.deps import BookId, OtherId, ServicesDep
from app.api.http.openapi import with_headers
from app.api.http.routes import SubjectRouter
from app.api.pairs.relations import PageRelation
from app.api.schemas.documents import Parameters
from app.catalog.evidence import Form, written


class PageRelationQuery(Parameters):
    """Option to compare the texts themselves."""

    exact: bool = Field(
        default=False, description="true: count the shingles that the two texts share; only for JSON."
    )


router = SubjectRouter("/v1/books/{book_id}/relations/{other_id}", tag="relations")

AcceptedEvidenceType = Annotated[str, Depends(deps.chosen_evidence)]

_FORMS: dict[str, Form] = {deps.JSON_LD: "annotations", deps.CSV: "csv"}
_READ = with_headers(200, Vary="Accept.")
_READ[200] |= {
    "content": {deps.JSON_LD: {"schema": {"type": "object"}}, deps.CSV: {"schema": {"type": "string"}}}
}


@router.get(
    "",
    summary="Read one relation",
    response_model=PageRelation,
    responses=_READ,
    scope="read",
    also=(406, 409),
)
async def read_relation(
    book_id: BookId,
    other_id: OtherId,
    query: Annotated[PageRelationQuery, Query()],
    services: ServicesDep,
    media_type: AcceptedEvidenceType,
) -> PageRelation | Response:
    """Returns the relation of two books and the matching pages, as seen from the book in the path.

    With `exact`, the two texts are compared shingle by shingle; the service must store both.
    application/ld+json contains W3C Web Annotations from page to page; text/csv contains a row per run
    (docs/guides/evidence.md).
    """
    if media_type != deps.JSON:
        evidence = await services.evidence.read(book_id, other_id)
        body = await asyncio.to_thread(written, evidence, _FORMS[media_type])
        return Response(body, headers={"Content-Type": media_type, "Vary": "Accept"})
    related, matches = await services.relations.pair(book_id, other_id)
    overlap = await services.relations.exact_overlap(book_id, other_id) if query.exact else None
    return PageRelation.of_pair(related, matches, overlap)
