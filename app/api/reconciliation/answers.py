"""Answers of the reconciliation API 0.2, as its JSON schemas have them.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/. The models describe what is
answered; the answers themselves are plain values, because a large batch has ten thousand candidates.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

from app.api.documents import Document, shown
from app.api.http import examples
from app.api.http.problems import Problem, problem_of
from app.api.reconciliation.queries import (
    BATCH_SIZE,
    BOOK_TYPE,
    WIDER_TYPE,
    ExtensionProperty,
    ExtensionQuery,
    ReconciliationQuery,
    property_named,
)
from app.catalog.reconciliation import (
    BY_ID,
    RELATIONS,
    BookFacts,
    Property,
    book_id_of,
    book_name,
    plain_values,
)
from app.catalog.scoring import Candidate
from app.core.errors import BookprintError
from app.core.model import Metadata

PREVIEW_WIDTH, PREVIEW_HEIGHT = 430, 300

_SCHEMA_SPACE = "https://schema.org/Book"

_CANDIDATE: dict[str, Any] = {
    "id": examples.BOOK_ID,
    "name": examples.TITLE,
    "description": "E. M. Harbour, 1913, 330 pages",
    "type": [BOOK_TYPE],
    "score": 97.5,
    "features": [{"id": "title", "value": 0.97}, {"id": "year", "value": 1.0}],
    "match": True,
}


class TypeAnswer(Document):
    """A type of entities."""

    model_config = shown(BOOK_TYPE)

    id: str
    name: str


class Feature(Document):
    """One comparison behind a score."""

    model_config = shown({"id": "title", "value": 0.97})

    id: str = Field(
        description="`title author year language volume identifier content`: 0 to 1, larger is nearer. "
        "`distance` in bits, `jaccard`, `containment`, `contained`, `relation`: as lookups have them."
    )
    value: float | bool


class CandidateAnswer(Document):
    """A book that may be the one described."""

    model_config = shown(_CANDIDATE)

    id: UUID
    name: str
    description: str = Field(description="Authors, year, number of pages.")
    type: list[TypeAnswer]
    score: float = Field(ge=0, le=100, description="The weighted mean of the features, in hundredths.")
    features: list[Feature]
    match: bool = Field(description="True of a candidate of 90 or more that leads by 5 or more.")


class ResultAnswer(BaseModel):
    """The candidates of one query."""

    model_config = shown({"result": [_CANDIDATE]})

    result: list[CandidateAnswer] = Field(description="By falling score.")
    error: Problem | None = Field(default=None, description="Why the query found nothing, if it is wrong.")


class ResultBatch(RootModel[dict[str, ResultAnswer]]):
    """The result of each query, under the name of the query."""

    model_config = shown({"q0": {"result": [_CANDIDATE]}})


def result_of(query: ReconciliationQuery, answer: Sequence[Candidate] | BookprintError) -> dict[str, Any]:
    """The result of a query, as `ResultAnswer` describes it."""
    if isinstance(answer, BookprintError):
        return failed(answer)
    return {"result": [_candidate(each) for each in answer[: query.most]]}


def failed(error: Exception) -> dict[str, Any]:
    """The result of a query that cannot be answered."""
    return {"result": [], "error": problem_of(error).model_dump(mode="json")}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "id": candidate.id,
        "name": book_name(candidate.metadata.title, candidate.id),
        "description": described(candidate.metadata, candidate.page_count),
        "type": [BOOK_TYPE],
        "score": candidate.score,
        "features": [{"id": name, "value": value} for name, value in candidate.features.items()],
        "match": candidate.match,
    }


def described(metadata: Metadata, page_count: int | None) -> str:
    """The line that tells books of one title apart."""
    parts = ["; ".join(metadata.authors), metadata.year, metadata.volume and f"volume {metadata.volume}"]
    parts.append(page_count and f"{page_count} pages")
    return ", ".join(str(part) for part in parts if part)


class ExtensionColumn(BaseModel):
    """A column of the answer."""

    model_config = shown({"id": "isbn", "name": "ISBN"})

    id: str
    name: str
    type: TypeAnswer | None = Field(default=None, description="Of entities alone.")


class ExtensionAnswer(Document):
    """The values of properties of books."""

    model_config = shown(
        {
            "meta": [{"id": "isbn", "name": "ISBN"}],
            "rows": {examples.BOOK_ID: {"isbn": [{"str": "9780141439600"}]}},
        }
    )

    meta: list[ExtensionColumn]
    rows: dict[str, dict[str, list[dict[str, Any]]]] = Field(
        description="By id and property: `str`, `int`, or `id`, `name` and `description` of a book."
    )


def extension_of(query: ExtensionQuery, facts: Mapping[UUID, BookFacts]) -> dict[str, Any]:
    """The answer to a data extension query, as `ExtensionAnswer` describes it."""
    rows = {}
    for text in query.ids:
        book_id = book_id_of(text)
        known = None if book_id is None else facts.get(book_id)
        rows[text] = {each.id: _cells(each, known) if known else [] for each in query.properties}
    return {"meta": [_column(each.id) for each in query.properties], "rows": rows}


def _column(property_id: str) -> dict[str, Any]:
    known = BY_ID.get(property_named(property_id))
    column: dict[str, Any] = {"id": property_id, "name": known.name if known else property_id}
    return column | {"type": BOOK_TYPE} if known and known.id == RELATIONS else column


def _cells(wanted: ExtensionProperty, facts: BookFacts) -> list[dict[str, Any]]:
    name = property_named(wanted.id)
    if name == RELATIONS:
        return [
            {
                "id": str(related.book_id),
                "name": book_name(related.title, related.book_id),
                "description": f"{related.summary.kind}, {related.summary.confidence:.2f}",
            }
            for related in facts.relations[: wanted.most]
        ]
    values = plain_values(name, facts.book)[: wanted.most]
    return [{"int": value} if isinstance(value, int) else {"str": value} for value in values]


class Suggestion(BaseModel):
    """An entity, property or type that may be meant."""

    model_config = shown({"id": "year", "name": "Year", "description": "The year of publication."})

    id: str
    name: str
    description: str | None = None
    notable: list[TypeAnswer] | None = Field(default=None, description="Types, of an entity.")
    broader: list[TypeAnswer] | None = Field(default=None, description="Wider types, of a type.")


class Suggestions(Document):
    """What may be meant."""

    model_config = shown({"result": [{"id": "year", "name": "Year"}]})

    result: list[Suggestion]


class ProposedProperties(BaseModel):
    """Properties that columns can be filled with."""

    model_config = shown({"type": "Book", "limit": 5, "properties": [{"id": "isbn", "name": "ISBN"}]})

    properties: list[Suggestion]
    type: str | None = None
    limit: int | None = None


class Flyout(Document):
    """A fragment of HTML about what is suggested."""

    model_config = shown({"id": "year", "html": "<p>Year</p>"})

    id: str
    html: str


def suggested(each: Property) -> dict[str, Any]:
    """A property as a suggestion."""
    return {"id": each.id, "name": each.name, "description": each.description}


def manifest_at(address: str, version: str) -> dict[str, Any]:
    """The manifest of the service at an address without a slash at its end."""
    page = f"{address}/reconcile/preview/{{{{id}}}}"
    return {
        "versions": ["0.2"],
        "name": "Bookprint",
        "identifierSpace": f"{address}/v1/books/",
        "schemaSpace": _SCHEMA_SPACE,
        "documentation": f"{address}/docs",
        "serviceVersion": version,
        "defaultTypes": [BOOK_TYPE | {"broader": [WIDER_TYPE]}],
        "view": {"url": page},
        "preview": {"url": page, "width": PREVIEW_WIDTH, "height": PREVIEW_HEIGHT},
        "suggest": {kind: _suggest(address, kind) for kind in ("entity", "property", "type")},
        "extend": {
            "propose_properties": {"service_url": address, "service_path": "/reconcile/properties"},
            "property_settings": [
                {
                    "name": "limit",
                    "label": "Limit",
                    "type": "number",
                    "default": 0,
                    "help_text": "How many values of a book to fetch at most; 0 for all.",
                }
            ],
        },
        "batchSize": BATCH_SIZE,
    }


def _suggest(address: str, kind: str) -> dict[str, str]:
    return {
        "service_url": address,
        "service_path": f"/reconcile/suggest/{kind}",
        "flyout_service_path": f"/reconcile/flyout/{kind}?id=${{id}}",
    }


class Manifest(Document):
    """What the reconciliation service can do, as the API's schema of manifests says."""

    model_config = shown(manifest_at("https://bookprint.example", "1.0")) | ConfigDict(
        alias_generator=to_camel
    )

    versions: list[str] = Field(description="Versions of the reconciliation API.")
    name: str
    identifier_space: str = Field(description="What the ids of books begin with as URIs.")
    schema_space: str = Field(description="The type of what is found, as a URI.")
    documentation: str
    service_version: str
    default_types: list[dict[str, Any]]
    view: dict[str, str] = Field(description="The page of a book.")
    preview: dict[str, str | int] = Field(description="The same page, and the size of its frame.")
    suggest: dict[str, dict[str, str]]
    extend: dict[str, Any]
    batch_size: int = Field(description="How many queries a batch may have.")
