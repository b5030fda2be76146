"""The answers of the service as types; their fields are explained at /docs.

Generated from the OpenAPI document by `python -m tools.client_types`: do not edit.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Action = Literal[
    "book.created",
    "book.changed",
    "book.content_replaced",
    "book.deleted",
    "decision.made",
    "decision.proposed",
    "decision.withdrawn",
    "key.created",
    "key.revoked",
    "key.rotated",
    "webhook.created",
    "webhook.deleted",
    "webhook.rotated",
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

Kind = Literal[
    "SAME_PAGINATION",
    "DIFFERENT_PAGINATION",
    "CONTIGUOUS_SUBSET",
    "OVERLAPPING_TEXT",
    "SAME_TEXT",
    "UNRELATED",
    "INSUFFICIENT_TEXT",
]


class ActorAnswer(TypedDict):
    """The author of a write, with the address."""

    kind: Literal["key", "admin_key", "anyone", "command"]
    name: str
    key_id: str | None
    address: str | None


class AuditAnswer(TypedDict):
    """An entry of the audit log. Entries never change."""

    at: str
    actor: ActorAnswer
    action: Action
    object: AuditedObject


class AuditList(TypedDict):
    """One page of the audit log, newest entry first."""

    items: list[AuditAnswer]
    next_cursor: str | None


class AuditedObject(TypedDict):
    """Object of an entry of the audit log."""

    kind: Literal["book", "decision", "key", "webhook"]
    id: str
    other_id: str | None


class BestCopyAnswer(TypedDict):
    """The copy to keep or to show."""

    book_id: str
    because: str


class BookAnswer(TypedDict):
    """A book of the catalogue."""

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
    fingerprint: FingerprintAnswer | None
    identifiers: list[str]
    invalid_identifiers: list[str]
    cluster: ClusterNameAnswer
    links: Links
    authors: list[str]
    language: str | None
    year: int | None
    volume: str | None
    publisher: str | None
    external_id: str | None
    collection: str | None
    version: int


class BookList(TypedDict):
    """One page of a list of books, oldest first."""

    items: list[BookAnswer]
    next_cursor: str | None


class BookSignatures(TypedDict):
    """Signatures of a book, in the form that posts and lookups accept."""

    datasketch: LeanMinHashAnswer | None


class ChangeAnswer(TypedDict):
    """A change. The feed contains each change at least once; `at` increases along the feed."""

    cursor: str
    at: str
    type: ChangeType
    book_id: str
    other_id: str | None
    data: dict[str, Any]


class ChangesAnswer(TypedDict):
    """Changes, oldest first."""

    items: list[ChangeAnswer]
    next_cursor: str


class ClusterAnswer(TypedDict):
    """One page of the books of a cluster, oldest first. A book alone is a cluster of one."""

    id: str
    key: str
    by: Literal["same_text", "related"]
    size: int
    best_copy: BestCopyAnswer
    weakest_link: WeakestLinkAnswer | None
    items: list[ClusterMember]
    next_cursor: str | None
    links: ClusterLinks


class ClusterLinks(TypedDict):
    """The path of the cluster, relative to the root of this service."""

    self: str


class ClusterList(TypedDict):
    """One page of clusters."""

    pending: int
    items: list[ListedClusterAnswer]
    next_cursor: str | None


class ClusterMember(TypedDict):
    """A book in a cluster."""

    book_id: str
    external_id: str | None
    title: str | None
    volume: str | None
    year: int | None
    page_count: int | None
    word_count: int


class ClusterNameAnswer(TypedDict):
    """The name of a cluster in two forms."""

    id: str
    key: str


class CompletenessAnswer(TypedDict):
    """Faults of a scan, found with copies of the same printing, in page order."""

    compared_with: list[str]
    findings: list[FaultAnswer]


class ConflictAnswer(TypedDict):
    """Two books whose metadata and texts contradict each other."""

    books: list[ConflictBookAnswer]
    agrees: list[Literal["text", "isbn", "title", "authors", "year", "volume"]]
    contradicts: list[Literal["text", "isbn", "title", "authors", "year", "volume"]]
    evidence: ConflictEvidence


class ConflictBookAnswer(TypedDict):
    """A book in a conflict."""

    id: str
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    identifiers: list[str]
    text_under: NamedCopyAnswer | None


class ConflictContainment(TypedDict):
    """Share of each book that the other book contains, estimated from their MinHash signatures."""

    this_in_other: float | None
    other_in_this: float | None


class ConflictEvidence(TypedDict):
    """Evidence from the two texts; a figure is null if a signature is missing."""

    distance: int | None
    jaccard: float | None
    containment: ConflictContainment
    relation: ConflictRelation | None


class ConflictList(TypedDict):
    """One page of metadata conflicts."""

    items: list[ConflictAnswer]
    cut_groups: list[CutGroupAnswer]
    next_cursor: str | None


class ConflictRelation(TypedDict):
    """The effective relation of the two books."""

    kind: Kind
    confidence: float
    source: Literal["machine", "person"]
    decided_by: str | None


class Containment(TypedDict):
    """Share of each book that the other book contains, estimated from their MinHash signatures."""

    this_in_other: float | None
    other_in_this: float | None


class ContentsAnswer(TypedDict):
    """The parts of a book that occur in other books of the library."""

    unit: Literal["page", "window"]
    page_count: int
    parts: list[VolumePartAnswer]
    part_of: list[WholeAnswer]
    set: SetAnswer | None


class CutGroupAnswer(TypedDict):
    """Books with the same ISBN or title, too many to examine every pair."""

    shared: str
    size: int
    examined: int


class DecidedAnswer(TypedDict):
    """Result of one decision: an outcome or a problem."""

    left: str
    right: str
    status: int
    outcome: Literal["counts", "withdrawn", "undone", "unsure"] | None
    problem: Problem | None


class DecidedList(TypedDict):
    """Results of the decisions, in the order of the request."""

    items: list[DecidedAnswer]


class DecisionAnswer(TypedDict):
    """A person's decision."""

    verdict: Literal["confirmed", "rejected", "kind"]
    kind: Kind | None
    decided_at: str
    decided_by: str | None
    stale: bool


