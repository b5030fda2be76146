"""A cluster of books: which of its members to answer, and its document."""

from typing import Self
from uuid import UUID

from pydantic import Field

from app.api.documents import CollectionFilter, Document, PageQuery, Share
from app.core.clusters.cluster_name import ClusterName
from app.core.clusters.clustering import By
from app.core.relations.classification import Kind
from app.services.clusters import MOST_LINKED, ClusterPage


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
    """The path of a cluster, relative to the root of this service."""
    return f"/v1/clusters/{name}"
