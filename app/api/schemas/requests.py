"""What clients send, checked once and turned into Bookprint's nouns."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.http import limits
from app.api.schemas import examples
from app.core.clusters.clustering import By
from app.core.model import BookFilter, Content, Entry, Fingerprint, Metadata, Sketch, Submission
from app.core.recipe import Suite
from app.core.relations.decision import DecisionVerdict
from app.core.relations.relation import Kind
from app.core.signatures import identifier
from app.core.signatures import json_codec as signatures
from app.core.signatures.json_codec import MAX_COUNT
from app.core.signatures.sketch import sketch_under
from app.core.text.content import content_from_pages, content_from_text
from app.services.lookup import Nearest, Question, Verified, Within


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "The character U+0000 cannot be stored")
    return text


def _scheme_and_value(text: str) -> str:
    scheme, colon, value = text.partition(":")
    if not (colon and value.strip() and scheme.isascii() and scheme.replace("-", "").isalnum()):
        raise PydanticCustomError("identifier_form", "This is not an identifier with its scheme")
    # As in URIs (RFC 3986, 3.1), ISBN: and isbn: are one scheme, written in lower case.
    return f"{scheme.lower()}:{value}"


Clean = AfterValidator(_without_nul)
Title = Annotated[str, Field(max_length=limits.MAX_TITLE), Clean]
Author = Annotated[str, Field(max_length=limits.MAX_AUTHOR), Clean]
Language = Annotated[str, Field(max_length=limits.MAX_LANGUAGE), Clean]
Volume = Annotated[str, Field(max_length=limits.MAX_VOLUME), Clean]
ExternalId = Annotated[str, Field(min_length=1, max_length=limits.MAX_EXTERNAL_ID), Clean]
CatalogueIdentifier = Annotated[
    str,
    Field(max_length=limits.MAX_IDENTIFIER, json_schema_extra={"pattern": "^[0-9A-Za-z-]+:.*[^ ]"}),
    Clean,
    AfterValidator(_scheme_and_value),
]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]


class _Body(BaseModel):
    """A JSON object of which every name and every type counts."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class MetadataBody(_Body):
    """What a catalogue knows about a book. Fields that are left out, or null, are not known."""

    model_config = ConfigDict(json_schema_extra={"example": examples.METADATA})

    title: Title | None = Field(default=None, description="The title, kept as it is sent.")
    authors: Annotated[list[Author], Field(max_length=limits.MAX_AUTHORS, fail_fast=True)] | None = Field(
        default=None, description="The authors in their order."
    )
    language: Language | None = Field(default=None, description="The language, best as a BCP 47 tag.")
    year: Annotated[int, Field(ge=limits.MIN_YEAR, le=limits.MAX_YEAR)] | None = Field(
        default=None, description="The year of publication; negative before the common era."
    )
    volume: Volume | None = Field(
        default=None, description="Which volume of a work or series it is, as printed."
    )
    external_id: ExternalId | None = Field(
        default=None, description="Your own id of the book; no two books have the same."
    )
    identifiers: (
        Annotated[list[CatalogueIdentifier], Field(max_length=limits.MAX_IDENTIFIERS, fail_fast=True)] | None
    ) = Field(default=None, description="Identifiers as scheme:value, for example isbn:9780141439600.")

    def to_metadata(self) -> Metadata:
        """The metadata as the services know it."""
        return Metadata(
            title=self.title,
            authors=tuple(self.authors or ()),
            language=self.language,
            year=self.year,
            volume=self.volume,
            external_id=self.external_id,
            identifiers=tuple(self.identifiers or ()),
        )

    def to_changes(self) -> dict[str, object]:
        """The fields that were sent, by name; null empties a field."""
        return {
            name: (value or []) if name in {"authors", "identifiers"} else value
            for name, value in self.model_dump(exclude_unset=True).items()
        }