class DecisionBefore(TypedDict):
    """The previous decision on the pair."""

    verdict: Literal["confirmed", "rejected", "kind"]
    kind: Kind | None
    by: str | None


class ExactAnswer(TypedDict):
    """Overlap of the two texts, counted instead of estimated."""

    jaccard: float
    containment: ExactContainment
    shingles: ShingleCounts


class ExactContainment(TypedDict):
    """Containment in both directions, counted."""

    this_in_other: float
    other_in_this: float


FaultAnswer = TypedDict(
    "FaultAnswer",
    {
        "kind": "Literal['missing', 'doubled', 'misplaced', 'foreign']",
        "pages": "list[int] | None",
        "between": "list[int] | None",
        "labels": "list[str | None]",
        "in": "list[PagesOfCopyAnswer]",
        "confidence": "float",
        "because": "str",
        "source": "PagesOfCopyAnswer | None",
    },
)
"""A fault of a scan. Pages are counted from 0, end exclusive."""


class FieldError(TypedDict):
    """A part of the request to change."""

    field: str
    detail: str
    remedy: str


class FindingAnswer(TypedDict):
    """The result of the classifier."""

    kind: Kind
    direction: Literal["contains", "contained_in"] | None
    confidence: float


class FingerprintAnswer(TypedDict):
    """A simhash; simhashes with the same recipe are compared by Hamming distance."""

    recipe: str
    hex: str


class History(TypedDict):
    """One page of the history of decisions, newest first."""

    items: list[PastDecisionAnswer]
    next_cursor: str | None


class JobAnswer(TypedDict):
    """The present state of a background job."""

    id: int
    task: str
    state: Literal["waiting", "running", "succeeded", "failed"]
    attempts: int
    max_attempts: int
    book_id: str | None
    created_at: str
    next_try_at: str | None
    reason: str | None


class LeanMinHashAnswer(TypedDict):
    """A MinHash for datasketch 2, with the permutations of seed 1 in the scheme `affine32`."""

    leanminhash: str
    shingle_count: int


class LeftOutAnswer(TypedDict):
    """A book of the cluster that does not vote."""

    book_id: str
    because: str


class LibraryAnswer(TypedDict):
    """Numbers of books by year, language and collection, most frequent values first."""

    books: int
    estimated: bool
    years: list[YearCount]
    languages: list[NameCount]
    collections: list[NameCount]


class LinearFitAnswer(TypedDict):
    """Pages of the other book as a linear function of pages of this book: slope · page + intercept."""

    slope: float
    intercept: float
    delta_page_count: float


class Links(TypedDict):
    """Paths of the book's resources, relative to the root of this service."""

    self: str
    near_duplicates: str
    relations: str
    similar: str | None


