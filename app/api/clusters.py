"""Clusters, lists of clusters, and master copies over HTTP."""

from typing import Annotated, Self
from uuid import UUID

from fastapi import Depends, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.http import deps, examples
from app.api.http.deps import BookId, ServicesDep, cluster_name_of
from app.api.http.openapi import with_headers
from app.api.http.problems import Responses
from app.api.http.routes import SubjectRouter
from app.api.schemas.clusters import (
    ClusterAnswer,
    ClusterLinks,
    ClusterNameAnswer,
    ClusterQuery,
    Joined,
    MasterCopyAnswer,
    MasterCopyQuery,
    MemberQuery,
    cluster_path,
)
from app.api.schemas.documents import CollectionFilter, Cursors, Document, PageQuery, Rank, Share
from app.services.clusters import (
    MOST_LINKED,
    MOST_SIZE,
    ClusterFilter,
    ClusterOrder,
    ClusterPage,
    ListedCluster,
    MasterCopyRead,
)
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.clusters.clustering import By
from bookprint_core.model import PAGE_BREAK
from bookprint_core.relations.classification import Kind


class ClusterListQuery(PageQuery):
    """The clusters to list."""

    by: Joined = "same_text"
    min_size: int = Field(default=2, ge=2, le=MOST_SIZE, description="Smallest number of books.")
    max_size: int = Field(default=MOST_SIZE, ge=2, le=MOST_SIZE, description="Largest number of books.")
    collection: CollectionFilter = None
    order: ClusterOrder = Field(
        default="size",
        description="size: largest first. agreement: lowest agreement first, unmeasured clusters last.",
    )

    @model_validator(mode="after")
    def _some_size(self) -> Self:
        if self.min_size > self.max_size:
            reason = "This is less than min_size: no cluster has such a size"
            raise PydanticCustomError("sizes", reason, {"field": "max_size"})
        return self


class NamedBookAnswer(Document):
    """A book of a cluster."""

    book_id: UUID
    title: str | None


class ListedClusterAnswer(ClusterNameAnswer):
    """A cluster of at least two books, and its agreement."""

    by: By
    size: int = Field(description="Number of books, in all collections.")
    founder: NamedBookAnswer = Field(description="The oldest book.")
    best_copy: NamedBookAnswer | None = Field(description="The copy to keep or to show; null: not measured.")
    agreement: Share | None = Field(
        description="Share of the weakest link, 0 to 1; null: not measured, a person's decision is the link, "
        f"or over {MOST_LINKED} books."
    )
    kinds: dict[Kind, int] | None = Field(
        description="Number of relations that join the books, by kind; null: not measured, or over "
        f"{MOST_LINKED} books."
    )
    measured: bool = Field(
        description="False: the cluster changed seconds ago, and workers have not measured it yet."
    )
    links: ClusterLinks

    @classmethod
    def of(cls, by: By, cluster: ListedCluster) -> Self:
        name, measured = ClusterName(by, cluster.founder_id), cluster.measured
        best = NamedBookAnswer(book_id=cluster.best_id, title=cluster.best_title) if cluster.best_id else None
        return cls(
            id=name.id,
            key=name.key,
            by=by,
            size=cluster.size,
            founder=NamedBookAnswer(book_id=cluster.founder_id, title=cluster.founder_title),
            best_copy=best if measured else None,
            agreement=cluster.agreement if measured else None,
            kinds=dict(cluster.kinds) if measured and cluster.kinds else None,
            measured=measured,
            links=ClusterLinks(self=cluster_path(name)),
        )


class ClusterList(Document):
    """One page of clusters."""

    pending: int = Field(description="Number of clusters of this kind that are not measured yet.")
    items: list[ListedClusterAnswer]
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


router = SubjectRouter(
    "/v1", tag="clusters", description="Groups of copies of one text, or of related books."
)

ClusterId = Annotated[str, Path(description="Id or key of the cluster.", examples=[examples.CLUSTER_ID])]
AcceptedTextType = Annotated[str, Depends(deps.chosen_text)]

_MOVED = with_headers(308, Location="The path of the present cluster.")
_LINK = with_headers(200, Link="The next pages; only for text/plain.", Vary="Accept")
_MASTER_COPY: Responses = {200: _LINK[200] | {"content": {deps.TEXT: {"schema": {"type": "string"}}}}}