class FingerprintBody(_Body):
    """A simhash and the recipe that made it."""

    model_config = ConfigDict(json_schema_extra={"example": examples.FINGERPRINT})

    recipe: str = Field(description="Name of the recipe.")
    hex: str = Field(description="The bits as hexadecimal digits, four bits each.")

    def to_fingerprint(self, field: str) -> Fingerprint:
        """The fingerprint; raises InvalidInput, or UnknownRecipe, naming a part below `field`."""
        return signatures.decode_fingerprint(self.model_dump(), field)


class MinHashBody(_Body):
    """A MinHash signature and the recipe that made it."""

    model_config = ConfigDict(json_schema_extra={"example": examples.MINHASH})

    recipe: str = Field(description="Name of the recipe.")
    values: str = Field(description="Base64 of the values, each a little-endian unsigned 32-bit integer.")
    shingle_count: Count = Field(description="How many distinct shingles the book has.")


class SampleBody(_Body):
    """A sample of shingle hashes and the recipe that made it."""

    model_config = ConfigDict(json_schema_extra={"example": examples.SAMPLE})

    recipe: str = Field(description="Name of the recipe.")
    level: Annotated[int, Field(ge=0, le=64)] = Field(
        description="The sample holds every shingle hash of the book that is below 2^level."
    )
    hashes: str = Field(
        description="Base64 of the hashes, ascending, each a little-endian unsigned 64-bit integer."
    )


class PageSignaturesBody(_Body):
    """The signatures of all pages and the recipe that made them."""

    model_config = ConfigDict(json_schema_extra={"example": examples.PAGE_SIGNATURES})

    recipe: str = Field(description="Name of the recipe.")
    unit: Literal["page", "window"] = Field(
        description="Windows of words stand in where pages are not known."
    )
    values: str = Field(description="Base64 of the signatures, 130 bytes each.")


class SignaturesBody(_Body):
    """All signatures of a book, as `bookprint sign` prints them."""

    model_config = ConfigDict(json_schema_extra={"example": examples.SIGNATURES})

    fingerprint: FingerprintBody | None = None
    minhash: MinHashBody | None = None
    sample: SampleBody | None = Field(
        default=None, description="Finds small overlaps; signatures of old may lack it."
    )
    pages: PageSignaturesBody | None = None
    word_count: Count = Field(description="Words of the book; characters, in scripts without spaces.")
    character_count: Count = Field(description="Characters of the normalised text.")
    page_count: Count | None = Field(default=None, description="Pages, blank ones too; null: not known.")


class ContentBody(_Body):
    """What a book says: exactly one of text, pages and signatures."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": examples.TEXT}})

    one_of: ClassVar[tuple[str, ...]] = ("text", "pages", "signatures")

    text: str | None = Field(default=None, description="The whole text; U+000C separates pages.")
    pages: Annotated[list[str], Field(max_length=limits.MAX_PAGES, fail_fast=True)] | None = Field(
        default=None, description="The text of each page, blank pages too."
    )
    signatures: SignaturesBody | None = Field(
        default=None, description="The signatures instead of the text, as `bookprint sign` prints them."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        sent = [name for name in self.one_of if getattr(self, name) is not None]
        if len(sent) != 1:
            names = f"{', '.join(self.one_of[:-1])} and {self.one_of[-1]}"
            what = f"Sent together: {', '.join(sent)}" if sent else "The book itself is missing"
            field = sent[1] if sent else "text"
            raise PydanticCustomError("one_of", what, {"field": field, "names": names})
        return self

    def to_content(self) -> Content | None:
        """The text of the book; None where signatures stand for it."""
        if self.text is not None:
            return content_from_text(self.text)
        return None if self.pages is None else content_from_pages(self.pages)

    def to_sketch(self) -> Sketch | None:
        """The signatures that were sent instead of a text."""
        return None if self.signatures is None else signatures.decode(self.signatures.model_dump())


class BookBody(ContentBody, MetadataBody):
    """A book: exactly one of text, pages and signatures, and what is known about it."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": examples.TEXT} | examples.METADATA})

    def to_submission(self) -> Submission:
        """The book as the services take it."""
        return Submission(self.to_metadata(), self.to_content(), self.to_sketch())


