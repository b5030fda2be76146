"""Queries and answers of the reconciliation API 0.2, according to its JSON schemas.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/. A query is validated as
strictly as the schema demands. The contents of a cell are data and never make a query invalid.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.problems import problem_of
from app.api.schemas.documents import Body
from app.catalog.reconciliation import (
    MOST_CANDIDATES,
    PROPERTIES,
    RELATIONS,
    BookDescription,
    book_id_of,
    book_name,
    identifiers_of,
    plain_values,
    unmistakable_identifiers,
    years_of,
)
from app.catalog.scoring import Candidate
from app.services.pairs.relations import Related
from bookprint_core.errors import BookprintError, InvalidInput
from bookprint_core.model import Book, Metadata
from bookprint_core.signatures.identifier import decode, is_identifier
from bookprint_core.text.content import content_from_text

BATCH_SIZE = 1_000
"""Maximum number of queries of one batch, and of books of one data extension."""

BOOK_TYPE = {"id": "Book", "name": "Book"}
WIDER_TYPE = {"id": "CreativeWork", "name": "Creative work"}

_TYPES = frozenset({BOOK_TYPE["id"], WIDER_TYPE["id"]})
_MOST_VALUES = 1_000

LONGEST_VALUE = 10_000
"""Maximum number of characters of a query, or of a value other than a text; equals the limit of a title."""

LONGEST_ID = 1_000
"""Maximum number of characters of an id, or of the name of a property or type."""

_MOST_MEANT = 30
"""Maximum number of values of one field of a description, because each title is searched with each author."""

_OTHER_NAMES = {"authors": "author", "relation": "relations"}

_Id = Annotated[str, Field(max_length=LONGEST_ID)]


def property_named(name: str) -> str:
    """Return the id of a property, given its id or its other name."""
    return _OTHER_NAMES.get(name, name)


class EntityValue(BaseModel):
    """A cell value that is already reconciled with a book."""

    model_config = ConfigDict(strict=True)

    id: _Id
    name: str = Field(default="", max_length=LONGEST_VALUE)


Value = str | int | float | bool | EntityValue


class PropertyBody(BaseModel):
    """The values of one property; unknown names of the object are ignored."""

    model_config = ConfigDict(strict=True)

    pid: _Id
    v: Value | Annotated[list[Value], Field(max_length=_MOST_VALUES)]

    @model_validator(mode="after")
    def _short_enough(self) -> Self:
        texts = (value for value in self.values() if isinstance(value, str))
        if property_named(self.pid) != "text" and any(len(text) > LONGEST_VALUE for text in texts):
            raise PydanticCustomError(
                "long_value",
                "A value has over {most} characters; only `text` may be longer",
                {"most": f"{LONGEST_VALUE:,}", "field": "v"},
            )
        return self

    def values(self) -> list[Value]:
        return self.v if isinstance(self.v, list) else [self.v]


class ReconciliationQuery(Body):
    """A row of a table: its reconciled cell, and the cells of other columns."""

    query: str = Field(default="", max_length=LONGEST_VALUE)
    type: _Id | Annotated[list[_Id], Field(max_length=_MOST_VALUES)] = Field(default=[])
    limit: float = Field(default=10, ge=1)
    properties: list[PropertyBody] = Field(default=[], max_length=_MOST_VALUES)
    type_strict: Literal["any", "should", "all"] = "should"

    @model_validator(mode="after")
    def _has_something_to_find(self) -> Self:
        if not self.query.strip() and not self.properties:
            raise PydanticCustomError("nothing_to_find", "There is neither a query nor a property")
        return self

    @property
    def most(self) -> int:
        return int(min(self.limit, MOST_CANDIDATES))

    def wants_books(self) -> bool:
        """Return whether the types of the query allow books."""
        types = {self.type} if isinstance(self.type, str) else set(self.type)
        if self.type_strict == "all":
            return types <= _TYPES
        return self.type_strict == "should" or not types or bool(types & _TYPES)

    def to_description(self) -> BookDescription:
        """Return the book that the query describes; raises InvalidInput for too many or wrong values."""
        fields: dict[str, dict[Any, None]] = {}
        for field, value in self._parts():
            values = fields.setdefault(field, {})
            values[value] = None
            if len(values) > _MOST_MEANT:
                raise InvalidInput(
                    f"The query names over {_MOST_MEANT} {field} of one book. Send fewer.", "properties"
                )
        return BookDescription(**{field: tuple(values) for field, values in fields.items()})

    def _parts(self) -> Iterator[tuple[str, Any]]:
        text = self.query.strip()
        if known := list(_identifying(text, unmistakable_identifiers)):
            yield from known
        elif text:
            yield "titles", text
        for each in self.properties:
            name = property_named(each.pid)
            for value in each.values():
                yield from _meaning(name, value)


def _meaning(name: str, value: Value) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a book description from a property's value; none for a useless value."""
    if isinstance(value, EntityValue):
        text = (value.name or value.id).strip()
        if (book_id := book_id_of(value.id)) is not None and name in {"identifier", "text"}:
            yield ("ids", book_id) if name == "identifier" else ("contents", book_id)
            return
    else:  # a cell shows 1984.0 as 1984
        is_whole = isinstance(value, float) and value.is_integer()
        text = str(int(value) if is_whole else value).strip()
    if not text:
        return
    match name:
        case "title" | "author" | "language" | "volume":
            yield f"{name}s", text
        case "year":
            yield from (("years", year) for year in years_of(text))
        case "isbn":
            yield from (("identifiers", each) for each in identifiers_of(text, "isbn"))
        case "identifier" | "identifiers":
            yield from _identifying(text, identifiers_of)
        case "text" if is_identifier(text):
            yield "contents", decode(text)
        case "text":
            yield "contents", content_from_text(text)


