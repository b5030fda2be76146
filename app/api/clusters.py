"""Clusters and their master copies: which of them to answer, and their documents."""

from typing import Annotated, Self
from uuid import UUID

from fastapi import Depends, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from app.api import examples
from app.api.documents import CollectionFilter, Cursors, Document, PageQuery, Share, shown
from app.api.http import deps
from app.api.http.deps import BookId, ServicesDep
from app.api.http.openapi import Responses, problems, with_headers
from app.api.http.routes import SubjectRouter
from app.core.book_rules import MAX_PAGES
from app.core.clusters.cluster_name import ClusterName
from app.core.clusters.clustering import By
from app.core.errors import UnknownCluster
from app.core.model import PAGE_BREAK
from app.core.relations.alignment import Unit
from app.core.relations.classification import Kind
from app.services.clusters import MOST_LINKED, ClusterPage, MasterCopyRead


class MemberQuery(PageQuery):
    """The members of a cluster to list."""

    collection: CollectionFilter = None


class ClusterQuery(MemberQuery):
    """The kind of cluster, and the members of it to list."""

    by: By = Field(
        default="same_text",
        description="What joins the books: same_text, copies of one text; related, any verified relation.",
    )


class BestCopyAnswer(Document):
    """The copy to keep or to show."""

    model_config = shown(examples.CLUSTER["best_copy"])

    book_id: UUID
    because: str = Field(description="A sentence that says why.")


class WeakestLinkAnswer(Document):
    """The relation without which, and without weaker ones, the cluster would fall apart."""

    model_config = shown(examples.CLUSTER["weakest_link"])

    book_id: UUID = Field(validation_alias="left", description="The older book.")
    other_id: UUID = Field(validation_alias="right", description="The younger book.")
    kind: Kind
    share: Share | None = Field(
        description="The larger share of the text of either book that the other has; null: a person's "
        "decision alone joins them."
    )


class ClusterMember(Document):
    """A book in a cluster."""

    model_config = shown(examples.CLUSTER_MEMBER)

    book_id: UUID
    external_id: str | None
    title: str | None
    volume: str | None
    year: int | None
    page_count: int | None = Field(description="Pages, blank ones too; null where they are not known.")
    word_count: int = Field(description="Words; characters, in scripts without spaces.")


class ClusterLinks(Document):
    """The cluster's own path, relative to the root of this service."""

    model_config = shown(examples.CLUSTER["links"])

    self: str = Field(description="The cluster.")


class ClusterNameAnswer(Document):
    """The name of a cluster, written in two ways."""

    model_config = shown(examples.CLUSTER_NAME)

    id: str = Field(
        description="What joins the books, and the id of the oldest. Of clusters that become one the oldest "
        "id stays, and the others lead there."
    )
    key: str = Field(
        description="The id in 33 letters and digits, for systems that group their records by a field."
    )


class ClusterAnswer(ClusterNameAnswer):
    """Books that belong together: one page of them, oldest first. A book alone is a cluster of one."""

    model_config = shown(examples.CLUSTER)

    by: By = Field(description="same_text: copies of one text; related: any verified relation.")
    size: int = Field(
        description="How many books there are on all pages, of other collections too: a filter of "
        "collections concerns `items` alone."
    )
    best_copy: BestCopyAnswer
    weakest_link: WeakestLinkAnswer | None = Field(
        description=f"What holds the books together; null for one book, and for more than {MOST_LINKED:,}."
    )
    items: list[ClusterMember]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")
    links: ClusterLinks

    @classmethod
    def of(cls, page: ClusterPage, next_cursor: str | None) -> Self:
        return cls(
            id=page.name.id,
            key=page.name.key,
            by=page.name.by,
            size=page.size,
            best_copy=BestCopyAnswer.model_validate(page.best),
            weakest_link=page.weakest and WeakestLinkAnswer.model_validate(page.weakest),
            items=[ClusterMember.model_validate(member) for member in page.members],
            next_cursor=next_cursor,
            links=ClusterLinks(self=cluster_path(page.name)),
        )


