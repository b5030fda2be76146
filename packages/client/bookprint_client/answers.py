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
    """Who wrote something, and from where."""

    kind: Literal["key", "admin_key", "anyone", "command"]
    name: str
    key_id: str | None
    address: str | None


class AuditAnswer(TypedDict):
    """One thing that was done. It is never changed."""

    at: str
    actor: ActorAnswer
    action: Action
    object: AuditedObject


class AuditList(TypedDict):
    """One page of the audit log, the newest entry first."""

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
    """Signatures of a book, as posts and lookups take them."""

    datasketch: LeanMinHashAnswer | None


class ChangeAnswer(TypedDict):
    """A change. Each is told at least once; `at` grows along the feed."""

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
    """Books that belong together: one page of them, oldest first. A book alone is a cluster of one."""

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
    """The cluster's own path, relative to the root of this service."""

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
    """The name of a cluster, written in two ways."""

    id: str
    key: str


class CompletenessAnswer(TypedDict):
    """Faults of a scan, found by copies of its printing, in the order of its pages."""

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
    """The share of each book that the other one contains, estimated from their MinHash signatures."""

    this_in_other: float | None
    other_in_this: float | None


class ConflictEvidence(TypedDict):
    """Evidence from the two texts; null if a signature is missing."""

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
    """The share of each book that the other one contains, estimated from their MinHash signatures."""

    this_in_other: float | None
    other_in_this: float | None


class ContentsAnswer(TypedDict):
    """The contents of a book, as far as other books of the library tell."""

    unit: Literal["page", "window"]
    page_count: int
    parts: list[VolumePartAnswer]
    part_of: list[WholeAnswer]
    set: SetAnswer | None


class CutGroupAnswer(TypedDict):
    """Books that share an ISBN or a title, and are too many to examine every pair of them."""

    shared: str
    size: int
    examined: int


class DecidedAnswer(TypedDict):
    """Result of one decision: an outcome, or the problem."""

    left: str
    right: str
    status: int
    outcome: Literal["counts", "withdrawn", "undone", "unsure"] | None
    problem: Problem | None


class DecidedList(TypedDict):
    """Results of the decisions, in their order."""

    items: list[DecidedAnswer]


class DecisionAnswer(TypedDict):
    """A person's decision."""

    verdict: Literal["confirmed", "rejected", "kind"]
    kind: Kind | None
    decided_at: str
    decided_by: str | None
    stale: bool


class DecisionBefore(TypedDict):
    """The decision that counted until then."""

    verdict: Literal["confirmed", "rejected", "kind"]
    kind: Kind | None
    by: str | None


class ExactAnswer(TypedDict):
    """Shared parts of the two texts, counted and not estimated."""

    jaccard: float
    containment: ExactContainment
    shingles: ShingleCounts


class ExactContainment(TypedDict):
    """Containment both ways, counted."""

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
"""A fault of a scan. Pages are counted from 0, the end exclusive."""


class FieldError(TypedDict):
    """One part of the request that has to change."""

    field: str
    detail: str
    remedy: str


class FindingAnswer(TypedDict):
    """The machine's finding."""

    kind: Kind
    direction: Literal["contains", "contained_in"] | None
    confidence: float


class FingerprintAnswer(TypedDict):
    """A simhash: two of one recipe are compared by Hamming distance."""

    recipe: str
    hex: str


class History(TypedDict):
    """One page of the history of decisions, the newest first."""

    items: list[PastDecisionAnswer]
    next_cursor: str | None


class JobAnswer(TypedDict):
    """A background job as it stands now."""

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
    """A MinHash as datasketch 2 reads it; its permutations are those of seed 1 in the scheme `affine32`."""

    leanminhash: str
    shingle_count: int


class LeftOutAnswer(TypedDict):
    """A book of the cluster that does not vote."""

    book_id: str
    because: str


class LibraryAnswer(TypedDict):
    """Contents of the library. Values are ordered by their numbers of books, most frequent first."""

    books: int
    estimated: bool
    years: list[YearCount]
    languages: list[NameCount]
    collections: list[NameCount]


