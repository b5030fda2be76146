"""Lists of clusters: which of them to answer, and their documents."""

from typing import Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.clusters.answers import ClusterLinks, ClusterNameAnswer, cluster_path
from app.api.documents import CollectionFilter, Document, PageQuery, Share
from app.core.clusters.cluster_name import ClusterName
from app.core.clusters.clustering import By
from app.core.relations.classification import Kind
from app.services.clusters import MOST_LINKED, MOST_SIZE, ClusterOrder, ListedCluster


class ClusterListQuery(PageQuery):
    """The clusters to list."""

    by: By = Field(
        default="same_text",
        description="What joins the books: same_text, copies of one text; related, any verified relation.",
    )
    min_size: int = Field(default=2, ge=2, le=MOST_SIZE, description="Fewest books.")
    max_size: int = Field(default=MOST_SIZE, ge=2, le=MOST_SIZE, description="Most books.")
    collection: CollectionFilter = None
    order: ClusterOrder = Field(
        default="size",
        description="The largest first; or by agreement: those first that hang together least. What is not "
        "measured comes last.",
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
    """A cluster of two books or more, and how it hangs together."""

    by: By
    size: int = Field(description="How many books there are, of other collections too.")
    founder: NamedBookAnswer = Field(description="The oldest book.")
    best_copy: NamedBookAnswer | None = Field(description="The copy to keep or to show; null: not measured.")
    agreement: Share | None = Field(
        description="The share of its weakest link, as the cluster itself shows it; null: not measured, "
        f"joined by a person's decision, or of more than {MOST_LINKED} books."
    )
    kinds: dict[Kind, int] | None = Field(
        description="How many relations join its books, of each kind; null: not measured, or of more than "
        f"{MOST_LINKED} books."
    )
    measured: bool = Field(
        description="False: it has changed within the last seconds, and workers have yet to measure it."
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

    pending: int = Field(description="Clusters of this kind that are still to be measured.")
    items: list[ListedClusterAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")
