"""What clients are answered: Bookprint's nouns as JSON documents."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from app.api.schemas import examples
from app.core.model import Book, Fingerprint, StoredBook
from app.core.signatures import identifier
from app.services.health import PartHealth


class FingerprintAnswer(BaseModel):
    """A simhash: two of one recipe are compared by Hamming distance."""

    model_config = ConfigDict(json_schema_extra={"example": examples.FINGERPRINT})

    recipe: str = Field(description="Name of the recipe.")
    hex: str = Field(description="The bits as hexadecimal digits, four bits each.")


class Links(BaseModel):
    """Where to go on, relative to the root of this service."""

    model_config = ConfigDict(json_schema_extra={"example": examples.BOOK["links"]})

    self: str = Field(description="The book.")
    near_duplicates: str = Field(description="The books near it.")
    relations: str = Field(description="How it is related to other books.")


class BookAnswer(BaseModel):
    """A book as the catalogue holds it."""

    model_config = ConfigDict(json_schema_extra={"example": examples.BOOK})

    id: UUID = Field(description="Id of the book, for good.")
    identifier: str | None = Field(
        description="The similarity-preserving identifier of the present content; null without a fingerprint."
    )
    status: Literal["indexed", "pending"] = Field(
        description="Pending books are durable and found; only their indexing is still to come."
    )
    title: str | None
    page_count: int | None = Field(description="Pages, blank ones too; null where they are not known.")
    word_count: int = Field(description="Words; characters, in scripts without spaces.")
    fingerprint: FingerprintAnswer | None = Field(description="Null where the text is too short or too even.")
    identifiers: list[str]
    links: Links
    authors: list[str]
    language: str | None
    year: int | None
    volume: str | None
    external_id: str | None
    version: int = Field(description="Counts every change of content or metadata, from 1; the ETag shows it.")

    @classmethod
    def of(cls, book: Book) -> Self:
        """The document of a book."""
        return cls(**_fields(book))


class PostedBook(BookAnswer):
    """A book and whether this request made it."""

    model_config = ConfigDict(json_schema_extra={"example": examples.BOOK | {"created": True}})

    created: bool = Field(
        description="False: exactly this book was there already; its metadata is untouched."
    )

    @classmethod
    def of_stored(cls, stored: StoredBook) -> Self:
        """The document of a book that was just posted."""
        return cls(**_fields(stored.book), created=stored.created)


class BookList(BaseModel):
    """One page of a list of books, oldest first."""

    model_config = ConfigDict(json_schema_extra={"example": {"items": [examples.BOOK], "next_cursor": None}})

    items: list[BookAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")

    @classmethod
    def of(cls, books: Sequence[Book], next_cursor: str | None) -> Self:
        """The document of these books."""
        return cls(items=[BookAnswer.of(book) for book in books], next_cursor=next_cursor)


class Containment(BaseModel):
    """How much of each book the other one contains, estimated from their MinHash signatures."""

    model_config = ConfigDict(json_schema_extra={"example": examples.NEAR_DUPLICATE["containment"]})

    this_in_other: float | None = Field(description="Share of the query found in this item, 0 to 1.")
    other_in_this: float | None = Field(description="Share of this item found in the query, 0 to 1.")


class RelationBrief(BaseModel):
    """How two books are related: by a person's decision, else as the machine found from their pages."""

    model_config = ConfigDict(json_schema_extra={"example": {"kind": "SAME_PAGINATION", "confidence": 0.97}})

    kind: str
    confidence: float = Field(description="0 to 1; of a person's decision 1.")


class NearDuplicate(BaseModel):
    """A book near the query, and what speaks for it; null where a signature is missing."""

    model_config = ConfigDict(json_schema_extra={"example": examples.NEAR_DUPLICATE})

    id: UUID
    identifier: str | None
    title: str | None
    distance: int | None = Field(description="Bits in which the fingerprints differ, 0 to 128.")
    jaccard: float | None = Field(description="Estimated share of common shingles, 0 to 1.")
    containment: Containment
    relation: RelationBrief | None = Field(description="Null until the pages have been compared.")


class NearnessQuestion(BaseModel):
    """What was asked."""

    model_config = ConfigDict(json_schema_extra={"example": examples.NEAR_DUPLICATES["query"]})

    id: UUID | None = Field(description="The book that was asked about; null for a lookup.")
    d: int | None = Field(
        description="The distance asked for; null where k or verified books were asked for."
    )
    k: int | None = Field(
        default=None,
        exclude_if=lambda k: k is None,
        description="How many nearest books were asked for; left out where none were.",
    )


class NearDuplicates(BaseModel):
    """One page of the books near the query, nearest first."""

    model_config = ConfigDict(json_schema_extra={"example": examples.NEAR_DUPLICATES})

    query: NearnessQuestion
    exact: bool = Field(description="True: provably every book that the question asks for.")
    total: int = Field(description="How many books there are on all pages.")
    items: list[NearDuplicate]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")


class Alive(BaseModel):
    """The process answers."""

    model_config = ConfigDict(json_schema_extra={"example": {"status": "alive"}})

    status: Literal["alive"] = "alive"


class PartAnswer(BaseModel):
    """One part of the service."""

    model_config = ConfigDict(json_schema_extra={"example": {"ok": True, "detail": "up"}})

    ok: bool
    detail: str = Field(description="What is wrong with it, if something is.")


class Ready(BaseModel):
    """The service can do its work."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "status": "ready",
                "parts": {
                    "postgres": {"ok": True, "detail": "up"},
                    "redis": {"ok": True, "detail": "up"},
                    "jobs": {"ok": True, "detail": "up"},
                    "kernels": {"ok": True, "detail": "compiled"},
                },
            }
        }
    )

    status: Literal["ready"] = "ready"
    parts: dict[str, PartAnswer]

    @classmethod
    def of(cls, parts: Mapping[str, PartHealth]) -> Self:
        """The document of parts that are all well."""
        return cls(parts={name: PartAnswer(ok=part.ok, detail=part.detail) for name, part in parts.items()})


def json_response(answer: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The document as the answer to a request."""
    return Response(answer.model_dump_json(), status, headers=headers, media_type="application/json")


def book_path(book_id: UUID) -> str:
    """Where a book is, relative to the root of this service."""
    return f"/v1/books/{book_id}"


def _fields(book: Book) -> dict[str, Any]:
    fingerprint, metadata, path = book.fingerprint, book.metadata, book_path(book.id)
    return {
        "id": book.id,
        "identifier": _identifier(fingerprint, book.word_count),
        "status": "indexed" if book.indexed else "pending",
        "title": metadata.title,
        "page_count": book.page_count,
        "word_count": book.word_count,
        "fingerprint": fingerprint and FingerprintAnswer(recipe=fingerprint.recipe, hex=fingerprint.hex),
        "identifiers": metadata.identifiers,
        "links": Links(self=path, near_duplicates=f"{path}/near-duplicates", relations=f"{path}/relations"),
        "authors": metadata.authors,
        "language": metadata.language,
        "year": metadata.year,
        "volume": metadata.volume,
        "external_id": metadata.external_id,
        "version": book.version,
    }


def _identifier(fingerprint: Fingerprint | None, word_count: int) -> str | None:
    return None if fingerprint is None else identifier.encode(fingerprint, word_count)