class LinearFitAnswer(TypedDict):
    """Pages of the other book as a line over those of this one: slope · page + intercept."""

    slope: float
    intercept: float
    delta_page_count: float


class Links(TypedDict):
    """Paths of the book's own resources, relative to the root of this service."""

    self: str
    near_duplicates: str
    relations: str
    similar: str | None


class ListedClusterAnswer(TypedDict):
    """A cluster of two books or more, and how it hangs together."""

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
    """One page of the books near the query, nearest first, and how its file was read."""

    query: NearnessQuestion
    exact: bool
    recall: float | None
    total: int
    items: list[NearDuplicate]
    next_cursor: str | None
    format: str | None
    warnings: list[str]


class MasterCopyAnswer(TypedDict):
    """Pages of a text, each in the reading that most of its copies share."""

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
    """A book near the query, and how near it is; null where a signature is missing."""

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
    """The question that is answered."""

    id: str | None
    max_distance: int | None
    nearest: int | None
    jaccard: float | None


class PageCounts(TypedDict):
    """Pages of both books."""

    this: int
    other: int


class PageLabelsAnswer(TypedDict):
    """Printed page numbers of both books; null for a page without one."""

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
    """A book of the library that has a part of the volume, or has the volume as a part."""

    book_id: str
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    cluster: ClusterNameAnswer
    pages: list[int] | None
    share: float


class PastDecisionAnswer(TypedDict):
    """One decision of the history. It stays there when it is withdrawn."""

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
    """A book and whether this request made it."""

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
    """A book and how it is related to the one in the path."""

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
    """The relation of two books: by a person's decision, else as computed from their pages."""

    kind: str
    confidence: float


class RelationsAnswer(TypedDict):
    """The relations of a book: all direct ones, closest first, and a page of those known `via` them."""

    pending: int
    failed: list[str]
    complete: bool
    items: list[RelationAnswer]
    next_cursor: str | None


class ReviewAnswer(TypedDict):
    """A relation that nobody has decided on."""

    books: list[ReviewBookAnswer]
    kind: Kind
    direction: Literal["contains", "contained_in"] | None
    confidence: float
    because: str


class ReviewBookAnswer(TypedDict):
    """A book of a relation to look at."""

    id: str
    title: str | None
    authors: list[str]
    year: int | None


class ReviewList(TypedDict):
    """One page of the queue."""

    items: list[ReviewAnswer]
    next_cursor: str | None


class RevisedAnswer(TypedDict):
    """How much two books with the same pages differ in more than misread letters."""

    share: float


class RunAnswer(TypedDict):
    """A run of pages in one book that matches one in the other."""

    left: list[int]
    right: list[int]


class SetAnswer(TypedDict):
    """The volumes among the parts of a whole, by the numbers in their metadata."""

    volumes: list[SetVolumeAnswer]
    total: int | None
    missing: list[int]


class SetVolumeAnswer(TypedDict):
    """A volume of a set."""

    number: int
    book_id: str


class SharedMatterAnswer(TypedDict):
    """The front or back matter that two books share. Pages are counted from 0."""

    matter: Literal["front matter", "back matter"]
    this: list[int] | None
    other: list[int] | None


class SharedPlaces(TypedDict):
    """The stretches of two books that the hashes span which both their samples have."""

    this: list[float]
    other: list[float]
    even: float


class SharesAnswer(TypedDict):
    """A figure of both books."""

    this: float
    other: float


class ShingleCounts(TypedDict):
    """Distinct shingles, runs of five words or eight characters."""

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
    """A book that is like the one asked about."""

    id: str
    title: str | None
    authors: list[str]
    similarity: float


class SimilarBooksAnswer(TypedDict):
    """The books most like the one asked about, the most similar first."""

    recipe: str
    items: list[SimilarBookAnswer]


class VolumePartAnswer(TypedDict):
    """Pages of the volume, counted from 0, the end exclusive."""

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
    """The relation without which, and without weaker ones, the cluster would fall apart."""

    book_id: str
    other_id: str
    kind: Kind
    share: float | None


class WebhookAnswer(TypedDict):
    """A webhook as it stands now."""

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
