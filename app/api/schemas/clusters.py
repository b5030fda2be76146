"""Clusters and their master copies: which of them to answer, and their documents."""

from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas import examples
from app.api.schemas.base import Document, PageQuery, Share, shown
from app.core.clusters.cluster_name import ClusterName
from app.core.clusters.clustering import By
from app.core.json_limits import MAX_PAGES
from app.core.relations.alignment import Unit
from app.services.clusters.clusters import ClusterPage
from app.services.clusters.master_copies import MasterCopyRead


class ClusterQuery(PageQuery):
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
    size: int = Field(description="How many books there are on all pages.")
    best_copy: BestCopyAnswer
    items: list[ClusterMember]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")
    links: ClusterLinks

    @classmethod
    def of(cls, page: ClusterPage, next_cursor: str | None) -> Self:
        """The document of a cluster."""
        return cls(
            id=page.name.id,
            key=page.name.key,
            by=page.name.by,
            size=page.size,
            best_copy=BestCopyAnswer.model_validate(page.best),
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
        """The document of these pages of a master copy."""
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
