"""Queries of the reconciliation API 0.2, as its JSON schemas have them, and the books that they describe.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/. A query is read strictly
where the schema is strict. The contents of a cell are data, and never a reason to refuse it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.documents import Body
from app.catalog.reconciliation import (
    MOST_CANDIDATES,
    BookDescription,
    book_id_of,
    identifiers_of,
    unmistakable_identifiers,
    years_of,
)
from bookprint_core.errors import InvalidInput
from bookprint_core.signatures.identifier import decode, is_identifier
from bookprint_core.text.content import content_from_text

BATCH_SIZE = 1_000
"""Queries of one batch, and books of one data extension."""

BOOK_TYPE = {"id": "Book", "name": "Book"}
WIDER_TYPE = {"id": "CreativeWork", "name": "Creative work"}

_TYPES = frozenset({BOOK_TYPE["id"], WIDER_TYPE["id"]})
_MOST_VALUES = 1_000

LONGEST_VALUE = 10_000
"""Characters of a query, or of a value other than a text: as many as a title may have."""

LONGEST_ID = 1_000
"""Characters of an id, or of the name of a property or type."""

_MOST_MEANT = 30
"""Values of one field of a description: each title is searched with each author."""

_OTHER_NAMES = {"authors": "author", "relation": "relations"}

Id = Annotated[str, Field(max_length=LONGEST_ID)]


def property_named(name: str) -> str:
    """Returns the id of a property by its id or its other name."""
    return _OTHER_NAMES.get(name, name)


class EntityValue(BaseModel):
    """A value that was reconciled itself."""

    model_config = ConfigDict(strict=True)

    id: Id
    name: str = Field(default="", max_length=LONGEST_VALUE)


Value = str | int | float | bool | EntityValue


class PropertyBody(BaseModel):
    """The values of one property; other names of the object are ignored."""

    model_config = ConfigDict(strict=True)

    pid: Id
    v: Value | Annotated[list[Value], Field(max_length=_MOST_VALUES)]

    @model_validator(mode="after")
    def _short_enough(self) -> Self:
        texts = (value for value in self.values() if isinstance(value, str))
        if property_named(self.pid) != "text" and any(len(text) > LONGEST_VALUE for text in texts):
            raise PydanticCustomError(
                "long_value",
                "A value has over {most} characters, which only `text` may have",
                {"most": f"{LONGEST_VALUE:,}", "field": "v"},
            )
        return self

    def values(self) -> list[Value]:
        return self.v if isinstance(self.v, list) else [self.v]


class ReconciliationQuery(Body):
    """A row of a table: its reconciled cell, and the cells of other columns."""

    query: str = Field(default="", max_length=LONGEST_VALUE)
    type: Id | Annotated[list[Id], Field(max_length=_MOST_VALUES)] = Field(default=[])
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
        """Returns whether the types of the query allow books."""
        types = {self.type} if isinstance(self.type, str) else set(self.type)
        if self.type_strict == "all":
            return types <= _TYPES
        return self.type_strict == "should" or not types or bool(types & _TYPES)

    def to_description(self) -> BookDescription:
        """Returns the book that the query describes; raises InvalidInput for too many or wrong values."""
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
    """Returns the parts of a description that a value of a property means; none if it is of no use."""
    if isinstance(value, EntityValue):
        text = (value.name or value.id).strip()
        if (book_id := book_id_of(value.id)) is not None and name in {"identifier", "text"}:
            yield ("ids", book_id) if name == "identifier" else ("contents", book_id)
            return
    else:  # as a cell shows it: 1984.0 is 1984
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
    """A column to be filled; settings are ignored."""

    model_config = ConfigDict(strict=True)

    id: Id


class ExtensionQuery(BaseModel):
    """Books, and the properties to fetch; unknown books and properties have no values."""

    model_config = ConfigDict(strict=True)

    ids: list[Id] = Field(fail_fast=True)
    properties: list[ExtensionProperty] = Field(max_length=_MOST_VALUES)


class SuggestQuery(BaseModel):
    """The start of a title that a person has typed."""

    prefix: str = Field(default="", max_length=LONGEST_VALUE, description="The start of a name, or an id.")
    cursor: int = Field(default=0, ge=0, le=10_000, description="How many suggestions to leave out.")