class LookupBody(BookBody):
    """What to look for: a book as it would be posted, or its identifier, or its fingerprint."""

    model_config = ConfigDict(json_schema_extra={"example": {"identifier": examples.IDENTIFIER}})

    one_of: ClassVar[tuple[str, ...]] = ("text", "pages", "signatures", "identifier", "fingerprint")

    identifier: str | None = Field(default=None, description="A book identifier, bp1:…")
    fingerprint: FingerprintBody | None = Field(default=None, description="A fingerprint alone.")

    def to_query(self, suite: Suite) -> Entry:
        """The signatures to look for; computed here, under the suite, where a text was sent."""
        if self.identifier is not None:
            return Entry(0, identifier.decode(self.identifier).fingerprint, None)
        if self.fingerprint is not None:
            return Entry(0, self.fingerprint.to_fingerprint("fingerprint"), None)
        content = self.to_content()
        signed = self.to_sketch() if content is None else sketch_under(suite, content)
        return Entry(0, None, None) if signed is None else signed.to_entry(0)


class DecisionBody(_Body):
    """What a person decides about two books: exactly one of verdict and kind."""

    model_config = ConfigDict(json_schema_extra={"example": {"kind": "SAME_TEXT"}})

    verdict: Literal["confirmed", "rejected"] | None = Field(
        default=None, description="Whether the machine is right; what is rejected counts as unrelated."
    )
    kind: Kind | None = Field(default=None, description="What the relation is instead.")

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: object) -> object:
        if not isinstance(value, str | dict):
            raise PydanticCustomError("decision_form", "This is not a decision")
        return {"verdict": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.verdict is None) == (self.kind is None):
            what = "The verdict is missing" if self.verdict is None else "verdict and kind were both sent"
            raise PydanticCustomError("one_of", what, {"field": "verdict", "names": "verdict and kind"})
        return self

    def to_verdict(self) -> tuple[DecisionVerdict, Kind | None]:
        """The decision as the services know it."""
        return self.verdict or "kind", self.kind


class _Query(BaseModel):
    """The parameters of a list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(
        default=limits.DEFAULT_LIMIT,
        ge=1,
        le=limits.MAX_LIMIT,
        description="How many items to answer at most.",
    )
    cursor: str | None = Field(
        default=None, max_length=limits.MAX_CURSOR, description="The next_cursor of the page before."
    )


class BookQuery(_Query):
    """Which books to list."""

    identifier: CatalogueIdentifier | None = Field(
        default=None, description="An identifier that the book has, as isbn:9780141439600."
    )
    title: Annotated[str, Field(min_length=1, max_length=limits.MAX_TITLE), Clean] | None = Field(
        default=None, description="Words that all occur in the title."
    )
    external_id: ExternalId | None = Field(default=None, description="Your own id of the book.")

    def to_filter(self) -> BookFilter:
        """The filter as the services know it."""
        return BookFilter(identifier=self.identifier, external_id=self.external_id, title=self.title)


class ClusterPageQuery(_Query):
    """Which members of a cluster to list."""


class ClusterQuery(_Query):
    """Which of a book's clusters, and which members of it to list."""

    by: By = Field(
        default="same_text",
        description="What joins the books: same_text, copies of one text; related, any verified relation.",
    )


class RelationsQuery(_Query):
    """Which page of a book's relations, and whether to wait for them."""

    wait: float = Field(
        default=0,
        ge=0,
        le=limits.MAX_WAIT,
        allow_inf_nan=False,
        description="Seconds for which the answer is held until nothing is pending.",
    )


class NearnessQuery(_Query):
    """How near the books must be: within d, or the k nearest, or (without both) verified near-duplicates."""

    d: int | None = Field(
        default=None, ge=0, le=limits.MAX_D, description="All books at most so many bits away; exact."
    )
    k: int | None = Field(
        default=None, ge=1, le=limits.MAX_K, description="The so many nearest books, not with d; exact."
    )

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.d is not None and self.k is not None:
            raise PydanticCustomError("not_together", "d and k were both sent", {"field": "k"})
        return self

    def to_question(self) -> Question:
        """The question as the services know it."""
        if self.d is not None:
            return Within(self.d)
        return Verified() if self.k is None else Nearest(self.k)
