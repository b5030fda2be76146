"""Posting, reading, changing and listing books."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from uuid import UUID

import orjson
from fastapi import Query, Request, Response
from pydantic import Field, create_model

from app.api.http import deps
from app.api.http.deps import (
    JSON_LD,
    MARC,
    MARC_JSON,
    MARCXML,
    ActorDep,
    BookId,
    IfMatch,
    MetricsDep,
    ServicesDep,
    book_id_of,
    expected_version,
)
from app.api.http.files import SentFileDep
from app.api.http.metrics import Metrics
from app.api.http.openapi import with_file, with_headers
from app.api.http.routes import SubjectRouter
from app.api.schemas.clusters import ClusterNameAnswer
from app.api.schemas.documents import (
    ANSWERED,
    CollectionFilter,
    Cursors,
    Document,
    Format,
    PageQuery,
    Warnings,
    file_fields,
)
from app.api.schemas.signatures import BookSignatures, FingerprintAnswer, SignaturesQuery
from app.api.schemas.submissions import (
    Author,
    BookBody,
    CatalogueIdentifier,
    ContentBody,
    ExternalId,
    LanguageTag,
    MetadataBody,
    Title,
    Year,
)
from app.catalog.identifiers import is_valid, isbns
from app.services.access.audit import Actor
from app.services.books import BookFilter, told_of_post
from app.services.descriptions import DescriptionForm
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.metadata import FIELD
from bookprint_core.model import Book, StoredBook, Submission
from bookprint_core.recipe import DIGESTS
from bookprint_core.signatures import identifier, lean_minhash
from bookprint_core.signatures.digests import parse_digest

WrittenDigest = Annotated[
    str, Field(json_schema_extra={"pattern": f"^({'|'.join(DIGESTS)}):[0-9A-Fa-f]{{32}}$"})
]


class BookQuery(PageQuery):
    """The books to list."""

    identifier: CatalogueIdentifier | None = Field(
        default=None,
        description="Identifier of the book, such as isbn:9780141439600, or ISCC of its content, iscc:…",
    )
    title: Title | None = Field(
        default=None, description="At least one word; all words must occur in the title."
    )
    external_id: ExternalId | None = Field(default=None, description="Your own id of the book.")
    author: Author | None = Field(
        default=None, description="Names of authors; all must occur, and initials are ignored."
    )
    language: LanguageTag | None = Field(default=None, description="Language, exactly as in the book.")
    year: Year | None = Field(default=None, description="Year of publication.")
    digest: WrittenDigest | None = Field(
        default=None, description="Digest of the text: textprofile-md5-v1: and 32 hexadecimal digits."
    )
    collection: CollectionFilter = None

    def to_filter(self) -> BookFilter:
        """Return the filter for the services; raises InvalidInput or UnknownRecipe."""
        digest = None if self.digest is None else parse_digest(self.digest, "digest")
        return BookFilter(**self.model_dump(exclude={"limit", "cursor", "digest"}), digest=digest)


class Links(Document):
    """Paths of the book's resources, relative to the root of this service."""

    self: str = Field(description="The book.")
    near_duplicates: str = Field(description="The books near this book.")
    relations: str = Field(description="The relations to other books.")
    similar: str | None = Field(
        description="Similar books with other texts; null if the book has no vector, for example if it was "
        "posted as signatures."
    )


class _BookFacts(Document):
    """The fields of a book, without most of its metadata."""

    id: UUID = Field(description="Permanent id of the book.")
    identifier: str | None = Field(
        description="Similarity-preserving identifier of the content, bp1:…; null without a fingerprint."
    )
    long_identifier: str | None = Field(
        description="Identifier with one bit per MinHash value, bp2:…, for better offline comparison; null "
        "without a fingerprint or MinHash."
    )
    composite: str | None = Field(
        description="The longest identifier of the content and the first valid ISBN; null if one is missing."
    )
    iscc: str | None = Field(
        description="ISCC Text-Code of the content; null if the service does not compute it."
    )
    digests: dict[str, str] = Field(
        description="Digests of the content by name, each 32 hexadecimal digits; empty if the service does "
        "not compute them."
    )
    status: Literal["indexed", "pending"] = Field(
        description="pending: stored and found by lookups, but not yet in the band index."
    )
    title: str | None
    page_count: int | None = Field(description="Number of pages, with blank pages; null: unknown.")
    word_count: int = Field(description="Number of words, or of characters in scripts without word spaces.")
    fingerprint: FingerprintAnswer | None = Field(description="Null if the text is too short or too even.")
    identifiers: list[str] = Field(description="Identifiers in normal form; an ISBN has 13 digits.")
    invalid_identifiers: list[str] = Field(
        description="Identifiers that break a rule of their scheme, such as a wrong check digit; unchanged."
    )
    cluster: ClusterNameAnswer = Field(
        description="Present cluster of the copies of the text; a book alone is a cluster of one."
    )
    links: Links


