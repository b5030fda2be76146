"""The relation of two books and its evidence: page by page as JSON, or in a form that other tools read."""

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
    """Whether the texts themselves are compared."""

    exact: bool = Field(
        default=False, description="Count the shingles that the two texts share, for the answer as JSON."
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
    """Answers how two books are related, with the pages that match, as seen from the first one.

    With `exact` the two texts are compared once more, shingle by shingle; both must be kept. As
    application/ld+json come W3C Web Annotations from page to page, and as text/csv a row for each run
    (docs/guides/evidence.md).
    """
    if media_type != deps.JSON:
        evidence = await services.evidence.read(book_id, other_id)
        body = await asyncio.to_thread(written, evidence, _FORMS[media_type])
        return Response(body, headers={"Content-Type": media_type, "Vary": "Accept"})
    related, matches = await services.relations.pair(book_id, other_id)
    overlap = await services.relations.exact_overlap(book_id, other_id) if query.exact else None
    return PageRelation.of_pair(related, matches, overlap)
