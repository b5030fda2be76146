"""Parts of a book that clients send: its content, its metadata, and its MARC record."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, WithJsonSchema, create_model, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.documents import (
    CLEAN_PATTERN,
    TEXT_PATTERN,
    Body,
    Clean,
    Collection,
    OneOfBody,
    WholeNumber,
)
from app.api.schemas.signatures import DatasketchBody, SignaturesBody
from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of
from app.catalog.marc.record import InvalidRecord
from bookprint_core.book_rules import LONGEST_LABEL, MAX_PAGES, checked_labels
from bookprint_core.errors import InvalidInput
from bookprint_core.metadata import (
    FIELD,
    FIELDS,
    IDENTIFIER_PATTERN,
    LISTS,
    LONGEST_AUTHOR,
    LONGEST_EXTERNAL_ID,
    LONGEST_IDENTIFIER,
    LONGEST_LANGUAGE,
    MOST_YEAR,
    MetadataField,
    checked_metadata,
    metadata_from,
    with_lower_scheme,
)
from bookprint_core.model import CatalogRecord, Content, Metadata, PageLabels, Sketch, Submission
from bookprint_core.signatures import identifier
from bookprint_core.signatures.identifier import Identifier, known_by
from bookprint_core.text.content import content_from_pages, content_from_text

_SCHEMA = {
    "type": "object",
    "required": ["leader", "fields"],
    "properties": {
        "leader": {"type": "string", "pattern": "^[ -~]{24}$"},
        "fields": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "minProperties": 1, "maxProperties": 1},
        },
    },
    "additionalProperties": False,
}


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    try:
        forms.of_document(document)
    except InvalidRecord as exc:
        raise PydanticCustomError(
            "marc_record", "The record is refused: {reason}", {"reason": str(exc)}
        ) from exc
    return document


MarcInJson = Annotated[dict[str, Any], AfterValidator(_checked), WithJsonSchema(_SCHEMA)]
"""A record as MARC-in-JSON."""


def stated(document: dict[str, Any] | None) -> dict[str, Any]:
    """Return the metadata fields of a record, by name."""
    if document is None:
        return {}
    fields = asdict(metadata_of(forms.of_document(document)))
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {name: value for name, value in listed.items() if value not in (None, [])}


def _scheme_and_value(text: str) -> str:
    identifier = with_lower_scheme(text)
    if identifier is None:
        raise PydanticCustomError("identifier_form", "This is not an identifier with its scheme")
    return identifier


def _text(longest: int, shortest: int | None = None) -> Any:
    """Return the rule for the length of a text; combine it with `Clean`."""
    return Field(min_length=shortest, max_length=longest, json_schema_extra=CLEAN_PATTERN)


Title = Annotated[str, _text(FIELD["title"].longest, 1), Clean]
Author = Annotated[str, _text(LONGEST_AUTHOR), Clean]
LanguageTag = Annotated[str, _text(LONGEST_LANGUAGE), Clean]
Year = Annotated[int, Field(ge=-MOST_YEAR, le=MOST_YEAR), WholeNumber]
ExternalId = Annotated[str, _text(LONGEST_EXTERNAL_ID, 1), Clean]
CatalogueIdentifier = Annotated[
    str,
    Field(max_length=LONGEST_IDENTIFIER, json_schema_extra={"pattern": IDENTIFIER_PATTERN}),
    Clean,
    AfterValidator(_scheme_and_value),
]
PageText = Annotated[str, Field(json_schema_extra=TEXT_PATTERN)]
PageLabel = Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL, json_schema_extra=CLEAN_PATTERN)]

_OF_ONE_NAME: Mapping[str, Any] = MappingProxyType(
    {
        "external_id": ExternalId,
        "identifiers": CatalogueIdentifier,
        "collection": Collection,
    }
)
"""Types of fields with special rules; for a list, the type of each text in it."""


def _type_of(field: MetadataField) -> Any:
    """Return the type of a metadata field in a body."""
    if field.kind is int:
        return Year
    text: Any = _OF_ONE_NAME.get(field.name, Annotated[str, _text(field.longest), Clean])
    if field.kind is tuple:
        return Annotated[list[text], Field(max_length=field.most, fail_fast=True)]
    return text


if TYPE_CHECKING:
    _Described = Body
else:
    _Described = create_model(
        "_Described",
        __base__=Body,
        **{
            each.name: (_type_of(each) | None, Field(default=None, description=each.description))
            for each in FIELDS
        },
    )


class MetadataBody(_Described):
    """The catalogue data of a book. Fields that are left out or null are unknown."""

    marc: MarcInJson | None = Field(
        default=None,
        description="The MARC 21 record of the book as MARC-in-JSON. It is stored, and provides the fields "
        "that are not sent; null deletes the record.",
    )

    @model_validator(mode="after")
    def _short_enough(self) -> Self:
        """Check the record's values against the limits of the metadata fields."""
        if self.marc is None:
            return self
        try:
            checked_metadata(metadata_from(stated(self.marc)))
        except InvalidInput as exc:
            raise PydanticCustomError(
                "marc_record",
                "The record cannot be stored: {reason}",
                {"reason": str(exc), "field": "marc"},
            ) from exc
        return self

    def to_metadata(self) -> Metadata:
        """Return the metadata: the fields that were sent, otherwise those of the record."""
        return metadata_from(stated(self.marc) | self._sent())

    def to_record(self) -> CatalogRecord | None:
        """Return the record that was sent, with the names of the other fields that were sent."""
        if self.marc is None:
            return None
        data = forms.write(forms.of_document(self.marc), "marc-json")
        return CatalogRecord("marc-json", data, tuple(self._sent()))

    def to_changes(self) -> dict[str, object]:
        """Return the fields that were sent, by name, and those of a sent record; null empties a field."""
        changes = {
            name: (value or []) if name in LISTS else value
            for name, value in self.model_dump(exclude_unset=True).items()
        }
        if "marc" in changes:
            del changes["marc"]
            record = self.to_record()
            changed = record and replace(record, changed=tuple(changes))
            changes = stated(self.marc) | changes | {"record": changed}
        return changes

    def _sent(self) -> dict[str, Any]:
        return {name: value for name in FIELD if (value := getattr(self, name)) is not None}


