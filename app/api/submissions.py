"""What clients send of a book: its content, its metadata, and its MARC record."""

from dataclasses import asdict, replace
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from app.api.documents import (
    CLEAN_PATTERN,
    TEXT_PATTERN,
    Body,
    Clean,
    Collection,
    OneOfBody,
    WholeNumber,
    shown,
)
from app.api.http import examples
from app.api.signatures import SignaturesBody
from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of
from app.catalog.marc.record import InvalidRecord
from app.core import book_rules
from app.core.book_rules import LONGEST_LABEL, checked_labels
from app.core.errors import InvalidInput
from app.core.model import CatalogRecord, Content, Metadata, PageLabels, Sketch, Submission
from app.core.signatures import identifier
from app.core.signatures.identifier import Identifier, known_by
from app.core.text.content import content_from_pages, content_from_text

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
    "example": examples.MARC,
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
    """The fields of the metadata that a record gives, by name."""
    if document is None:
        return {}
    fields = asdict(metadata_of(forms.of_document(document)))
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {name: value for name, value in listed.items() if value not in (None, [])}


_LISTS = ("authors", "identifiers")


def _scheme_and_value(text: str) -> str:
    identifier = book_rules.with_lower_scheme(text)
    if identifier is None:
        raise PydanticCustomError("identifier_form", "This is not an identifier with its scheme")
    return identifier


Title = Annotated[str, Field(max_length=book_rules.LONGEST_TITLE, json_schema_extra=CLEAN_PATTERN), Clean]
Author = Annotated[str, Field(max_length=book_rules.LONGEST_AUTHOR, json_schema_extra=CLEAN_PATTERN), Clean]
LanguageTag = Annotated[
    str, Field(max_length=book_rules.LONGEST_LANGUAGE, json_schema_extra=CLEAN_PATTERN), Clean
]
Year = Annotated[int, Field(ge=-book_rules.MOST_YEAR, le=book_rules.MOST_YEAR), WholeNumber]
Volume = Annotated[str, Field(max_length=book_rules.LONGEST_VOLUME, json_schema_extra=CLEAN_PATTERN), Clean]
PageText = Annotated[str, Field(json_schema_extra=TEXT_PATTERN)]
PageLabel = Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL, json_schema_extra=CLEAN_PATTERN)]
ExternalId = Annotated[
    str,
    Field(min_length=1, max_length=book_rules.LONGEST_EXTERNAL_ID, json_schema_extra=CLEAN_PATTERN),
    Clean,
]
CatalogueIdentifier = Annotated[
    str,
    Field(
        max_length=book_rules.LONGEST_IDENTIFIER, json_schema_extra={"pattern": book_rules.IDENTIFIER_PATTERN}
    ),
    Clean,
    AfterValidator(_scheme_and_value),
]