if TYPE_CHECKING:
    _Described = _BookFacts
else:
    _others = {name: kind for name, kind in ANSWERED.items() if name not in _BookFacts.model_fields}
    _Described = create_model("_Described", __base__=_BookFacts, **_others)


class BookAnswer(_Described):
    """A book of the catalogue."""

    collection: str | None = Field(description="Collection of the book; null: none.")
    version: int = Field(
        description="Number of the version, from 1; each change of the book adds 1. Also the ETag."
    )

    @classmethod
    def of(cls, book: Book, **others: object) -> Self:
        """Return the document of a book; `others` are the fields of a subclass."""
        return cls(**_fields(book), **others)


class PostedBook(BookAnswer):
    """A book, and whether this request created it."""

    created: bool = Field(description="False: exactly this book existed already; its metadata is unchanged.")
    format: Format
    warnings: Warnings


class BookList(Document):
    """One page of a list of books, oldest first."""

    items: list[BookAnswer]
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


def _fields(book: Book) -> dict[str, Any]:
    """Return the fields of a `BookAnswer`."""
    fingerprint, path = book.fingerprint, book_path(book.id)
    cluster = ClusterName("same_text", book.founder_id)
    metadata = {name: getattr(book.metadata, name) for name in FIELD}
    written = identifier.of_book(book, next(iter(isbns(book.metadata.identifiers)), None))
    return metadata | {
        "id": book.id,
        "identifier": written.short,
        "long_identifier": written.long,
        "iscc": book.iscc,
        "digests": {digest.recipe: digest.hex for digest in book.digests},
        "composite": written.composite,
        "status": "indexed" if book.indexed else "pending",
        "page_count": book.page_count,
        "word_count": book.word_count,
        "fingerprint": fingerprint and {"recipe": fingerprint.recipe, "hex": fingerprint.hex},
        "cluster": {"id": cluster.id, "key": cluster.key},
        "links": {
            "self": path,
            "near_duplicates": f"{path}/near-duplicates",
            "relations": f"{path}/relations",
            "similar": f"{path}/similar" if book.has_vector else None,
        },
        "version": book.version,
        "invalid_identifiers": [each for each in book.metadata.identifiers if not is_valid(each)],
    }


def book_path(book_id: UUID) -> str:
    return f"/v1/books/{book_id}"


_FORMS: dict[str, DescriptionForm] = {
    MARCXML: "marcxml",
    MARC: "marc",
    MARC_JSON: "marc-json",
    JSON_LD: "json-ld",
}
_TEXT = {"schema": {"type": "string"}}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_OBJECT = {"schema": {"type": "object"}}

router = SubjectRouter(
    "/v1/books", tag="books", description="Post, read, list, change and delete the books of the catalogue."
)

_ETAG = "The book's version, for If-Match."
_LOCATION = "The path of the book."
_VERSION = with_headers(200, ETag=_ETAG)
_READ = with_headers(200, ETag=f"{_ETAG} Only for JSON.", Vary="Accept.")
_READ[200] |= {"content": {MARCXML: _TEXT, MARC: _BYTES, MARC_JSON: _OBJECT, JSON_LD: _OBJECT}}
_CREATED = with_headers(201, ETag=_ETAG, Location=_LOCATION)
_REPEATED = {200: with_headers(200, ETag=_ETAG, Location=_LOCATION)[200] | {"model": PostedBook}}


async def post_file(
    sent: SentFileDep, services: ServicesDep, actor: ActorDep, metrics: MetricsDep, response: Response
) -> PostedBook:
    stored = await services.ingest.post(sent, actor=actor)
    return _answer_posted(stored, sent, actor, metrics, response)


@router.post(
    "",
    status_code=201,
    summary="Post a book",
    responses=_CREATED | _REPEATED,
    scope="ingest",
    of_file=post_file,
    openapi_extra=with_file(),
    also=(409,),
)
async def post_book(
    body: BookBody, services: ServicesDep, actor: ActorDep, metrics: MetricsDep, response: Response
) -> PostedBook:
    """Stores a book and returns its identifier. After the answer the book is durable, and lookups find it.

    Send a file as multipart/form-data; the part `metadata` replaces metadata in the file. Posting the same
    content again, with the same `external_id` if it has one, answers 200 and `created: false`. The stored
    metadata do not change. The same `external_id` with other content is a conflict.
    """
    submission = await asyncio.to_thread(body.to_submission)
    stored = await services.ingest.post(submission, actor=actor)
    return _answer_posted(stored, submission, actor, metrics, response)