class ContentBody(OneOfBody):
    """The content of a book: exactly one of text, pages, signatures and datasketch, not empty."""

    one_of: ClassVar[dict[str, str]] = {
        "text": "string",
        "pages": "array",
        "signatures": "object",
        "datasketch": "object",
    }

    text: str | None = Field(
        default=None, description="The whole text; U+000C separates pages.", json_schema_extra=TEXT_PATTERN
    )
    pages: Annotated[list[PageText], Field(max_length=MAX_PAGES, fail_fast=True)] | None = Field(
        default=None, description="The text of each page, including blank pages."
    )
    signatures: SignaturesBody | None = Field(
        default=None, description="Signatures instead of the text, as printed by `bookprint sign`."
    )
    datasketch: DatasketchBody | None = Field(
        default=None, description="A MinHash of datasketch instead of the text, if nothing else is available."
    )

    page_labels: Annotated[list[PageLabel | None], Field(max_length=MAX_PAGES, fail_fast=True)] | None = (
        Field(
            default=None,
            description="Page label of each page, null for none: as many as `pages`, or as the `page_count` "
            "of `signatures`.",
        )
    )

    def to_content(self) -> Content | None:
        if self.text is not None:
            return content_from_text(self.text)
        return None if self.pages is None else content_from_pages(self.pages)

    def to_sketch(self) -> Sketch | None:
        signatures = self.signatures or self.datasketch
        return None if signatures is None else signatures.to_sketch()

    def to_page_labels(self) -> PageLabels:
        """Return the page labels; raises InvalidInput."""
        if self.page_labels is None:
            return ()
        page_count = None if self.signatures is None else self.signatures.page_count
        return checked_labels(self.page_labels, page_count if self.pages is None else len(self.pages))


class BookBody(ContentBody, MetadataBody):
    """A book: exactly one of text, pages, signatures, datasketch and identifier, and its metadata."""

    one_of: ClassVar[dict[str, str]] = ContentBody.one_of | {"identifier": "string"}

    identifier: str | None = Field(
        default=None,
        max_length=1_000,
        description="Identifier of a book whose text is elsewhere: bp1:… or bp2:…, optionally with an ISBN.",
    )

    def to_identifier(self) -> Identifier | None:
        return None if self.identifier is None else identifier.decode(self.identifier)

    def to_submission(self) -> Submission:
        """Return the book in the form that the services accept."""
        metadata, labels, record = self.to_metadata(), self.to_page_labels(), self.to_record()
        if (sent := self.to_identifier()) is not None:
            return replace(known_by(sent, metadata), page_labels=labels, record=record)
        return Submission(metadata, self.to_content(), self.to_sketch(), labels, record)
