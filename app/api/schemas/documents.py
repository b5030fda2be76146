"""Common parts of bodies, documents and queries, and the cursors of lists.

A cursor contains the place where the next page begins, and is valid only for its query. It is base64url: 8
bytes that identify the query, then the bytes of the place.
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
    """Convert a float without a fraction to an integer, as in JSON Schema: 1984.0 is 1984."""
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
"""The name of a collection, without surrounding blanks."""
CollectionFilter = Annotated[Collection | None, Field(description="Only books of this collection.")]
Share = Annotated[float, AfterValidator(lambda share: round(share, 4))]
"""A share or a confidence, 0 to 1, rounded to four decimals."""


def _moment(text: object) -> datetime:
    """Parse a time of RFC 3339; pydantic would accept numbers, too."""
    try:
        if isinstance(text, str) and "T" in text.upper():
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise PydanticCustomError("moment", "This is not a time with a UTC offset in the years 1 to 9999")


Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A time of RFC 3339."""


class Body(BaseModel):
    """A JSON object that rejects unknown names and wrong types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class OneOfBody(Body):
    """A JSON object with exactly one of the fields in `one_of`; null counts as not sent."""

    one_of: ClassVar[dict[str, str]]
    """JSON type of each alternative field, by name."""

    may_lack_all: ClassVar[bool] = False
    """Whether a body without any of the fields in `one_of` is valid."""

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
        # Inside `allOf`, because client generators read a `oneOf` beside `properties` as a union of types.
        handler.resolve_ref_schema(described)["allOf"] = [{"oneOf": choices}]
        return described


class Document(BaseModel):
    """A JSON object in an answer, made from an object with the same attribute names."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


def part(path: str, description: str | None = None) -> Any:
    """Return a field of a document that is read from an attribute path, such as `metadata.title`."""
    return Field(validation_alias=AliasPath(*path.split(".")), description=description)


class TitledBook(Document):
    """A book with title, authors and year."""

    id: UUID = part("book_id")
    title: str | None = part("metadata.title")
    authors: list[str] = part("metadata.authors")
    year: int | None = part("metadata.year")


_ANSWERED = {str: str | None, int: int | None, tuple: list[str]}

ANSWERED = {each.name: (_ANSWERED[each.kind], ...) for each in FIELDS}
"""Types of the metadata fields in an answer, for `create_model`."""


class Parameters(BaseModel):
    """The parameters of a request; unknown names are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PageQuery(Parameters):
    """The page of a list to return."""

    limit: int = Field(default=100, ge=1, le=1_000, description="Maximum number of items to return.")
    cursor: str | None = Field(
        default=None, max_length=200, description="The next_cursor of the previous page."
    )


def waiting(until: str) -> Any:
    """Return the parameter with the seconds to wait before answering."""
    description = f"Maximum seconds to wait until {until}."
    return Field(default=0, ge=0, le=60, allow_inf_nan=False, description=description)


Format = Annotated[
    str | None,
    Field(
        description="The format of the file: txt, html, epub, pdf, hocr, alto, page, mets, abbyy, djvu, "
        "openiti, hathi, tei or pages; null if no file was sent."
    ),
]
Warnings = Annotated[
    list[str],
    Field(
        description="Sentences for people: parts of the file that were left out or guessed, or differences "
        "from the stored book."
    ),
]


class FileFields(TypedDict):
    """The fields of an answer that describe the file."""

    format: str | None
    warnings: list[str]


def file_fields(sent: Submission | None) -> FileFields:
    """Return the fields of an answer to a book sent as a file, or as JSON (None)."""
    if sent is None:
        return {"format": None, "warnings": []}
    return {"format": sent.format, "warnings": list(sent.warnings)}


class Rank(NamedTuple):
    """A place in a list ordered by a number, then by book."""

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
"""Binary formats of places in cursors; a UUID has 16 bytes."""

PlaceT = TypeVar("PlaceT")


class Cursors:
    """The cursors of one query, which is identified by the given values."""

    def __init__(self, *query: object) -> None:
        self._query = query

    def at(self, place: object) -> str | None:
        """Return the cursor that continues after a place; None for no place."""
        if place is None:
            return None
        values = place if isinstance(place, tuple) else (place,)
        packed = (value.bytes if isinstance(value, UUID) else value for value in values)
        data = self._digest + _FORMS[type(place)].pack(*packed)
        return urlsafe_b64encode(data).rstrip(b"=").decode()

    def place(self, cursor: str | None, kind: type[PlaceT]) -> PlaceT | None:
        """Return the place in a cursor; raises InvalidInput for a cursor of another query."""
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
                "This cursor belongs to another query. Send the next_cursor of the previous page with "
                "all other parameters and the body unchanged, or leave it out to begin anew.",
                field="cursor",
            )
        return data[_DIGEST_BYTES:]