class ListedClusterAnswer(TypedDict):
    """A cluster of at least two books, and its agreement."""

    id: str
    key: str
    by: Literal["same_text", "related"]
    size: int
    founder: NamedBookAnswer
    best_copy: NamedBookAnswer | None
    agreement: float | None
    kinds: dict[str, int] | None
    measured: bool
    links: ClusterLinks


class LookupAnswer(TypedDict):
    """One page of the books near the query, nearest first, with format and warnings of a sent file."""

    query: NearnessQuestion
    exact: bool
    recall: float | None
    total: int
    items: list[NearDuplicate]
    next_cursor: str | None
    format: str | None
    warnings: list[str]


class MasterCopyAnswer(TypedDict):
    """Pages of a text, each in the reading that most copies share."""

    id: str
    key: str
    by: Literal["same_text", "related"]
    unit: Literal["page", "window"]
    page_count: int
    best_copy: BestCopyAnswer
    copies: list[VotingCopyAnswer]
    left_out: list[LeftOutAnswer]
    items: list[MasterPageAnswer]
    next_cursor: str | None
    links: MasterCopyLinks


class MasterCopyLinks(TypedDict):
    """Paths of the master copy and of its cluster, relative to the root of this service."""

    self: str
    cluster: str


class MasterPageAnswer(TypedDict):
    """A page of a master copy."""

    page: int
    label: str | None
    text: str
    copies: int
    agreement: float | None
    changed: float


class NameCount(TypedDict):
    """The number of books of a language or a collection."""

    value: str | None
    count: int


class NamedBookAnswer(TypedDict):
    """A book of a cluster."""

    book_id: str
    title: str | None


class NamedCopyAnswer(TypedDict):
    """A book with the same text under another title."""

    id: str
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    identifiers: list[str]


class NearDuplicate(TypedDict):
    """A book near the query, with figures of nearness; null if a signature is missing."""

    id: str
    identifier: str | None
    title: str | None
    distance: int | None
    jaccard: float | None
    containment: Containment
    verdict: Literal["near_duplicate", "overlap", "common_matter", "none"] | None
    where: SharedPlaces | None
    relation: RelationBrief | None


class NearDuplicates(TypedDict):
    """One page of the books near the query, nearest first."""

    query: NearnessQuestion
    exact: bool
    recall: float | None
    total: int
    items: list[NearDuplicate]
    next_cursor: str | None


class NearnessQuestion(TypedDict):
    """The query that is answered."""

    id: str | None
    max_distance: int | None
    nearest: int | None
    jaccard: float | None


class PageCounts(TypedDict):
    """Numbers of pages of two books."""

    this: int
    other: int


class PageLabelsAnswer(TypedDict):
    """Page labels of both books; null for a page without a label."""

    this: list[str | None] | None
    other: list[str | None] | None


class PageRelation(TypedDict):
    """The relation of two books, page by page. Pages are counted from 0."""

    book_id: str
    title: str | None
    kind: Kind | None
    direction: Literal["contains", "contained_in"] | None
    confidence: float | None
    signals: SignalsAnswer | None
    revised: RevisedAnswer | None
    shares: SharedMatterAnswer | None
    classifier: str | None
    decision: DecisionAnswer | None
    machine: FindingAnswer | None
    via: str | None
    because: str | None
    confidences: dict[str, float]
    unit: Literal["page", "window"] | None
    page_map: list[list[int | float]]
    page_labels: PageLabelsAnswer
    runs: list[RunAnswer]
    linear_fit: LinearFitAnswer | None
    exact: ExactAnswer | None


class PagesOfCopyAnswer(TypedDict):
    """Pages of a copy."""

    book_id: str
    pages: list[int]


class PartBook(TypedDict):
    """A book of the library that shares pages with the volume."""

    book_id: str
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    cluster: ClusterNameAnswer
    pages: list[int] | None
    share: float


class PastDecisionAnswer(TypedDict):
    """A decision of the history, in force or not."""

    at: str
    by: str | None
    left: str
    right: str
    verdict: Literal["confirmed", "rejected", "kind"] | Literal["withdrawn", "undone", "unsure"]
    kind: Kind | None
    note: str | None
    outcome: Literal["counts", "withdrawn", "undone", "unsure"]
    before: DecisionBefore | None


class PostedBook(TypedDict):
    """A book, and whether this request created it."""

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
    fingerprint: FingerprintAnswer | None
    identifiers: list[str]
    invalid_identifiers: list[str]
    cluster: ClusterNameAnswer
    links: Links
    authors: list[str]
    language: str | None
    year: int | None
    volume: str | None
    publisher: str | None
    external_id: str | None
    collection: str | None
    version: int
    created: bool
    format: str | None
    warnings: list[str]


