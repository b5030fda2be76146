"""Common parts of bodies, documents and queries."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError
from typing_extensions import TypedDict

from app.core.book_rules import CONTROLS, control_in, on_one_line
from app.core.signatures.json_codec import MAX_COUNT
from app.services.reading import FileBook


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
Share = Annotated[float, AfterValidator(lambda share: round(share, 4))]
"""A share or a confidence, 0 to 1, as it is shown."""


class Body(BaseModel):
    """A JSON object of which every name and every type counts."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class OneOfBody(Body):
    """A JSON object with exactly one of some fields; null stands for a field that is not sent."""

    one_of: ClassVar[dict[str, str]]
    """JSON type of each of these fields."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        sent = [name for name in self.one_of if getattr(self, name) is not None]
        if len(sent) != 1:
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
        choices = [
            {"required": [name], "properties": {name: {"type": kind}}} for name, kind in cls.one_of.items()
        ]
        # Inside `allOf`, because makers of clients read a `oneOf` beside `properties` as a union of types.
        handler.resolve_ref_schema(described)["allOf"] = [{"oneOf": choices}]
        return described


class Document(BaseModel):
    """A JSON object that clients are answered; made from an object with fields of the same names."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


class PageQuery(BaseModel):
    """The page of a list to answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(default=100, ge=1, le=1_000, description="How many items to answer at most.")
    cursor: str | None = Field(
        default=None, max_length=200, description="The next_cursor of the page before."
    )


def shown(example: Any) -> ConfigDict:
    """The configuration of a model with an example."""
    return ConfigDict(json_schema_extra={"example": example})


Format = Annotated[
    str | None,
    Field(
        description="The format of the file: txt, html, epub, pdf, hocr, alto, page, mets, abbyy, djvu, "
        "hathi, tei or pages; null where no file was sent."
    ),
]
Warnings = Annotated[
    list[str], Field(description="What was left out of the file, or guessed, as sentences for people.")
]


class FileFields(TypedDict):
    """The fields that an answer has beside those of the book."""

    format: str | None
    warnings: list[str]


def file_fields(sent: FileBook | None) -> FileFields:
    """The fields of an answer to a book that came in a file, or (None) in JSON."""
    if sent is None:
        return {"format": None, "warnings": []}
    return {"format": sent.format, "warnings": list(sent.warnings)}
