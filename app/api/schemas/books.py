"""Books: bodies that clients send, filters of the list, and the documents they are answered."""

import re
from dataclasses import asdict, replace
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas import examples
from app.api.schemas.base import (
    CLEAN_PATTERN,
    TEXT_PATTERN,
    Body,
    Clean,
    Document,
    OneOfBody,
    PageQuery,
    WholeNumber,
    shown,
)
from app.api.schemas.clusters import ClusterNameAnswer
from app.api.schemas.files import Format, Warnings
from app.api.schemas.marc import MarcInJson, stated
from app.api.schemas.signatures import FingerprintAnswer, SignaturesBody
from app.catalog.identifiers import LONGEST, is_valid, isbns
from app.catalog.marc import forms
from app.core.clusters.cluster_name import ClusterName
from app.core.json_limits import MAX_PAGES
from app.core.model import (
    Book,
    BookFilter,
    CatalogRecord,
    Content,
    Metadata,
    PageLabels,
    Sketch,
    Submission,
)
from app.core.recipe import DIGESTS
from app.core.signatures import composite, identifier, long_identifier
from app.core.signatures.digests import parse_digest
from app.core.text.content import content_from_pages, content_from_text
from app.core.text.names import CONTROLS
from app.core.text.page_labels import LONGEST_LABEL, checked_labels

MOST_YEAR = 9_999

_LISTS = ("authors", "identifiers")
# Python and ECMAScript differ in which control characters are white space.
_IDENTIFIER_PATTERN = f"^[0-9A-Za-z-]+:[^{CONTROLS}]*[^\\s{CONTROLS}\\ufeff][^{CONTROLS}]*$"
_IDENTIFIER = re.compile(_IDENTIFIER_PATTERN)


def _scheme_and_value(text: str) -> str:
    if not _IDENTIFIER.match(text):
        raise PydanticCustomError("identifier_form", "This is not an identifier with its scheme")
    # As in URIs (RFC 3986, 3.1), ISBN: and isbn: are one scheme, written in lower case.
    scheme, _, value = text.partition(":")
    return f"{scheme.lower()}:{value}"


Title = Annotated[str, Field(max_length=10_000, json_schema_extra=CLEAN_PATTERN), Clean]
Author = Annotated[str, Field(max_length=1_000, json_schema_extra=CLEAN_PATTERN), Clean]
Language = Annotated[str, Field(max_length=35, json_schema_extra=CLEAN_PATTERN), Clean]
Volume = Annotated[str, Field(max_length=1_000, json_schema_extra=CLEAN_PATTERN), Clean]
Page = Annotated[str, Field(json_schema_extra=TEXT_PATTERN)]
PageLabel = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_LABEL, json_schema_extra=CLEAN_PATTERN),
]
ExternalId = Annotated[str, Field(min_length=1, max_length=500, json_schema_extra=CLEAN_PATTERN), Clean]
CatalogueIdentifier = Annotated[
    str,
    Field(max_length=LONGEST, json_schema_extra={"pattern": _IDENTIFIER_PATTERN}),
    Clean,
    AfterValidator(_scheme_and_value),
]
WrittenDigest = Annotated[
    str, Field(json_schema_extra={"pattern": f"^({'|'.join(DIGESTS)}):[0-9A-Fa-f]{{32}}$"})
]


