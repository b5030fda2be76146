"""Posting and looking up books as files; the JSON operations of the same paths describe these, too."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.api.http.access import LOOKUP, needs
from app.api.http.deps import ActorDep, MetricsDep, ServicesDep
from app.api.http.files import FileRoute, SentFileDep
from app.api.routes.books import answer_posted
from app.api.routes.lookups import answer_lookup
from app.api.schemas.books import PostedBook
from app.api.schemas.lookups import NearnessQuery
from app.services.lookups.queries import query_entry

router = APIRouter(prefix="/v1", route_class=FileRoute, include_in_schema=False)


@router.post("/books", status_code=201, openapi_extra=needs("ingest"))
async def post_file(
    sent: SentFileDep, services: ServicesDep, actor: ActorDep, metrics: MetricsDep, response: Response
) -> PostedBook:
    """Takes the book in a file in."""
    stored = await services.ingest.post(sent, actor=actor)
    return answer_posted(stored, metrics, response, sent)


@router.post("/lookups", openapi_extra=needs("read") | LOOKUP)
async def look_up_file(
    sent: SentFileDep,
    query: Annotated[NearnessQuery, Query()],
    services: ServicesDep,
    metrics: MetricsDep,
) -> Response:
    """Answers the books near the one in a file."""
    return await answer_lookup(
        lambda suite: query_entry(suite, sent.content, None, None), query, services, metrics, sent
    )