class MetadataBody(Body):
    """The catalogue data of a book. Fields that are left out, or null, are not known."""

    model_config = shown(examples.METADATA)

    title: Title | None = Field(
        default=None,
        description="The title, kept as it is sent. Here and below tabs and line ends become blanks.",
    )
    authors: Annotated[list[Author], Field(max_length=book_rules.MOST_AUTHORS, fail_fast=True)] | None = (
        Field(default=None, description="The authors in their order.")
    )
    language: LanguageTag | None = Field(default=None, description="The language, best as a BCP 47 tag.")
    year: Year | None = Field(
        default=None, description="The year of publication; negative before the common era."
    )
    volume: Volume | None = Field(
        default=None, description="Which volume of a work or series it is, as printed."
    )
    external_id: ExternalId | None = Field(
        default=None, description="Your own id of the book; no two books have the same."
    )
    identifiers: (
        Annotated[list[CatalogueIdentifier], Field(max_length=book_rules.MOST_IDENTIFIERS, fail_fast=True)]
        | None
    ) = Field(default=None, description="Identifiers as scheme:value, for example isbn:9780141439600.")
    collection: Collection | None = Field(
        default=None,
        description="The collection that the book belongs to, as a library, a partner or a batch. It is kept "
        "without blanks around it.",
    )
    marc: MarcInJson | None = Field(
        default=None,
        description="The MARC 21 record of the book as MARC-in-JSON. It is kept, and says what the other "
        "fields do not; null deletes it.",
    )

    @model_validator(mode="after")
    def _short_enough(self) -> Self:
        """What the record says keeps the limits of the other fields."""
        if self.marc is None:
            return self
        said = stated(self.marc)
        said |= {name: tuple(said.get(name, ())) for name in _LISTS}
        try:
            book_rules.checked_metadata(Metadata(**said))
        except InvalidInput as exc:
            raise PydanticCustomError(
                "marc_record",
                "What the record says cannot be kept: {reason}",
                {"reason": str(exc), "field": "marc"},
            ) from exc
        return self

    def to_metadata(self) -> Metadata:
        """The metadata as the services know it: the fields that were sent, else what the record says."""
        values = stated(self.marc) | self._sent()
        return Metadata(**values | {name: tuple(values.get(name, ())) for name in _LISTS})

    def to_record(self) -> CatalogRecord | None:
        """The record that was sent, with the names of the fields that were sent beside it."""
        if self.marc is None:
            return None
        data = forms.write(forms.of_document(self.marc), "marc-json")
        return CatalogRecord("marc-json", data, tuple(self._sent()))

    def to_changes(self) -> dict[str, object]:
        """The fields that were sent, by name, and what a `record` among them says; null empties a field."""
        changes = {
            name: (value or []) if name in _LISTS else value
            for name, value in self.model_dump(exclude_unset=True).items()
        }
        if "marc" in changes:
            del changes["marc"]
            record = self.to_record()
            changed = record and replace(record, changed=tuple(changes))
            changes = stated(self.marc) | changes | {"record": changed}
        return changes

    def _sent(self) -> dict[str, Any]:
        """The fields that are known, but for the record."""
        names = (name for name in MetadataBody.model_fields if name != "marc")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class ContentBody(OneOfBody):
    """The content of a book: exactly one of text, pages and signatures, with at least one letter or digit."""

    model_config = shown({"text": examples.TEXT})

    one_of: ClassVar[dict[str, str]] = {"text": "string", "pages": "array", "signatures": "object"}

    text: str | None = Field(
        default=None, description="The whole text; U+000C separates pages.", json_schema_extra=TEXT_PATTERN
    )
    pages: Annotated[list[PageText], Field(max_length=book_rules.MAX_PAGES, fail_fast=True)] | None = Field(
        default=None, description="The text of each page, blank pages too."
    )
    signatures: SignaturesBody | None = Field(
        default=None, description="The signatures instead of the text, as `bookprint sign` prints them."
    )

    page_labels: (
        Annotated[list[PageLabel | None], Field(max_length=book_rules.MAX_PAGES, fail_fast=True)] | None
    ) = Field(
        default=None,
        description="What is printed on each page as its number, null where nothing is: as many as there "
        "are `pages`, or as the `page_count` of `signatures` says.",
    )

    def to_content(self) -> Content | None:
        """The text of the book; None where signatures stand for it."""
        if self.text is not None:
            return content_from_text(self.text)
        return None if self.pages is None else content_from_pages(self.pages)

    def to_sketch(self) -> Sketch | None:
        """The signatures that were sent instead of a text."""
        return None if self.signatures is None else self.signatures.to_sketch()

    def to_page_labels(self) -> PageLabels:
        """The labels of the pages; raises InvalidInput."""
        if self.page_labels is None:
            return ()
        page_count = None if self.signatures is None else self.signatures.page_count
        return checked_labels(self.page_labels, page_count if self.pages is None else len(self.pages))


class BookBody(ContentBody, MetadataBody):
    """A book: exactly one of text, pages, signatures and identifier, and its metadata."""

    model_config = shown({"text": examples.TEXT} | examples.METADATA)

    one_of: ClassVar[dict[str, str]] = ContentBody.one_of | {"identifier": "string"}

    identifier: str | None = Field(
        default=None,
        max_length=1_000,
        description="A book identifier, bp1:… or bp2:…, with or without an ISBN behind it: of a book whose "
        "text is elsewhere.",
    )

    def to_identifier(self) -> Identifier | None:
        """What the identifier that was sent says; None where none was."""
        return None if self.identifier is None else identifier.decode(self.identifier)

    def to_submission(self) -> Submission:
        """The book as the services know it."""
        metadata, labels, record = self.to_metadata(), self.to_page_labels(), self.to_record()
        if (sent := self.to_identifier()) is not None:
            return replace(known_by(sent, metadata), page_labels=labels, record=record)
        return Submission(metadata, self.to_content(), self.to_sketch(), labels, record)