class MetadataBody(Body):
    """The catalogue data of a book. Fields that are left out, or null, are not known."""

    model_config = shown(examples.METADATA)

    title: Title | None = Field(
        default=None,
        description="The title, kept as it is sent. Here and below tabs and line ends become blanks.",
    )
    authors: Annotated[list[Author], Field(max_length=1_000, fail_fast=True)] | None = Field(
        default=None, description="The authors in their order."
    )
    language: Language | None = Field(default=None, description="The language, best as a BCP 47 tag.")
    year: Annotated[int, Field(ge=-MOST_YEAR, le=MOST_YEAR), WholeNumber] | None = Field(
        default=None, description="The year of publication; negative before the common era."
    )
    volume: Volume | None = Field(
        default=None, description="Which volume of a work or series it is, as printed."
    )
    external_id: ExternalId | None = Field(
        default=None, description="Your own id of the book; no two books have the same."
    )
    identifiers: Annotated[list[CatalogueIdentifier], Field(max_length=1_000, fail_fast=True)] | None = Field(
        default=None, description="Identifiers as scheme:value, for example isbn:9780141439600."
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
        try:
            MetadataBody.model_validate(stated(self.marc))
        except ValidationError as exc:
            [first, *_] = exc.errors()
            reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise PydanticCustomError(
                "marc_record",
                "What the record says cannot be kept: {reason}",
                {"reason": reason, "field": "marc"},
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
    pages: Annotated[list[Page], Field(max_length=MAX_PAGES, fail_fast=True)] | None = Field(
        default=None, description="The text of each page, blank pages too."
    )
    signatures: SignaturesBody | None = Field(
        default=None, description="The signatures instead of the text, as `bookprint sign` prints them."
    )

    page_labels: Annotated[list[PageLabel | None], Field(max_length=MAX_PAGES, fail_fast=True)] | None = (
        Field(
            default=None,
            description="What is printed on each page as its number, null where nothing is: as many as there "
            "are `pages`, or as the `page_count` of `signatures` says.",
        )
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
    """A book: exactly one of text, pages and signatures, and its metadata."""

    model_config = shown({"text": examples.TEXT} | examples.METADATA)

    def to_submission(self) -> Submission:
        """The book as the services take it."""
        return Submission(
            self.to_metadata(),
            self.to_content(),
            self.to_sketch(),
            self.to_page_labels(),
            self.to_record(),
        )


class BookQuery(PageQuery):
    """The books to list."""

    identifier: CatalogueIdentifier | None = Field(
        default=None,
        description="An identifier that the book has, as isbn:9780141439600; "
        "or the ISCC of its content, iscc:…",
    )
    title: (
        Annotated[str, Field(min_length=1, max_length=10_000, json_schema_extra=CLEAN_PATTERN), Clean] | None
    ) = Field(default=None, description="Words that all occur in the title; at least one.")
    external_id: ExternalId | None = Field(default=None, description="Your own id of the book.")
    digest: WrittenDigest | None = Field(
        default=None, description="A digest of its text, as textprofile-md5-v1: and 32 hexadecimal digits."
    )

    def to_filter(self) -> BookFilter:
        """The filter as the services know it; raises InvalidInput, or UnknownRecipe."""
        return BookFilter(
            identifier=self.identifier,
            external_id=self.external_id,
            title=self.title,
            digest=None if self.digest is None else parse_digest(self.digest, "digest"),
        )


class Links(Document):
    """Paths of the book's own resources, relative to the root of this service."""

    model_config = shown(examples.BOOK["links"])

    self: str = Field(description="The book.")
    near_duplicates: str = Field(description="The books near it.")
    relations: str = Field(description="How it is related to other books.")
    similar: str | None = Field(
        description="Books of other texts that are like it; null where it has no vector, as a book that was "
        "posted as signatures."
    )


class BookAnswer(Document):
    """A book as the catalogue holds it."""

    model_config = shown(examples.BOOK)

    id: UUID = Field(description="Id of the book, for good.")
    identifier: str | None = Field(
        description="The similarity-preserving identifier of the present content; null without a fingerprint."
    )
    long_identifier: str | None = Field(
        description="The same with a bit of each MinHash value, bp2:…, which tells more offline; null "
        "without a fingerprint or MinHash."
    )
    composite: str | None = Field(
        description="The longest of these identifiers and the first valid ISBN; null without either."
    )
    iscc: str | None = Field(
        description="The ISCC Text-Code of the present content; null where the service computes none."
    )
    digests: dict[str, str] = Field(
        description="Digests of the present content by name, as 32 hexadecimal digits; empty where the "
        "service computes none."
    )
    status: Literal["indexed", "pending"] = Field(
        description="Pending books are durable and found; only their indexing is still to come."
    )
    title: str | None
    page_count: int | None = Field(description="Pages, blank ones too; null where they are not known.")
    word_count: int = Field(description="Words; characters, in scripts without spaces.")
    fingerprint: FingerprintAnswer | None = Field(description="Null where the text is too short or too even.")
    identifiers: list[str] = Field(description="In the one form of their scheme; an ISBN has 13 digits.")
    invalid_identifiers: list[str] = Field(
        description="Those of them that break a rule of their scheme, as a wrong check digit; kept as given."
    )
    cluster: ClusterNameAnswer = Field(
        description="The cluster of the copies of its text, at present; a book alone is a cluster of one."
    )
    links: Links
    authors: list[str]
    language: str | None
    year: int | None
    volume: str | None
    external_id: str | None
    version: int = Field(description="Counts every change of content or metadata, from 1; the ETag shows it.")

    @classmethod
    def of(cls, book: Book, **others: object) -> Self:
        """The document of a book; `others` are the fields that a subclass adds."""
        fingerprint, minhash, path = book.fingerprint, book.minhash, book_path(book.id)
        short = long = None
        if fingerprint is not None:
            short = identifier.encode(fingerprint, book.word_count)
            long = minhash and long_identifier.encode(fingerprint, minhash, book.word_count)
        longest, isbn = long or short, next(iter(isbns(book.metadata.identifiers)), None)
        fields = asdict(book.metadata) | {
            "id": book.id,
            "identifier": short,
            "long_identifier": long,
            "iscc": book.iscc,
            "digests": {digest.recipe: digest.hex for digest in book.digests},
            "composite": composite.composite(longest, isbn) if longest and isbn else None,
            "status": "indexed" if book.indexed else "pending",
            "page_count": book.page_count,
            "word_count": book.word_count,
            "fingerprint": fingerprint and FingerprintAnswer.model_validate(fingerprint),
            "cluster": ClusterNameAnswer.model_validate(ClusterName("same_text", book.founder_id)),
            "links": Links(
                self=path,
                near_duplicates=f"{path}/near-duplicates",
                relations=f"{path}/relations",
                similar=f"{path}/similar" if book.has_vector else None,
            ),
            "version": book.version,
            "invalid_identifiers": [each for each in book.metadata.identifiers if not is_valid(each)],
        }
        return cls(**fields, **others)


class PostedBook(BookAnswer):
    """A book and whether this request made it."""

    model_config = shown(examples.BOOK | {"created": True} | examples.OF_FILE)

    created: bool = Field(
        description="False: exactly this book was there already; its metadata is untouched."
    )
    format: Format
    warnings: Warnings


class BookList(Document):
    """One page of a list of books, oldest first."""

    model_config = shown({"items": [examples.BOOK], "next_cursor": None})

    items: list[BookAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")


def book_path(book_id: UUID) -> str:
    """The path of a book, relative to the root of this service."""
    return f"/v1/books/{book_id}"
