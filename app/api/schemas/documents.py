"""Common parts of bodies, documents and queries, and the cursors of lists.

A cursor says where the next page begins, and only its own query accepts it. It is base64url of 8 bytes that
identify the query, and of the bytes of a place in its answer.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from struct import Struct
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, cast
from uuid import UUID

from pydantic import (
    AfterValidator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError
from typing_extensions import TypedDict

from app.services.index.questions import Position
from app.services.pairs.decisions import ReviewPlace
from bookprint_core.errors import InvalidInput
from bookprint_core.matching.conflicts import ConflictPlace
from bookprint_core.metadata import (
    CONTROLS,
    FIELDS,
    LONGEST_COLLECTION,
    NAME_PATTERN,
    control_in,
    on_one_line,
)
from bookprint_core.model import Submission
from bookprint_core.signatures.json_codec import MAX_COUNT


def _plain(text: str) -> str:
    if (code := control_in(text)) is not None:
        raise PydanticCustomError("control", "The control character {code} cannot be stored", {"code": code})
    return on_one_line(text)


def _as_integer(value: object) -> object:
    """A number without a fraction as an integer, as in JSON Schema: 1984.0 is 1984."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


TEXT_PATTERN: JsonDict = {"pattern": "^[^\\u0000]*$"}
Clean = AfterValidator(_plain)
CLEAN_PATTERN: JsonDict = {"pattern": f"^[^{CONTROLS}]*$"}
WholeNumber = BeforeValidator(_as_integer)
Count = Annotated[int, Field(ge=1, le=MAX_COUNT), WholeNumber]
Collection = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_COLLECTION),
    Field(json_schema_extra={"pattern": f"^{NAME_PATTERN}$"}),
    Clean,
]
"""The name of a collection, without the blanks around it."""
CollectionFilter = Annotated[Collection | None, Field(description="Only books of this collection.")]
Share = Annotated[float, AfterValidator(lambda share: round(share, 4))]
"""A share or a confidence, 0 to 1, as it is shown."""


def _moment(text: object) -> datetime:
    """A time of RFC 3339; pydantic would take numbers as well."""
    try:
        if isinstance(text, str) and "T" in text.upper():
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise PydanticCustomError("moment", "This is no time with an offset, of the years 1 to 9999")


Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A time of RFC 3339."""


class Body(BaseModel):
    """A JSON object of which every name and every type counts."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class OneOfBody(Body):
    """A JSON object with exactly one of some fields; null stands for a field that is not sent."""

    one_of: ClassVar[dict[str, str]]
    """JSON type of each of these fields."""

    may_lack_all: ClassVar[bool] = False
    """Whether none of them has to be sent."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        sent = [name for name in self.one_of if getattr(self, name) is not None]
        if len(sent) != 1 and (sent or not self.may_lack_all):
            *others, last = self.one_of
            names = f"{', '.join(others)} and {last}"
            reason = f"Sent together: {', '.join(sent)}" if sent else f"None of {names} was sent"
            field = sent[1] if sent else next(iter(self.one_of))
            raise PydanticCustomError("one_of", reason, {"field": field, "names": names})
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler(schema)
        if cls.may_lack_all:
            return described
        choices = [
            {"required": [name], "properties": {name: {"type": kind}}} for name, kind in cls.one_of.items()
        ]
        # Inside `allOf`, because makers of clients read a `oneOf` beside `properties` as a union of types.
        handler.resolve_ref_schema(described)["allOf"] = [{"oneOf": choices}]
        return described


class Document(BaseModel):
    """A JSON object that clients are answered; made from an object with fields of the same names."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


def part(path: str, description: str | None = None) -> Any:
    """A field of a document that is read from a part of the object, as `metadata.title`."""
    return Field(validation_alias=AliasPath(*path.split(".")), description=description)


class TitledBook(Document):
    """A book, and what it is called."""

    id: UUID = part("book_id")
    title: str | None = part("metadata.title")
    authors: list[str] = part("metadata.authors")
    year: int | None = part("metadata.year")