class MasterCopyQuery(BaseModel):
    """The pages of a master copy to answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: int = Field(
        default=0,
        ge=0,
        le=MAX_PAGES,
        description="The page to begin with, from 0. A cursor goes on from where it was given.",
    )
    limit: int = Field(default=20, ge=1, le=50, description="How many pages to answer at most.")
    cursor: str | None = Field(
        default=None, max_length=200, description="The next_cursor of the answer before."
    )


class VotingCopyAnswer(Document):
    """A copy that votes."""

    model_config = shown(examples.MASTER_COPY["copies"][0])

    book_id: UUID
    pages: int = Field(description="How many of its pages match pages of the best copy.")


class LeftOutAnswer(Document):
    """A book of the cluster that does not vote."""

    model_config = shown(examples.MASTER_COPY["left_out"][0])

    book_id: UUID
    because: str = Field(description="A sentence that says why.")


class MasterPageAnswer(Document):
    """A page of a master copy."""

    model_config = shown(examples.MASTER_PAGE)

    page: int = Field(validation_alias="index", description="Its number in the best copy, from 0.")
    label: str | None = Field(
        default=None, description="What is printed on the page of the best copy as its number."
    )
    text: str = Field(description="In the lines of the best copy.")
    copies: int = Field(description="How many copies have the page, the best copy among them.")
    agreement: Share | None = Field(
        description="Mean share of these that have the character that is answered; null: there is one alone."
    )
    changed: Share = Field(
        description="Share of the best copy's words that read otherwise, case and punctuation aside."
    )


class MasterCopyLinks(Document):
    """Paths of the master copy and of its cluster, relative to the root of this service."""

    model_config = shown(examples.MASTER_COPY["links"])

    self: str = Field(description="The master copy.")
    cluster: str = Field(description="The cluster.")


class MasterCopyAnswer(ClusterNameAnswer):
    """Pages of a text, each in the reading that most of its copies share."""

    model_config = shown(examples.MASTER_COPY)

    by: By = Field(description="same_text: copies of one text; related: any verified relation.")
    unit: Unit = Field(description="window: the best copy has no pages; some 300 words stand in for each.")
    page_count: int = Field(description="How many pages the whole has.")
    best_copy: BestCopyAnswer = Field(
        description="Its pages and lines are answered, and its readings where votes are equal."
    )
    copies: list[VotingCopyAnswer] = Field(description="Copies that vote, the best copy first; ten at most.")
    left_out: list[LeftOutAnswer] = Field(description="Books that do not vote; a hundred are named.")
    items: list[MasterPageAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next pages; null on the last.")
    links: MasterCopyLinks

    @classmethod
    def of(cls, read: MasterCopyRead, next_cursor: str | None) -> Self:
        labels = read.labels or [None] * read.master.page_count
        pages = (MasterPageAnswer.model_validate(page) for page in read.master.pages)
        path = cluster_path(read.name)
        return cls(
            id=read.name.id,
            key=read.name.key,
            by=read.name.by,
            unit=read.master.unit,
            page_count=read.master.page_count,
            best_copy=BestCopyAnswer.model_validate(read.best),
            copies=[VotingCopyAnswer.model_validate(copy) for copy in read.copies],
            left_out=[LeftOutAnswer.model_validate(book) for book in read.left_out],
            items=[page.model_copy(update={"label": labels[page.page]}) for page in pages],
            next_cursor=next_cursor,
            links=MasterCopyLinks(self=f"{path}/text", cluster=path),
        )


def cluster_path(name: ClusterName) -> str:
    """The path of a cluster, relative to the root of this service."""
    return f"/v1/clusters/{name}"


router = SubjectRouter("/v1", tag="clusters", description="Copies of one text, or related books, together.")

ClusterId = Annotated[str, Path(description="Id or key of the cluster.", examples=[examples.CLUSTER_ID])]
AcceptedTextType = Annotated[str, Depends(deps.chosen_text)]

_MOVED = with_headers(308, Location="The path of the cluster that the books are in.")
_LINK = with_headers(200, Link="The next pages, of text/plain.", Vary="Accept")
_MASTER_COPY: Responses = {200: _LINK[200] | {"content": {deps.TEXT: {"schema": {"type": "string"}}}}}

_SHOWN = 100
"""Characters of a wrong id that are repeated to the client."""


@router.get(
    "/books/{book_id}/cluster",
    summary="Read the cluster of a book",
    responses=problems(404, 422, 503),
    scope="read",
)
async def read_cluster_of_book(
    book_id: BookId, query: Annotated[ClusterQuery, Query()], services: ServicesDep
) -> ClusterAnswer:
    """Answers the books that this one belongs together with, oldest first, itself included.

    They are joined by verified relations, directly or over others, and kept apart where a person rejected a
    relation.
    """
    cursors = Cursors("cluster of", book_id, query.by, query.collection)
    page = await services.clusters.of_book(
        book_id, query.by, cursors.book(query.cursor), query.limit, query.collection
    )
    return _answer(page, cursors)


@router.get(
    "/clusters/{cluster_id}",
    summary="Read a cluster",
    response_model=ClusterAnswer,
    responses=_MOVED | problems(404, 422, 503),
    scope="read",
)
async def read_cluster(
    cluster_id: ClusterId, query: Annotated[MemberQuery, Query()], request: Request, services: ServicesDep
) -> ClusterAnswer | RedirectResponse:
    """Answers the books of a cluster, oldest first.

    An id or a key that it had before it was joined to an older one is answered with 308 and the present id.
    So is one from before its oldest book was deleted, and any of its books in place of the oldest.
    """
    name = _name(cluster_id)
    cursors = Cursors("cluster", name.by, name.book_id, query.collection)
    page = await services.clusters.read(name, cursors.book(query.cursor), query.limit, query.collection)
    if page.name != name:
        return _moved(cluster_path(page.name), request)
    return _answer(page, cursors)


@router.get(
    "/clusters/{cluster_id}/text",
    summary="Read the master copy of a cluster",
    response_model=MasterCopyAnswer,
    responses=_MASTER_COPY | _MOVED | problems(404, 406, 409, 422, 503),
    scope="read",
)
async def read_master_copy(
    cluster_id: ClusterId,
    query: Annotated[MasterCopyQuery, Query()],
    request: Request,
    services: ServicesDep,
    media_type: AcceptedTextType,
    response: Response,
) -> MasterCopyAnswer | Response:
    """Answers pages of the text, each in the reading that most copies of the cluster share.

    They are the pages of the best copy of which the text is kept. Ten copies vote, itself included; parts
    of it vote on their pages. Readings with equal votes are the best copy's. Where there is one other copy
    of a page, and it is cleaner (the best one may be best because it is complete), its reading counts.
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
    if media_type == deps.TEXT:
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
