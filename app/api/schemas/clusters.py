"""What clients are told of a cluster."""

from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas import examples
from app.core.clusters.clustering import By
from app.core.model import Member
from app.services.clusters import ClusterName, ClusterPage


class BestCopyAnswer(BaseModel):
    """The copy to keep or to show."""

    model_config = ConfigDict(json_schema_extra={"example": examples.CLUSTER["best_copy"]})

    book_id: UUID
    because: str = Field(description="A sentence that says why.")


class ClusterMember(BaseModel):
    """A book in a cluster."""

    model_config = ConfigDict(json_schema_extra={"example": examples.CLUSTER_MEMBER})

    book_id: UUID
    title: str | None
    volume: str | None
    year: int | None
    page_count: int | None = Field(description="Pages, blank ones too; null where they are not known.")
    word_count: int = Field(description="Words; characters, in scripts without spaces.")

    @classmethod
    def of(cls, member: Member) -> Self:
        """The document of a member."""
        return cls(
            book_id=member.book_id,
            title=member.title,
            volume=member.volume,
            year=member.year,
            page_count=member.page_count,
            word_count=member.word_count,
        )


class ClusterLinks(BaseModel):
    """Where to go on, relative to the root of this service."""

    model_config = ConfigDict(json_schema_extra={"example": examples.CLUSTER["links"]})

    self: str = Field(description="The cluster.")


class ClusterAnswer(BaseModel):
    """Books that belong together: one page of them, oldest first. A book alone is a cluster of one."""

    model_config = ConfigDict(json_schema_extra={"example": examples.CLUSTER})

    id: str = Field(
        description="What joins the books, and the id of the oldest. Of clusters that become one the oldest "
        "id stays, and the others lead there."
    )
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
            id=str(page.name),
            by=page.name.by,
            size=page.size,
            best_copy=BestCopyAnswer(book_id=page.best.book_id, because=page.best.because),
            items=[ClusterMember.of(member) for member in page.members],
            next_cursor=next_cursor,
            links=ClusterLinks(self=cluster_path(page.name)),
        )


def cluster_path(name: ClusterName) -> str:
    """Where a cluster is, relative to the root of this service."""
    return f"/v1/clusters/{name}"
