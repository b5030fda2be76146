"""Relations, clusters and conflicts as JSON answers; their fields are explained at /docs."""

from typing import Any, Literal, TypedDict

from app.client.answers.books import ClusterNameJson, ContainmentJson, Kind, RelationSummaryJson

Direction = Literal["contains", "contained_in"]


class DecisionJson(TypedDict):
    """A person's decision on two books."""

    verdict: Literal["confirmed", "rejected", "kind"]
    kind: Kind | None
    decided_at: str
    decided_by: str | None
    stale: bool


class FindingJson(TypedDict):
    """What the classifier found."""

    kind: Kind
    direction: Direction | None
    confidence: float


class RelationJson(TypedDict):
    """How a book is related to another."""

    book_id: str
    title: str | None
    kind: Kind | None
    direction: Direction | None
    confidence: float | None
    signals: dict[str, Any] | None
    classifier: str | None
    decision: DecisionJson | None
    machine: FindingJson | None
    via: str | None


class RelationsJson(TypedDict):
    """A page of a book's relations."""

    pending: int
    failed: list[str]
    complete: bool
    items: list[RelationJson]
    next_cursor: str | None


class RunJson(TypedDict):
    """Pages that follow each other in both books."""

    left: list[int]
    right: list[int]


class LinearFitJson(TypedDict):
    """The line through matching pages."""

    slope: float
    intercept: float
    delta_page_count: float


class PageLabelsJson(TypedDict):
    """What is printed on the pages of two books as their numbers."""

    this: list[str | None] | None
    other: list[str | None] | None


class ShinglesJson(TypedDict):
    """Distinct shingles of two books, and those of both."""

    this: int
    other: int
    shared: int


class ExactContainmentJson(TypedDict):
    """The share of each book that the other has."""

    this_in_other: float
    other_in_this: float


class ExactJson(TypedDict):
    """What two texts share, counted."""

    jaccard: float
    containment: ExactContainmentJson
    shingles: ShinglesJson


class PageRelationJson(RelationJson):
    """The relation of two books, page by page."""

    because: str | None
    confidences: dict[str, float]
    unit: Literal["page", "window"] | None
    page_map: list[list[float]]
    page_labels: PageLabelsJson
    runs: list[RunJson]
    linear_fit: LinearFitJson | None
    exact: ExactJson | None


class BestCopyJson(TypedDict):
    """The copy of a cluster to keep."""

    book_id: str
    because: str


class ClusterMemberJson(TypedDict):
    """A book in a cluster."""

    book_id: str
    external_id: str | None
    title: str | None
    volume: str | None
    year: int | None
    page_count: int | None
    word_count: int


class ClusterJson(ClusterNameJson):
    """A page of the books of a cluster."""

    by: Literal["same_text", "related"]
    size: int
    best_copy: BestCopyJson
    items: list[ClusterMemberJson]
    next_cursor: str | None
    links: dict[str, str]


class VotingCopyJson(TypedDict):
    """A copy that votes on a master copy."""

    book_id: str
    pages: int


class LeftOutJson(TypedDict):
    """A book that does not vote."""

    book_id: str
    because: str


class MasterPageJson(TypedDict):
    """A page of a master copy."""

    page: int
    label: str | None
    text: str
    copies: int
    agreement: float | None
    changed: float


class MasterCopyJson(ClusterNameJson):
    """Pages of a text, each in the reading that most of its copies share."""

    by: Literal["same_text", "related"]
    unit: Literal["page", "window"]
    page_count: int
    best_copy: BestCopyJson
    copies: list[VotingCopyJson]
    left_out: list[LeftOutJson]
    items: list[MasterPageJson]
    next_cursor: str | None
    links: dict[str, str]


class ConflictBookJson(TypedDict):
    """One of two books that contradict each other."""

    id: str
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    identifiers: list[str]


class ConflictRelationJson(RelationSummaryJson):
    """The relation of two such books."""

    source: Literal["machine", "person"]
    decided_by: str | None


class ConflictEvidenceJson(TypedDict):
    """What is known of two such texts."""

    distance: int | None
    jaccard: float | None
    containment: ContainmentJson
    relation: ConflictRelationJson | None


class ConflictJson(TypedDict):
    """Two books whose metadata and texts contradict each other."""

    books: list[ConflictBookJson]
    agrees: list[str]
    contradicts: list[str]
    evidence: ConflictEvidenceJson


class CutGroupJson(TypedDict):
    """Books too many to examine every pair of them."""

    shared: str
    size: int
    examined: int


class ConflictsJson(TypedDict):
    """A page of metadata conflicts."""

    items: list[ConflictJson]
    cut_groups: list[CutGroupJson]
    next_cursor: str | None
