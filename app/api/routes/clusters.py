"""Clusters: the books that belong together."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from app.api.http import negotiation
from app.api.http.access import ScopedRoute, needs
from app.api.http.cursors import Cursors
from app.api.http.deps import BookId, ServicesDep
from app.api.http.openapi import Responses, problems, with_headers
from app.api.schemas import examples
from app.api.schemas.base import PageQuery
from app.api.schemas.clusters import (
    ClusterAnswer,
    ClusterQuery,
    MasterCopyAnswer,
    MasterCopyQuery,
    cluster_path,
)
from app.core.clusters.cluster_name import ClusterName
from app.core.errors import UnknownCluster
from app.core.model import PAGE_BREAK
from app.services.clusters.clusters import ClusterPage
from app.services.clusters.master_copies import MasterCopyRead

router = APIRouter(prefix="/v1", tags=["clusters"], route_class=ScopedRoute)

ClusterId = Annotated[str, Path(description="Id or key of the cluster.", examples=[examples.CLUSTER_ID])]
AcceptedType = Annotated[str, Depends(negotiation.chosen_text)]

_MOVED = with_headers(308, Location="The path of the cluster that the books are in.")
_LINK = with_headers(200, Link="The next pages, of text/plain.", Vary="Accept")
_MASTER_COPY: Responses = {200: _LINK[200] | {"content": {negotiation.TEXT: {"schema": {"type": "string"}}}}}

_SHOWN = 100
"""Characters of a wrong id that are repeated to the client."""


@router.get(
    "/books/{book_id}/cluster",
    summary="Read the cluster of a book",
    responses=problems(404, 422, 503),
    openapi_extra=needs("read"),
)
async def read_cluster_of_book(
    book_id: BookId, query: Annotated[ClusterQuery, Query()], services: ServicesDep
) -> ClusterAnswer:
    """Answers the books that this one belongs together with, oldest first, itself included.

    They are joined by verified relations, directly or over others, and kept apart where a person rejected a
    relation.
    """
    cursors = Cursors("cluster of", book_id, query.by)
    page = await services.clusters.of_book(book_id, query.by, cursors.book(query.cursor), query.limit)
    return _answer(page, cursors)


@router.get(
    "/clusters/{cluster_id}",
    summary="Read a cluster",
    response_model=ClusterAnswer,
    responses=_MOVED | problems(404, 422, 503),
    openapi_extra=needs("read"),
)
async def read_cluster(
    cluster_id: ClusterId,
    query: Annotated[PageQuery, Query()],
    request: Request,
    services: ServicesDep,
) -> ClusterAnswer | RedirectResponse:
    """Answers the books of a cluster, oldest first.

    An id or a key that it had before it was joined to an older one is answered with 308 and the present id.
    So is one from before its oldest book was deleted, and any of its books in place of the oldest.
    """
    name = _name(cluster_id)
    cursors = Cursors("cluster", name.by, name.book_id)
    page = await services.clusters.read(name, cursors.book(query.cursor), query.limit)
    if page.name != name:
        return _moved(cluster_path(page.name), request)
    return _answer(page, cursors)


@router.get(
    "/clusters/{cluster_id}/text",
    summary="Read the master copy of a cluster",
    response_model=MasterCopyAnswer,
    responses=_MASTER_COPY | _MOVED | problems(404, 406, 409, 422, 503),
    openapi_extra=needs("read"),
)
async def read_master_copy(
    cluster_id: ClusterId,
    query: Annotated[MasterCopyQuery, Query()],
    request: Request,
    services: ServicesDep,
    media_type: AcceptedType,
    response: Response,
) -> MasterCopyAnswer | Response:
    """Answers pages of the text, each in the reading that most copies of the cluster share.

    They are the pages of the best copy of which the text is kept. Ten copies vote, itself included; parts
    of it vote on their pages. Readings with equal votes are the best copy's, so two copies change nothing.
    As text/plain the pages come one after the other, with U+000C between them and the next ones in Link.
    """
    present = await services.clusters.present_name(_name(cluster_id))
    if present != _name(cluster_id):
        return _moved(f"{cluster_path(present)}/text", request)
    cursors = Cursors("text", present.by, present.book_id, query.first)
    first = cursors.number(query.cursor) or query.first
    read = await services.master_copies.read(present, range(first, first + query.limit))
    end = first + len(read.master.pages)
    next_cursor = cursors.at_number(end) if first < end < read.master.page_count else None
    if media_type == negotiation.TEXT:
        return _text(read, request, next_cursor)
    response.headers["Vary"] = "Accept"
    return MasterCopyAnswer.of(read, next_cursor)


def _text(read: MasterCopyRead, request: Request, next_cursor: str | None) -> Response:
    headers = {"Vary": "Accept"}
    if next_cursor is not None:
        following = request.url.include_query_params(cursor=next_cursor)
        headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    pages = PAGE_BREAK.join(page.text for page in read.master.pages)
    return PlainTextResponse(pages, headers=headers)


def _moved(path: str, request: Request) -> RedirectResponse:
    asked = f"?{request.url.query}" if request.url.query else ""
    # Not to be cached: where the clusters part again, the id names the younger one as before.
    return RedirectResponse(f"{path}{asked}", 308, {"Cache-Control": "no-cache"})


def _answer(page: ClusterPage, cursors: Cursors) -> ClusterAnswer:
    next_cursor = cursors.at_book(page.members[-1].book_id) if page.more else None
    return ClusterAnswer.of(page, next_cursor)


def _name(cluster_id: str) -> ClusterName:
    name = ClusterName.read(cluster_id)
    if name is None:
        raise UnknownCluster(cluster_id if len(cluster_id) <= _SHOWN else f"{cluster_id[:_SHOWN]}…")
    return name
