"""The JSON documents that the service answers, as they come; their fields are explained at /docs."""

from typing import Any, Literal, TypedDict

Kind = Literal[
    "SAME_PAGINATION",
    "DIFFERENT_PAGINATION",
    "CONTIGUOUS_SUBSET",
    "OVERLAPPING_TEXT",
    "SAME_TEXT",
    "UNRELATED",
    "INSUFFICIENT_TEXT",
]
ChangeType = Literal[
    "book.created",
    "book.changed",
    "book.content_replaced",
    "book.deleted",
    "relation.found",
    "relation.gone",
    "relation.decided",
    "cluster.changed",
]
Action = Literal[
    "book.created",
    "book.changed",
    "book.content_replaced",
    "book.deleted",
    "decision.made",
    "decision.withdrawn",
    "key.created",
    "key.revoked",
    "key.rotated",
    "webhook.created",
    "webhook.deleted",
    "webhook.rotated",
]
Direction = Literal["contains", "contained_in"]


class FingerprintJson(TypedDict):
    """A simhash."""

    recipe: str
    hex: str


class LinksJson(TypedDict):
    """Paths of a book's own resources."""

    self: str
    near_duplicates: str
    relations: str


class ClusterNameJson(TypedDict):
    """The name of a cluster, written in two ways."""

    id: str
    key: str


class BookJson(TypedDict):
    """A book as the catalogue holds it."""

    id: str
    identifier: str | None
    long_identifier: str | None
    composite: str | None
    iscc: str | None
    digests: dict[str, str]
    status: Literal["indexed", "pending"]
    title: str | None
    page_count: int | None
    word_count: int
    fingerprint: FingerprintJson | None
    identifiers: list[str]
    invalid_identifiers: list[str]
    cluster: ClusterNameJson
    links: LinksJson
    authors: list[str]
    language: str | None
    year: int | None
    volume: str | None
    external_id: str | None
    version: int


class PostedBookJson(BookJson):
    """A book and whether this request made it."""

    created: bool
    format: str | None
    warnings: list[str]


class BooksJson(TypedDict):
    """A page of books."""

    items: list[BookJson]
    next_cursor: str | None


class BulkLineJson(TypedDict, total=False):
    """What became of one line of a bulk post."""

    line: int
    status: int
    id: str
    identifier: str | None
    created: bool
    problem: dict[str, Any]


class ContainmentJson(TypedDict):
    """The shares of two books found in each other."""

    this_in_other: float | None
    other_in_this: float | None


class RelationSummaryJson(TypedDict):
    """The kind of a relation."""

    kind: Kind
    confidence: float


class NearDuplicateJson(TypedDict):
    """A book near the one asked about."""

    id: str
    identifier: str | None
    title: str | None
    distance: int | None
    jaccard: float | None
    containment: ContainmentJson
    relation: RelationSummaryJson | None


class QuestionJson(TypedDict):
    """What a lookup asked."""

    id: str | None
    max_distance: int | None
    nearest: int | None


class NearDuplicatesJson(TypedDict):
    """A page of the books near a book."""

    query: QuestionJson
    exact: bool
    total: int
    items: list[NearDuplicateJson]
    next_cursor: str | None


class LookupJson(NearDuplicatesJson):
    """A page of the books near one that is not stored."""

    format: str | None
    warnings: list[str]


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


class PageRelationJson(RelationJson):
    """The relation of two books, page by page."""

    because: str | None
    confidences: dict[str, float]
    unit: Literal["page", "window"] | None
    page_map: list[list[float]]
    page_labels: PageLabelsJson
    runs: list[RunJson]
    linear_fit: LinearFitJson | None


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


class ChangeJson(TypedDict):
    """A change of a book, a relation or a cluster."""

    cursor: str
    at: str
    type: ChangeType
    book_id: str
    other_id: str | None
    data: dict[str, Any]


class ChangesJson(TypedDict):
    """Changes, oldest first, and where to go on."""

    items: list[ChangeJson]
    next_cursor: str


class WebhookJson(TypedDict):
    """A URL to which changes are delivered."""

    id: str
    url: str
    types: list[ChangeType] | None
    state: Literal["active", "failing", "disabled"]
    cursor: str
    created_at: str
    failing_since: str | None
    next_try_at: str | None
    last_error: str | None
    disabled_at: str | None
    disabled_because: str | None


class WebhookWithSecretJson(WebhookJson):
    """A webhook with its new secret, which is not shown again."""

    secret: str


class WebhooksJson(TypedDict):
    """A page of webhooks."""

    items: list[WebhookJson]
    next_cursor: str | None


class ActorJson(TypedDict):
    """Who wrote something, and from where."""

    kind: Literal["key", "admin_key", "anyone", "command"]
    name: str
    key_id: str | None
    address: str | None


class AuditedObjectJson(TypedDict):
    """What was written."""

    kind: Literal["book", "decision", "key", "webhook"]
    id: str
    other_id: str | None


class AuditEntryJson(TypedDict):
    """One thing that was done."""

    at: str
    actor: ActorJson
    action: Action
    object: AuditedObjectJson


class AuditJson(TypedDict):
    """A page of the audit log."""

    items: list[AuditEntryJson]
    next_cursor: str | None


class JobJson(TypedDict):
    """A job of the workers."""

    id: int
    task: str
    state: Literal["waiting", "running", "succeeded", "failed"]
    attempts: int
    max_attempts: int
    book_id: str | None
    created_at: str
    next_try_at: str | None
    reason: str | None


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
