"""Clusters: the books that belong together."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import RedirectResponse

from app.api.http.access import ScopedRoute, needs
from app.api.http.cursors import Cursors
from app.api.http.deps import BookId, ServicesDep
from app.api.http.openapi import problems, with_headers
from app.api.schemas import examples
from app.api.schemas.base import PageQuery
from app.api.schemas.clusters import ClusterAnswer, ClusterQuery, cluster_path
from app.core.clusters.cluster_name import ClusterName
from app.core.errors import UnknownCluster
from app.services.clusters import ClusterPage

router = APIRouter(prefix="/v1", tags=["clusters"], route_class=ScopedRoute)

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
    responses=with_headers(308, Location="The path of the cluster that the books are in.")
    | problems(404, 422, 503),
    openapi_extra=needs("read"),
)
async def read_cluster(
    cluster_id: Annotated[str, Path(description="Id or key of the cluster.", examples=[examples.CLUSTER_ID])],
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
        asked = f"?{request.url.query}" if request.url.query else ""
        # Not to be cached: where the clusters part again, the id names the younger one as before.
        return RedirectResponse(f"{cluster_path(page.name)}{asked}", 308, {"Cache-Control": "no-cache"})
    return _answer(page, cursors)


def _answer(page: ClusterPage, cursors: Cursors) -> ClusterAnswer:
    next_cursor = cursors.at_book(page.members[-1].book_id) if page.more else None
    return ClusterAnswer.of(page, next_cursor)


def _name(cluster_id: str) -> ClusterName:
    name = ClusterName.read(cluster_id)
    if name is None:
        raise UnknownCluster(cluster_id if len(cluster_id) <= _SHOWN else f"{cluster_id[:_SHOWN]}…")
    return name
