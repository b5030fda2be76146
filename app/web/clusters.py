"""The list of clusters, the page of a cluster, its master copy, and the removal of a book from it."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Form, Query, Request
from pydantic import Field
from starlette.responses import Response

from app.api.http.deps import ActorDep, ServicesDep, cluster_name_of
from app.services.clusters import MOST_LINKED, MOST_SIZE, ClusterFilter, ClusterOrder, Member
from app.web.pair import CLASSES, KINDS
from app.web.rendering import page, redirect
from app.web.routes import Filters, PageRouter
from bookprint_core.book_rules import MAX_PAGES
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.clusters.clustering import By, Pair, ordered
from bookprint_core.relations.classification import Kind, opposite
from bookprint_core.relations.related import RelationSummary
from bookprint_core.relations.word_differences import DIFFERENCES, word_differences

router = PageRouter()

_LISTED_AT_ONCE = 25
_MEMBERS_AT_ONCE = 30
_PAGES_AT_ONCE = 5

WORDS: Mapping[Kind, str] = {
    "SAME_PAGINATION": "pages",
    "DIFFERENT_PAGINATION": "text",
    "SAME_TEXT": "text",
    "CONTIGUOUS_SUBSET": "part",
    "OVERLAPPING_TEXT": "overlap",
    "UNRELATED": "unrelated",
    "INSUFFICIENT_TEXT": "too little",
}
"""Word in the matrix for each kind of relation."""


class ClusterSearch(Filters):
    """Filters of the list of clusters."""

    by: By = "same_text"
    min_size: Annotated[int, Field(ge=2, le=MOST_SIZE)] = 2
    max_size: Annotated[int, Field(ge=2, le=MOST_SIZE)] = MOST_SIZE
    order: ClusterOrder = "size"
    rank: float | None = None  # with `after`: last cluster of the previous page
    after: UUID | None = None

    def to_filter(self) -> ClusterFilter:
        place = None if self.rank is None or self.after is None else (self.rank, self.after)
        return ClusterFilter(self.min_size, self.max_size, self.collection, self.order, place)


@router.get("/clusters", scope="read")
async def list_clusters(
    search: Annotated[ClusterSearch, Query()], request: Request, services: ServicesDep
) -> Response:
    """List the clusters of at least two books."""
    listed = await services.clusters.list_clusters(search.by, search.to_filter(), _LISTED_AT_ONCE)
    last = listed.clusters[-1] if listed.more else None
    more = last and search.query(rank=last.rank, after=last.founder_id)
    return page(
        request, "clusters.html", search=search, listed=listed, more=more, kinds=KINDS, most=MOST_SIZE
    )


@router.get("/clusters/{cluster_id}", scope="read")
async def show_cluster(
    cluster_id: str,
    request: Request,
    services: ServicesDep,
    actor: ActorDep,
    after: UUID | None = None,
    apart: UUID | None = None,
) -> Response:
    """Show the books of a cluster and the relation of each pair. The book `apart` was just taken out."""
    cluster = await services.clusters.read(cluster_name_of(cluster_id), after, _MEMBERS_AT_ONCE)
    if cluster.name != cluster_name_of(cluster_id) and apart is None:
        return redirect(request, f"/clusters/{cluster.name}")
    relations = await services.clusters.relations_between([each.book_id for each in cluster.members])
    return page(
        request,
        "cluster.html",
        cluster=cluster,
        cell=partial(_cell, relations=relations),
        is_first=after is None,
        kinds=KINDS,
        words=WORDS,
        most_linked=MOST_LINKED,
        apart=apart,
        rejected=[] if apart is None else await services.decisions.last_rejections(apart, actor=actor),
    )


@router.get("/clusters/{cluster_id}/text", scope="read")
async def show_master_copy(
    cluster_id: str,
    request: Request,
    services: ServicesDep,
    first: Annotated[int, Query(ge=1, le=MAX_PAGES)] = 1,
) -> Response:
    """Show pages of the master copy, and where the best copy differs."""
    more = first + _PAGES_AT_ONCE
    read = await services.master_copies.read(cluster_name_of(cluster_id), range(first - 1, more - 1))
    return page(
        request,
        "master_copy.html",
        read=read,
        first=first,
        pages=[
            (each, word_differences(each.before, each.text) if each.changed else ())
            for each in read.master.pages
        ],
        labels=read.labels or [None] * read.master.page_count,
        more=more if more <= read.master.page_count else None,
        classes=CLASSES,
        difference_kinds=DIFFERENCES,
    )


@router.post("/clusters/{cluster_id}/apart", scope="decide")
async def take_out(
    cluster_id: str,
    book_id: Annotated[UUID, Form()],
    request: Request,
    services: ServicesDep,
    actor: ActorDep,
) -> Response:
    """Take a book out of a cluster: reject all its relations in the cluster, or none on failure."""
    name = cluster_name_of(cluster_id)
    others = await services.clusters.neighbours(name, book_id)
    note = f"Does not belong in the cluster {name}"
    await services.decisions.reject_all(book_id, others, note, actor=actor)
    return redirect(request, f"/clusters/{ClusterName(name.by, others[0])}?apart={book_id}")


@router.post("/clusters/{cluster_id}/back", scope="decide")
async def put_back(
    cluster_id: str,
    book_id: Annotated[UUID, Form()],
    request: Request,
    services: ServicesDep,
    actor: ActorDep,
) -> Response:
    """Undo taking a book out of a cluster; earlier decisions are in force again."""
    await services.decisions.take_rejections_back(book_id, actor=actor)
    return redirect(request, f"/clusters/{cluster_name_of(cluster_id)}")


def _cell(
    this: Member, other: Member, relations: Mapping[Pair, RelationSummary]
) -> tuple[Kind, str, bool] | None:
    """Return a relation's kind, its word, and whether a person decided it; None if it was not computed."""
    pair = ordered(this.book_id, other.book_id)
    if (relation := relations.get(pair)) is None:
        return None
    direction = relation.direction if pair[0] == this.book_id else opposite(relation.direction)
    word = "whole" if direction == "contains" else WORDS[relation.kind]
    return relation.kind, word, relation.decided
