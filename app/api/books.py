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
        description="An identifier that the book has, as isbn:9780141439600; "
        "or the ISCC of its content, iscc:…",
    )
    title: Title | None = Field(default=None, description="Words that all occur in the title; at least one.")
    external_id: ExternalId | None = Field(default=None, description="Your own id of the book.")
    author: Author | None = Field(
        default=None, description="Names of one author or several, that all occur; initials do not count."
    )
    language: LanguageTag | None = Field(default=None, description="The language, as the book has it.")
    year: Year | None = Field(default=None, description="The year of publication.")
    digest: WrittenDigest | None = Field(
        default=None, description="A digest of its text, as textprofile-md5-v1: and 32 hexadecimal digits."
    )
    collection: CollectionFilter = None

    def to_filter(self) -> BookFilter:
        """The filter as the services know it; raises InvalidInput, or UnknownRecipe."""
        digest = None if self.digest is None else parse_digest(self.digest, "digest")
        return BookFilter(**self.model_dump(exclude={"limit", "cursor", "digest"}), digest=digest)


class Links(Document):
    """Paths of the book's own resources, relative to the root of this service."""

    self: str = Field(description="The book.")
    near_duplicates: str = Field(description="The books near it.")
    relations: str = Field(description="How it is related to other books.")
    similar: str | None = Field(
        description="Books of other texts that are like it; null where it has no vector, as a book that was "
        "posted as signatures."
    )


class _BookFacts(Document):
    """The fields of a book beside most of its metadata."""

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


if TYPE_CHECKING:
    _Described = _BookFacts
else:
    _others = {name: kind for name, kind in ANSWERED.items() if name not in _BookFacts.model_fields}
    _Described = create_model("_Described", __base__=_BookFacts, **_others)


class BookAnswer(_Described):
    """A book as the catalogue holds it."""

    collection: str | None = Field(description="Null where the book belongs to none.")
    version: int = Field(description="Counts every change of content or metadata, from 1; the ETag shows it.")

    @classmethod
    def of(cls, book: Book, **others: object) -> Self:
        """The document of a book; `others` are the fields that a subclass adds."""
        return cls(**_fields(book), **others)


class PostedBook(BookAnswer):
    """A book and whether this request made it."""

    created: bool = Field(
        description="False: exactly this book was there already; its metadata is untouched."
    )
    format: Format
    warnings: Warnings


class BookList(Document):
    """One page of a list of books, oldest first."""

    items: list[BookAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")


def _fields(book: Book) -> dict[str, Any]:
    """The fields of a `BookAnswer`."""
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
_READ = with_headers(200, ETag=f"{_ETAG} Only JSON has it.", Vary="Accept.")
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
    """Takes a book in and answers its identifier. After the answer the book is durable and is found.

    A file is sent as multipart/form-data, whose part `metadata` outranks what the file says. The same
    content (with the same `external_id`, where one is given) posted again is answered with 200 and
    `created: false`. Its metadata stays as it is. The same `external_id` with other content is a conflict.
    """
    submission = await asyncio.to_thread(body.to_submission)
    stored = await services.ingest.post(submission, actor=actor)
    return _answer_posted(stored, submission, actor, metrics, response)


@router.get("", summary="List books", scope="read")
async def list_books(query: Annotated[BookQuery, Query()], services: ServicesDep) -> BookList:
    """Lists the books that have all that is asked for, oldest first."""
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
    """Answers the book as it is now.

    As MARC and as JSON-LD it comes with its present relations as linking entries (docs/reference/marc.md).
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
    """Answers the MinHash of the present content, for an index of datasketch."""
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
    """Sets the fields that are sent, empties those sent as null, and leaves the others."""
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
    """Gives the book a new content and with it a new identifier and version; id and metadata stay.

    The same content again leaves all but `page_labels` as it is.
    """
    labels = body.to_page_labels()
    content, sketch = await asyncio.to_thread(lambda: (body.to_content(), body.to_sketch()))
    version = await expected_version(services, book_id, if_match)
    stored = await services.ingest.replace_content(book_id, content, sketch, version, labels, actor=actor)
    return _tagged(response, stored.book)


@router.delete("/{book_id}", status_code=204, summary="Delete a book", scope="ingest", also=(412,))
async def delete_book(book_id: BookId, services: ServicesDep, actor: ActorDep, if_match: IfMatch) -> Response:
    """Deletes the book: no lookup finds it any more, and its external id and content are free again."""
    await services.ingest.delete(book_id, await expected_version(services, book_id, if_match), actor=actor)
    return Response(status_code=204)


def _answer_posted(
    stored: StoredBook, sent: Submission, actor: Actor, metrics: Metrics, response: Response
) -> PostedBook:
    """The book as it is answered to its post; sets status and headers."""
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