def _identifying(text: str, identifiers: Callable[[str], Sequence[str]]) -> Iterator[tuple[str, Any]]:
    if (book_id := book_id_of(text)) is not None:
        yield "ids", book_id
    elif is_identifier(text):
        yield "contents", decode(text)
    else:
        yield from (("identifiers", each) for each in identifiers(text))


class ExtensionProperty(BaseModel):
    """A column to fill; its settings are ignored."""

    model_config = ConfigDict(strict=True)

    id: _Id


class ExtensionQuery(BaseModel):
    """Books, and the properties to fetch; unknown books or properties return no values."""

    model_config = ConfigDict(strict=True)

    ids: list[_Id] = Field(fail_fast=True)
    properties: list[ExtensionProperty] = Field(max_length=_MOST_VALUES)


class SuggestQuery(BaseModel):
    """The beginning of a title that a person has typed."""

    prefix: str = Field(default="", max_length=LONGEST_VALUE, description="The start of a title, or an id.")
    cursor: int = Field(default=0, ge=0, le=10_000, description="Number of suggestions to skip.")


POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Content-Security-Policy of the preview: allows only inline styles."""


def result_of(query: ReconciliationQuery, answer: Sequence[Candidate] | BookprintError) -> dict[str, Any]:
    """Return the result of a query."""
    if isinstance(answer, BookprintError):
        return failed(answer)
    return {"result": [_candidate(each) for each in answer[: query.most]]}


def failed(error: Exception) -> dict[str, Any]:
    """Return the result of a query that cannot be answered."""
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
    """Return a line that distinguishes books with the same title."""
    parts = ["; ".join(metadata.authors), metadata.year, metadata.volume and f"volume {metadata.volume}"]
    parts.append(page_count and f"{page_count} pages")
    return ", ".join(str(part) for part in parts if part)


def extension_of(
    query: ExtensionQuery, books: Mapping[UUID, Book], related: Mapping[UUID, Sequence[Related]]
) -> dict[str, Any]:
    """Return the answer to a data extension query."""
    names = {each.id: property_named(each.id) for each in query.properties}
    rows: dict[str, Any] = {}
    for text in query.ids:
        book_id = book_id_of(text)
        book = None if book_id is None else books.get(book_id)
        rows[text] = {
            wanted: _cells(name, book, related.get(book.id, ())) if book else []
            for wanted, name in names.items()
        }
    return {"meta": [_column(wanted, name) for wanted, name in names.items()], "rows": rows}


def _column(wanted: str, name: str) -> dict[str, Any]:
    known = PROPERTIES.get(name)
    column: dict[str, Any] = {"id": wanted, "name": known.name if known else wanted}
    return column | {"type": BOOK_TYPE} if name == RELATIONS else column


def _cells(name: str, book: Book, related: Sequence[Related]) -> list[dict[str, Any]]:
    if name == RELATIONS:
        return [
            {
                "id": str(other.book_id),
                "name": book_name(other.title, other.book_id),
                "description": f"{summary.kind}, {summary.confidence:.2f}",
            }
            for other, summary in related
        ]
    values = plain_values(name, book)
    return [{"int": value} if isinstance(value, int) else {"str": value} for value in values]


def manifest_at(address: str, version: str) -> dict[str, Any]:
    """Return the manifest of the service at an address without a trailing slash."""
    page = f"{address}/reconcile/preview/{{{{id}}}}"
    return {
        "versions": ["0.2"],
        "name": "Bookprint",
        "identifierSpace": f"{address}/v1/books/",
        "schemaSpace": "https://schema.org/Book",
        "documentation": f"{address}/docs",
        "serviceVersion": version,
        "defaultTypes": [BOOK_TYPE | {"broader": [WIDER_TYPE]}],
        "view": {"url": page},
        "preview": {"url": page, "width": 430, "height": 300},
        "suggest": {"entity": {"service_url": address, "service_path": "/reconcile/suggest/entity"}},
        "extend": {
            "propose_properties": {"service_url": address, "service_path": "/reconcile/properties"},
            "property_settings": [],
        },
        "batchSize": BATCH_SIZE,
    }


_STYLE = """
body { margin: 0; padding: .6em .8em; font: 13px/1.4 sans-serif; color: #1b1b1b; background: #fff }
h1 { margin: 0; font-size: 1.2em } p { margin: .1em 0 .5em } dl, ul { margin: 0; padding: 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em .8em } dt { color: #555 }
dd { margin: 0; overflow-wrap: anywhere } ul { list-style: none }
"""
_SHOWN = ("identifiers", "identifier", "language", "volume", "page_count", "word_count", "cluster")
_MOST_RELATED = 20


def book_page(book: Book, related: Sequence[Related]) -> str:
    """Return a page about a book, small enough for a frame beside a table."""
    title = escape(book_name(book.metadata.title, book.id))
    byline = ", ".join([*book.metadata.authors, *map(str, plain_values("year", book))])
    facts = [
        f"<dt>{PROPERTIES[name].name}</dt><dd>{escape(', '.join(map(str, values)))}</dd>"
        for name in _SHOWN
        if (values := plain_values(name, book))
    ]
    links = [
        f'<li><a href="{other.book_id}" target="_blank">{escape(book_name(other.title, other.book_id))}</a>'
        f" ({summary.kind.replace('_', ' ').lower()})"
        for other, summary in related[:_MOST_RELATED]
    ]
    if (more := len(related) - _MOST_RELATED) > 0:
        links.append(f"<li>and {more:,} more")
    if links:
        facts.append(f"<dt>Related</dt><dd><ul>{''.join(links)}</ul></dd>")
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{_STYLE}</style>'
        f'</head>\n<body>\n<h1 dir="auto">{title}</h1>\n<p dir="auto">{escape(byline)}</p>\n'
        f"<dl>\n{chr(10).join(facts)}\n</dl>\n</body>\n</html>\n"
    )
