"""Documents of a cluster of books and of its master copy, and which of their parts to answer."""

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
    Field(description="What joins the books: same_text, copies of one text; related, any verified relation."),
]


class MemberQuery(PageQuery):
    """The members of a cluster to list."""

    collection: CollectionFilter = None


class ClusterQuery(MemberQuery):
    """The kind of cluster, and the members of it to list."""

    by: Joined = "same_text"


class BestCopyAnswer(Document):
    """The copy to keep or to show."""

    book_id: UUID
    because: str = Field(description="A sentence that says why.")


class WeakestLinkAnswer(Document):
    """The relation without which, and without weaker ones, the cluster would fall apart."""

    book_id: UUID = Field(validation_alias="left", description="The older book.")
    other_id: UUID = Field(validation_alias="right", description="The younger book.")
    kind: Kind
    share: Share | None = Field(
        description="The larger share of the text of either book that the other has; null: a person's "
        "decision alone joins them."
    )


class ClusterMember(Document):
    """A book in a cluster."""

    book_id: UUID
    external_id: str | None
    title: str | None
    volume: str | None
    year: int | None
    page_count: int | None = Field(description="Pages, blank ones too; null where they are not known.")
    word_count: int = Field(description="Words; characters, in scripts without spaces.")


class ClusterLinks(Document):
    """The cluster's own path, relative to the root of this service."""

    self: str = Field(description="The cluster.")


class ClusterNameAnswer(Document):
    """The name of a cluster, written in two ways."""

    id: str = Field(
        description="What joins the books, and the id of the oldest. Of clusters that become one the oldest "
        "id stays, and the others lead there."
    )
    key: str = Field(
        description="The id in 33 letters and digits, for systems that group their records by a field."
    )


class ClusterAnswer(ClusterNameAnswer):
    """Books that belong together: one page of them, oldest first. A book alone is a cluster of one."""

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


def cluster_path(name: ClusterName) -> str:
    return f"/v1/clusters/{name}"


class MasterCopyQuery(Parameters):
    """The pages of a master copy to answer."""

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

    book_id: UUID
    pages: int = Field(description="How many of its pages match pages of the best copy.")


class LeftOutAnswer(Document):
    """A book of the cluster that does not vote."""

    book_id: UUID
    because: str = Field(description="A sentence that says why.")


class MasterPageAnswer(Document):
    """A page of a master copy."""

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

    self: str = Field(description="The master copy.")
    cluster: str = Field(description="The cluster.")


class MasterCopyAnswer(ClusterNameAnswer):
    """Pages of a text, each in the reading that most of its copies share."""

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
