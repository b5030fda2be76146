"""Queries of the reconciliation API 0.2, as its JSON schemas have them, and what they mean.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/. What a query means is a
`BookDescription`, so that another version of the API needs only another file like this one. Queries are read
strictly where the schema is strict; what a cell holds is data, and no reason to refuse it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.documents import Body, shown
from app.api.http import examples
from app.catalog.reconciliation import (
    MOST_CANDIDATES,
    RELATIONS,
    BookDescription,
    NamedContent,
    book_id_of,
    identifiers_of,
    unmistakable_identifiers,
    years_of,
)
from app.core.errors import InvalidInput
from app.core.signatures.identifier import decode, is_identifier
from app.core.text.content import content_from_text

_MOST_DIGITS = 9
"""Of a number of values."""

BATCH_SIZE = 1_000
"""Queries of one batch, and books of one data extension."""

BOOK_TYPE = {"id": "Book", "name": "Book"}
WIDER_TYPE = {"id": "CreativeWork", "name": "Creative work"}

_TYPES = frozenset({BOOK_TYPE["id"], WIDER_TYPE["id"]})
_USUAL_LIMIT = 10
_MOST_VALUES = 1_000

LONGEST_VALUE = 10_000
"""Characters of a query, or of a value that is no text of a book: as many as a title may have."""

LONGEST_ID = 1_000
"""Characters of an id, or of the name of a property or type."""

_MOST_MEANT = 30
"""Values of one field of a description, since each title is looked for with each author."""

_OTHER_NAMES = {"authors": "author", "relation": RELATIONS}


Id = Annotated[str, Field(max_length=LONGEST_ID)]


def property_named(name: str) -> str:
    """The id of the property that a client calls so."""
    return _OTHER_NAMES.get(name, name)


class EntityValue(BaseModel):
    """A value that was reconciled itself."""

    model_config = ConfigDict(strict=True, json_schema_extra={"example": {"id": examples.BOOK_ID}})

    id: Id = Field(description="Its id; of a book here, the book.")
    name: str = Field(default="", max_length=LONGEST_VALUE, description="Its name.")


Value = str | int | float | bool | EntityValue


class PropertyBody(BaseModel):
    """What is known of one property; names that the API does not know are passed over."""

    model_config = ConfigDict(strict=True, json_schema_extra={"example": {"pid": "year", "v": 1913}})

    pid: Id = Field(description="The property; /reconcile/suggest/property lists them.")
    v: Value | Annotated[list[Value], Field(max_length=_MOST_VALUES)] = Field(
        description="Its value, or several; up to 10,000 characters each, but for `text`."
    )

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
    """A row of a table: what its reconciled column says, and what others say."""

    model_config = shown(
        {
            "query": examples.TITLE,
            "type": "Book",
            "limit": 5,
            "properties": [{"pid": "year", "v": 1913}],
            "type_strict": "should",
        }
    )

    query: str = Field(
        default="", max_length=LONGEST_VALUE, description="A title, an identifier, or the id of a book."
    )
    type: Id | Annotated[list[Id], Field(max_length=_MOST_VALUES)] = Field(
        default=[], description="Only `Book` and `CreativeWork` are known."
    )
    limit: float = Field(default=_USUAL_LIMIT, ge=1, description="How many candidates to answer at most.")
    properties: Annotated[list[PropertyBody], Field(max_length=_MOST_VALUES)] = Field(
        default=[], description="What is known beside it."
    )
    type_strict: Literal["any", "should", "all"] = Field(
        default="should", description="`any` and `all`: no candidate unless these types of it are known."
    )

    @model_validator(mode="after")
    def _has_something_to_find(self) -> Self:
        if not self.query.strip() and not self.properties:
            raise PydanticCustomError("nothing_to_find", "There is neither a query nor a property")
        return self

    @property
    def most(self) -> int:
        return int(min(self.limit, MOST_CANDIDATES))

    def wants_books(self) -> bool:
        """Whether the types leave books in."""
        types = {self.type} if isinstance(self.type, str) else set(self.type)
        match self.type_strict:
            case "all":
                return types <= _TYPES
            case "any":
                return not types or bool(types & _TYPES)
            case _:
                return True

    def to_description(self) -> BookDescription:
        """What the query means; raises InvalidInput where it is wrong or names too many values."""
        found: dict[str, dict[Any, None]] = {}
        for field, value in self._parts():
            values = found.setdefault(field, {})
            values[value] = None
            if len(values) > _MOST_MEANT:
                raise InvalidInput(
                    f"The query names over {_MOST_MEANT} {field} of one book. Send fewer.", "properties"
                )
        return BookDescription(**{field: tuple(values) for field, values in found.items()})

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
    """The parts of a description that a value of a property means; none of one that cannot be used."""
    book_id = None
    if isinstance(value, EntityValue):
        book_id, text = book_id_of(value.id), (value.name or value.id).strip()
    else:
        text = _text(value)
    if book_id is not None and name in {"identifier", "text"}:
        yield ("ids", book_id) if name == "identifier" else ("contents", NamedContent(book_id=book_id))
        return
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
            yield "contents", NamedContent(identifier=decode(text))
        case "text":
            yield "contents", NamedContent(text=content_from_text(text))


def _identifying(text: str, identifiers: Callable[[str], Sequence[str]]) -> Iterator[tuple[str, Any]]:
    if (book_id := book_id_of(text)) is not None:
        yield "ids", book_id
    elif is_identifier(text):
        yield "contents", NamedContent(identifier=decode(text))
    else:
        yield from (("identifiers", each) for each in identifiers(text))


def _text(value: str | float) -> str:
    """The value as a cell shows it: 1984.0 is 1984."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


class ExtensionProperty(BaseModel):
    """A column to be filled."""

    model_config = ConfigDict(strict=True, json_schema_extra={"example": {"id": "isbn"}})

    id: Id = Field(description="The property.")
    settings: dict[str, Any] = Field(default={}, description="`limit`: how many values at most; 0: all.")

    @property
    def most(self) -> int | None:
        """How many values to answer; None: all. Raises InvalidInput."""
        limit = self.settings.get("limit") or 0
        text = _text(limit) if isinstance(limit, str | int | float) else ""
        if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
            raise InvalidInput("limit is a whole number, 0 for all values.", f"{self.id}.settings.limit")
        return int(text) or None


class ExtensionQuery(BaseModel):
    """Books, and the properties to be fetched of them."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={"example": {"ids": [examples.BOOK_ID], "properties": [{"id": "isbn"}]}},
    )

    ids: Annotated[list[Id], Field(fail_fast=True)] = Field(
        description="Ids of books; others have no values."
    )
    properties: Annotated[list[ExtensionProperty], Field(max_length=_MOST_VALUES)]

    @property
    def property_ids(self) -> set[str]:
        return {property_named(each.id) for each in self.properties}


class SuggestQuery(BaseModel):
    """What a person has typed."""

    prefix: str = Field(default="", max_length=LONGEST_VALUE, description="The start of a name, or an id.")
    cursor: int = Field(default=0, ge=0, le=10_000, description="How many suggestions to leave out.")