class Problem(TypedDict):
    """An error as a problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: NotRequired[list[FieldError]]


class RelationAnswer(TypedDict):
    """A book and its relation to the book in the path."""

    book_id: str
    title: str | None
    kind: Kind | None
    direction: Literal["contains", "contained_in"] | None
    confidence: float | None
    signals: SignalsAnswer | None
    revised: RevisedAnswer | None
    shares: SharedMatterAnswer | None
    classifier: str | None
    decision: DecisionAnswer | None
    machine: FindingAnswer | None
    via: str | None


class RelationBrief(TypedDict):
    """The relation of two books by a person's decision, otherwise computed from their pages."""

    kind: str
    confidence: float


class RelationsAnswer(TypedDict):
    """All direct relations of a book, closest first, and one page of relations known `via` them."""

    pending: int
    failed: list[str]
    complete: bool
    items: list[RelationAnswer]
    next_cursor: str | None


class ReviewAnswer(TypedDict):
    """A relation without a decision."""

    books: list[ReviewBookAnswer]
    kind: Kind
    direction: Literal["contains", "contained_in"] | None
    confidence: float
    because: str


class ReviewBookAnswer(TypedDict):
    """A book of a relation to review."""

    id: str
    title: str | None
    authors: list[str]
    year: int | None


class ReviewList(TypedDict):
    """One page of the relations to review."""

    items: list[ReviewAnswer]
    next_cursor: str | None


class RevisedAnswer(TypedDict):
    """Difference of two books with the same pages, apart from misread letters."""

    share: float


class RunAnswer(TypedDict):
    """A run of pages that matches a run in the other book."""

    left: list[int]
    right: list[int]


class SetAnswer(TypedDict):
    """The volumes of a set that the book contains, by the volume numbers in their metadata."""

    volumes: list[SetVolumeAnswer]
    total: int | None
    missing: list[int]


class SetVolumeAnswer(TypedDict):
    """A book with a volume number."""

    number: int
    book_id: str


class SharedMatterAnswer(TypedDict):
    """The front or back matter that two books share. Pages are counted from 0."""

    matter: Literal["front matter", "back matter"]
    this: list[int] | None
    other: list[int] | None


class SharedPlaces(TypedDict):
    """The range of each book from the first to the last hash that both samples contain."""

    this: list[float]
    other: list[float]
    even: float


class SharesAnswer(TypedDict):
    """A share for each of two books, 0 to 1."""

    this: float
    other: float


class ShingleCounts(TypedDict):
    """Numbers of distinct shingles, that is, runs of five words or eight characters."""

    this: int
    other: int
    shared: int


class SignalsAnswer(TypedDict):
    """Measurements of two books; shares are 0 to 1."""

    text_pages: PageCounts
    book_similarity: float
    page_similarity: float
    text_shared: SharesAnswer
    typical_share: float
    pages_matched: SharesAnswer
    span_matched: SharesAnswer
    span: SharesAnswer
    other_breaks: float
    revised: float
    consecutive_correlation: float
    runs: int
    linear_fit: LinearFitAnswer | None


class SimilarBookAnswer(TypedDict):
    """A book similar to the book in the path."""

    id: str
    title: str | None
    authors: list[str]
    similarity: float


class SimilarBooksAnswer(TypedDict):
    """The most similar books, by descending similarity."""

    recipe: str
    items: list[SimilarBookAnswer]


class VolumePartAnswer(TypedDict):
    """Pages of the volume, counted from 0, end exclusive."""

    kind: Literal["work", "passage", "gap"]
    pages: list[int]
    labels: list[str | None] | None
    level: int
    books: list[PartBook]


class VotingCopyAnswer(TypedDict):
    """A copy that votes."""

    book_id: str
    pages: int


class WeakestLinkAnswer(TypedDict):
    """The weakest relation whose loss, with all weaker ones, would split the cluster."""

    book_id: str
    other_id: str
    kind: Kind
    share: float | None


class WebhookAnswer(TypedDict):
    """The present state of a webhook."""

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


class WebhookList(TypedDict):
    """One page of a list of webhooks, in order of ids."""

    items: list[WebhookAnswer]
    next_cursor: str | None


class WebhookWithSecret(TypedDict):
    """A webhook with its new secret, which is not shown again."""

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
    secret: str


class WholeAnswer(TypedDict):
    """A book that contains the volume."""

    book_id: str
    title: str | None
    pages: list[list[int]]


class YearCount(TypedDict):
    """The number of books of a year."""

    value: int | None
    count: int
