"""Documents of a cluster of books and of its master copy, and the queries that select their parts."""

from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from app.api.schemas.documents import CollectionFilter, Document, PageQuery, Parameters, Share
from app.services.clusters import MOST_LINKED, ClusterPage, MasterCopyRead
from bookprint_core.book_rules import MAX_PAGES
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.clusters.clustering import By
from bookprint_core.relations.alignment import Unit
from bookprint_core.relations.classification import Kind

Joined = Annotated[
    By,
    Field(
        description="Relations that join the books: same_text, copies of a text; related, any verified one."
    ),
]


class MemberQuery(PageQuery):
    """The members of a cluster to list."""

    collection: CollectionFilter = None


class ClusterQuery(MemberQuery):
    """The kind of cluster, and its members to list."""

    by: Joined = "same_text"


class BestCopyAnswer(Document):
    """The copy to keep or to show."""

    book_id: UUID
    because: str = Field(description="The reason, one sentence.")


class WeakestLinkAnswer(Document):
    """The weakest relation whose loss, with all weaker ones, would split the cluster."""

    book_id: UUID = Field(validation_alias="left", description="The older book.")
    other_id: UUID = Field(validation_alias="right", description="The younger book.")
    kind: Kind
    share: Share | None = Field(
        description="The larger share of either text that the other book contains; null: only a person's "
        "decision joins the books."
    )


class ClusterMember(Document):
    """A book in a cluster."""

    book_id: UUID
    external_id: str | None
    title: str | None
    volume: str | None
    year: int | None
    page_count: int | None = Field(description="Number of pages, with blank pages; null: unknown.")
    word_count: int = Field(description="Number of words, or of characters in scripts without word spaces.")


class ClusterLinks(Document):
    """The path of the cluster, relative to the root of this service."""

    self: str = Field(description="The cluster.")


class ClusterNameAnswer(Document):
    """The name of a cluster in two forms."""

    id: str = Field(
        description="The kind of cluster, and the id of its oldest book. When clusters merge, the oldest id "
        "stays, and the other ids redirect to it."
    )
    key: str = Field(
        description="The id as 33 letters and digits, for systems that group records by a field."
    )


class ClusterAnswer(ClusterNameAnswer):
    """One page of the books of a cluster, oldest first. A book alone is a cluster of one."""

    by: By = Field(description="same_text: copies of one text; related: any verified relation.")
    size: int = Field(
        description="Number of books on all pages, in all collections: a filter by collection affects only "
        "`items`."
    )
    best_copy: BestCopyAnswer
    weakest_link: WeakestLinkAnswer | None = Field(
        description=f"Relation that the cluster depends on; null for one book, or over {MOST_LINKED:,}."
    )
    items: list[ClusterMember]
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")
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


def cluster_path(name: ClusterName) -> str:
    return f"/v1/clusters/{name}"


class MasterCopyQuery(Parameters):
    """The pages of a master copy to return."""

    first: int = Field(
        default=0,
        ge=0,
        le=MAX_PAGES,
        description="The first page to return, from 0. With a cursor, send the same value again.",
    )
    limit: int = Field(default=20, ge=1, le=50, description="Maximum number of pages to return.")
    cursor: str | None = Field(
        default=None, max_length=200, description="The next_cursor of the previous answer."
    )


class VotingCopyAnswer(Document):
    """A copy that votes."""

    book_id: UUID
    pages: int = Field(description="Number of pages that match pages of the best copy.")


class LeftOutAnswer(Document):
    """A book of the cluster that does not vote."""

    book_id: UUID
    because: str = Field(description="The reason, one sentence.")


class MasterPageAnswer(Document):
    """A page of a master copy."""

    page: int = Field(validation_alias="index", description="Number of the page in the best copy, from 0.")
    label: str | None = Field(default=None, description="Page label in the best copy.")
    text: str = Field(description="Text of the page, in the lines of the best copy.")
    copies: int = Field(description="Number of copies with this page, including the best copy.")
    agreement: Share | None = Field(
        description="Mean share of copies with the returned character, 0 to 1; null: only one copy."
    )
    changed: Share = Field(
        description="Share of the best copy's words that were replaced, ignoring case and punctuation."
    )


class MasterCopyLinks(Document):
    """Paths of the master copy and of its cluster, relative to the root of this service."""

    self: str = Field(description="The master copy.")
    cluster: str = Field(description="The cluster.")


class MasterCopyAnswer(ClusterNameAnswer):
    """Pages of a text, each in the reading that most copies share."""

    by: By = Field(description="same_text: copies of one text; related: any verified relation.")
    unit: Unit = Field(description="window: the best copy has no pages; windows of 300 words replace them.")
    page_count: int = Field(description="Number of pages of the master copy.")
    best_copy: BestCopyAnswer = Field(
        description="The copy that provides the pages and lines, and the readings if votes are equal."
    )
    copies: list[VotingCopyAnswer] = Field(description="Copies that vote, at most ten, the best copy first.")
    left_out: list[LeftOutAnswer] = Field(description="Books that do not vote, at most 100.")
    items: list[MasterPageAnswer]
    next_cursor: str | None = Field(description="Cursor of the next pages; null on the last pages.")
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