@router.get("/clusters", summary="List clusters", scope="read")
async def list_clusters(query: Annotated[ClusterListQuery, Query()], services: ServicesDep) -> ClusterList:
    """Lists the clusters of at least two books, by size or by agreement.

    With `collection`, only clusters with a book of that collection. Sizes are always current. Workers measure
    the agreement within seconds after a change.
    """
    cursors = Cursors("clusters", query.by, query.min_size, query.max_size, query.collection, query.order)
    wanted = ClusterFilter(
        query.min_size, query.max_size, query.collection, query.order, cursors.place(query.cursor, Rank)
    )
    page = await services.clusters.list_clusters(query.by, wanted, query.limit)
    last = page.clusters[-1] if page.more else None
    return ClusterList(
        pending=page.pending,
        items=[ListedClusterAnswer.of(query.by, each) for each in page.clusters],
        next_cursor=last and cursors.at(Rank(last.rank, last.founder_id)),
    )


@router.get("/books/{book_id}/cluster", summary="Read the cluster of a book", scope="read")
async def read_cluster_of_book(
    book_id: BookId, query: Annotated[ClusterQuery, Query()], services: ServicesDep
) -> ClusterAnswer:
    """Returns the cluster of this book, oldest book first.

    Verified relations join books, directly or through other books. A person's rejection keeps books apart.
    """
    cursors = Cursors("cluster of", book_id, query.by, query.collection)
    page = await services.clusters.of_book(
        book_id, query.by, cursors.place(query.cursor, UUID), query.limit, query.collection
    )
    return _answer(page, cursors)


@router.get(
    "/clusters/{cluster_id}",
    summary="Read a cluster",
    response_model=ClusterAnswer,
    responses=_MOVED,
    scope="read",
)
async def read_cluster(
    cluster_id: ClusterId, query: Annotated[MemberQuery, Query()], request: Request, services: ServicesDep
) -> ClusterAnswer | RedirectResponse:
    """Returns the books of a cluster, oldest first.

    A former id or key redirects (308) to the present id: the cluster joined an older one, or its oldest book
    was deleted. An id made from any other book of the cluster redirects, too.
    """
    name = cluster_name_of(cluster_id)
    cursors = Cursors("cluster", name.by, name.book_id, query.collection)
    page = await services.clusters.read(
        name, cursors.place(query.cursor, UUID), query.limit, query.collection
    )
    if page.name != name:
        return _moved(cluster_path(page.name), request)
    return _answer(page, cursors)


@router.get(
    "/clusters/{cluster_id}/text",
    summary="Read the master copy of a cluster",
    response_model=MasterCopyAnswer,
    responses=_MASTER_COPY | _MOVED,
    scope="read",
    also=(406, 409),
)
async def read_master_copy(
    cluster_id: ClusterId,
    query: Annotated[MasterCopyQuery, Query()],
    request: Request,
    services: ServicesDep,
    media_type: AcceptedTextType,
) -> MasterCopyAnswer | Response:
    """Returns pages of the text, each in the reading that most copies of the cluster share.

    The pages are those of the best copy with a stored text. Up to ten copies vote, including the best copy;
    parts of the text vote on their pages. If votes are equal, the best copy decides. If a page has only one
    other copy and that copy is cleaner, its reading counts. text/plain separates pages with U+000C and links
    the next pages in the header Link.
    """
    present = await services.clusters.present_name(cluster_name_of(cluster_id))
    if present != cluster_name_of(cluster_id):
        return _moved(f"{cluster_path(present)}/text", request)
    cursors = Cursors("text", present.by, present.book_id, query.first)
    first = cursors.place(query.cursor, int) or query.first
    read = await services.master_copies.read(present, range(first, first + query.limit))
    end = first + len(read.master.pages)
    next_cursor = cursors.at(end) if first < end < read.master.page_count else None
    if media_type == deps.TEXT:
        return _text(read, request, next_cursor)
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
    # Clients must not cache this, because after a split the former id names a cluster again.
    return RedirectResponse(f"{path}{asked}", 308, {"Cache-Control": "no-cache"})


def _answer(page: ClusterPage, cursors: Cursors) -> ClusterAnswer:
    next_cursor = cursors.at(page.members[-1].book_id) if page.more else None
    return ClusterAnswer.of(page, next_cursor)