@router.get("", summary="List books", scope="read")
async def list_books(query: Annotated[BookQuery, Query()], services: ServicesDep) -> BookList:
    """Lists the books that match all parameters, oldest first."""
    wanted = query.to_filter()
    cursors = Cursors("books", wanted)
    books = await services.books.search(wanted, cursors.place(query.cursor, UUID), query.limit + 1)
    page = books[: query.limit]
    next_cursor = cursors.at(page[-1].id) if len(books) > query.limit else None
    return BookList(items=[BookAnswer.of(book) for book in page], next_cursor=next_cursor)


def _arguments_of_read(request: Request) -> dict[str, Any]:
    return {
        "book_id": book_id_of(request.path_params["book_id"]),
        "services": request.app.state.services,
        "request": request,
    }


@router.get(
    "/{book_id}",
    summary="Read a book",
    response_model=BookAnswer,
    responses=_READ,
    scope="read",
    arguments_of=_arguments_of_read,
    also=(406,),
)
async def read_book(book_id: BookId, services: ServicesDep, request: Request) -> Response:
    """Returns the present state of the book.

    MARC and JSON-LD include its present relations as linking entries (docs/reference/marc.md).
    """
    media_type = deps.accepted(request, deps.OFFERED)
    headers = {"Content-Type": media_type, "Vary": "Accept"}
    if media_type == deps.JSON:
        book = await services.books.get(book_id)
        return Response(orjson.dumps(_fields(book)), headers=headers | {"ETag": f'"{book.version}"'})
    description = await services.descriptions.read(book_id)
    return Response(await asyncio.to_thread(description.written, _FORMS[media_type]), headers=headers)


@router.get("/{book_id}/signatures", summary="Read a book's signatures", scope="read")
async def read_signatures(
    book_id: BookId, query: Annotated[SignaturesQuery, Query()], services: ServicesDep
) -> BookSignatures:
    """Returns the MinHash of the content, for an index of datasketch."""
    book = await services.entries.read_query_book(book_id, with_sample=False)
    minhash = book.entry.minhash
    return BookSignatures.model_validate({"datasketch": minhash and lean_minhash.encode(minhash)})


@router.patch(
    "/{book_id}", summary="Change a book's metadata", responses=_VERSION, scope="ingest", also=(409, 412)
)
async def change_metadata(
    body: MetadataBody,
    book_id: BookId,
    services: ServicesDep,
    actor: ActorDep,
    if_match: IfMatch,
    response: Response,
) -> BookAnswer:
    """Sets the fields that are sent, empties fields sent as null, and leaves other fields unchanged."""
    version = await expected_version(services, book_id, if_match)
    changes = body.to_changes()
    return _tagged(response, await services.books.change_metadata(book_id, changes, version, actor=actor))


@router.put(
    "/{book_id}/content",
    summary="Replace a book's content",
    responses=_VERSION,
    scope="ingest",
    also=(409, 412),
)
async def replace_content(
    body: ContentBody,
    book_id: BookId,
    services: ServicesDep,
    actor: ActorDep,
    if_match: IfMatch,
    response: Response,
) -> BookAnswer:
    """Replaces the content, identifier and version of the book; id and metadata stay.

    If the content is the same, only `page_labels` change.
    """
    labels = body.to_page_labels()
    content, sketch = await asyncio.to_thread(lambda: (body.to_content(), body.to_sketch()))
    version = await expected_version(services, book_id, if_match)
    stored = await services.ingest.replace_content(book_id, content, sketch, version, labels, actor=actor)
    return _tagged(response, stored.book)


@router.delete("/{book_id}", status_code=204, summary="Delete a book", scope="ingest", also=(412,))
async def delete_book(book_id: BookId, services: ServicesDep, actor: ActorDep, if_match: IfMatch) -> Response:
    """Deletes the book. Lookups no longer find it, and its external id and content can be posted again."""
    await services.ingest.delete(book_id, await expected_version(services, book_id, if_match), actor=actor)
    return Response(status_code=204)


def _answer_posted(
    stored: StoredBook, sent: Submission, actor: Actor, metrics: Metrics, response: Response
) -> PostedBook:
    """Return the answer to a posted book; sets status and headers."""
    metrics.count_post(stored.created)
    response.status_code = 201 if stored.created else 200
    response.headers["Location"] = book_path(stored.book.id)
    response.headers["ETag"] = f'"{stored.book.version}"'
    fields = file_fields(sent)
    fields["warnings"] += told_of_post(stored, sent, actor)
    return PostedBook.of(stored.book, created=stored.created, **fields)


def _tagged(response: Response, book: Book) -> BookAnswer:
    response.headers["ETag"] = f'"{book.version}"'
    return BookAnswer.of(book)
