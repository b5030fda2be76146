"""Books and lookups as JSON answers; their fields are explained at /docs."""

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


class FingerprintJson(TypedDict):
    """A simhash."""

    recipe: str
    hex: str


class LinksJson(TypedDict):
    """Paths of a book's own resources."""

    self: str
    near_duplicates: str
    relations: str
    similar: str | None


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