_ANSWERED = {str: str | None, int: int | None, tuple: list[str]}

ANSWERED = {each.name: (_ANSWERED[each.kind], ...) for each in FIELDS}
"""The fields of the metadata in an answer, for `create_model`."""


class Parameters(BaseModel):
    """The parameters of a request, of which every name counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PageQuery(Parameters):
    """The page of a list to answer."""

    limit: int = Field(default=100, ge=1, le=1_000, description="How many items to answer at most.")
    cursor: str | None = Field(
        default=None, max_length=200, description="The next_cursor of the page before."
    )


def waiting(until: str) -> Any:
    """The parameter by which an answer is held."""
    description = f"Seconds for which the answer is held until {until}."
    return Field(default=0, ge=0, le=60, allow_inf_nan=False, description=description)


Format = Annotated[
    str | None,
    Field(
        description="The format of the file: txt, html, epub, pdf, hocr, alto, page, mets, abbyy, djvu, "
        "openiti, hathi, tei or pages; null where no file was sent."
    ),
]
Warnings = Annotated[
    list[str],
    Field(
        description="As sentences for people: what was left out of the file, or guessed; or that the book is "
        "there already, in another collection."
    ),
]


class FileFields(TypedDict):
    """The fields that an answer has beside those of the book."""

    format: str | None
    warnings: list[str]


def file_fields(sent: Submission | None) -> FileFields:
    """The fields of an answer to a book that came in a file, or (None) in JSON."""
    if sent is None:
        return {"format": None, "warnings": []}
    return {"format": sent.format, "warnings": list(sent.warnings)}


class Rank(NamedTuple):
    """A place in a list that is ordered by a number: behind it, or of equal ones behind a book."""

    rank: float
    book_id: UUID


_DIGEST_BYTES = 8
_FORMS: Mapping[type, Struct] = {
    UUID: Struct(">16s"),
    int: Struct(">q"),
    Position: Struct(">BQ"),
    Rank: Struct(">d16s"),
    ConflictPlace: Struct(">q16s16s"),
    ReviewPlace: Struct(">d16s16s"),
}
"""The forms of places in cursors; 16 bytes are a UUID."""

PlaceT = TypeVar("PlaceT")


class Cursors:
    """The cursors of the query that these values make up."""

    def __init__(self, *query: object) -> None:
        self._query = query

    def at(self, place: object) -> str | None:
        """The cursor that goes on behind a place; None where nothing follows."""
        if place is None:
            return None
        values = place if isinstance(place, tuple) else (place,)
        packed = (value.bytes if isinstance(value, UUID) else value for value in values)
        data = self._digest + _FORMS[type(place)].pack(*packed)
        return urlsafe_b64encode(data).rstrip(b"=").decode()

    def place(self, cursor: str | None, kind: type[PlaceT]) -> PlaceT | None:
        """The place to go on from; raises InvalidInput for a cursor of another query."""
        if cursor is None:
            return None
        form = _FORMS[kind]
        read = form.unpack(self._read(cursor, form.size))
        values = [UUID(bytes=value) if isinstance(value, bytes) else value for value in read]
        make: Any = kind
        return cast(PlaceT, values[0] if kind in (UUID, int) else make(*values))

    @property
    def _digest(self) -> bytes:
        return blake2b(repr(self._query).encode(), digest_size=_DIGEST_BYTES).digest()

    def _read(self, cursor: str, size: int) -> bytes:
        try:
            data = b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except ValueError:
            data = b""
        if len(data) != _DIGEST_BYTES + size or data[:_DIGEST_BYTES] != self._digest:
            raise InvalidInput(
                "This cursor belongs to another query. Send the next_cursor of the page before with "
                "all other parameters and the body unchanged, or leave it out to begin anew.",
                field="cursor",
            )
        return data[_DIGEST_BYTES:]
