"""Posting, reading, changing and listing books."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Response

from app.api.http import negotiation
from app.api.http.access import needs
from app.api.http.bodies import JsonRoute
from app.api.http.book_answers import ANSWERS, described
from app.api.http.cursors import Cursors
from app.api.http.deps import ActorDep, BookId, IfMatch, MetricsDep, ServicesDep, expected_version
from app.api.http.metrics import Metrics
from app.api.http.openapi import ProblemResponse, problems, problems_only, with_file, with_headers
from app.api.schemas import examples
from app.api.schemas.books import (
    BookAnswer,
    BookBody,
    BookList,
    BookQuery,
    ContentBody,
    MetadataBody,
    PostedBook,
    book_path,
)
from app.api.schemas.files import file_fields
from app.core.model import Book, StoredBook, Submission

router = APIRouter(prefix="/v1/books", tags=["books"], route_class=JsonRoute)

_ETAG = "The book's version, for If-Match."
_LOCATION = "The path of the book."
_VERSION = with_headers(200, ETag=_ETAG)
_READ = with_headers(200, ETag=f"{_ETAG} Only JSON has it.", Vary="Accept.")
_READ[200] |= ANSWERS
_CREATED = with_headers(201, ETag=_ETAG, Location=_LOCATION)
_REPEATED = {200: with_headers(200, ETag=_ETAG, Location=_LOCATION)[200] | {"model": PostedBook}}
_CONTENTS: dict[str, Any] = examples.named(
    {
        "A text": {"text": examples.TEXT},
        "Pages": {"pages": examples.TEXT.split("\f"), "page_labels": ["xii", "1"]},
        "Signatures": {"signatures": examples.SIGNATURES},
    }
)
_BOOKS = _CONTENTS | examples.named({"A text": {"text": examples.TEXT} | examples.METADATA})
_CHANGES = examples.named({"A title and no year": {"title": examples.TITLE, "year": None}})
_RECORD = examples.named({"A text and its MARC record": {"text": examples.TEXT, "marc": examples.MARC}})


AcceptedType = Annotated[str, Depends(negotiation.chosen)]


@router.post(
    "",
    status_code=201,
    summary="Post a book",
    responses=_CREATED | _REPEATED | problems(400, 409, 413, 415, 422, 503),
    openapi_extra=needs("ingest") | with_file(),
)
async def post_book(
    body: Annotated[BookBody, Body(openapi_examples=_BOOKS | _RECORD)],
    services: ServicesDep,
    actor: ActorDep,
    metrics: MetricsDep,
    response: Response,
) -> PostedBook:
    """Takes a book in and answers its identifier. After the answer the book is durable and is found.

    A file is sent as multipart/form-data, whose part `metadata` outranks what the file says. The same
    content (with the same `external_id`, where one is given) posted again is answered with 200 and
    `created: false`. Its metadata stays as it is. The same `external_id` with other content is a conflict.
    """
    stored = await services.ingest.post(await asyncio.to_thread(body.to_submission), actor=actor)
    return answer_posted(stored, metrics, response)


@router.get("", summary="List books", responses=problems(422, 503), openapi_extra=needs("read"))
async def list_books(query: Annotated[BookQuery, Query()], services: ServicesDep) -> BookList:
    """Lists the books that have the identifiers, the digest and all words of the title, oldest first."""
    wanted = query.to_filter()
    cursors = Cursors("books", wanted.identifier, wanted.title, wanted.external_id, wanted.digest)
    books = await services.books.search(wanted, cursors.book(query.cursor), query.limit + 1)
    page = books[: query.limit]
    next_cursor = cursors.at_book(page[-1].id) if len(books) > query.limit else None
    return BookList(items=[BookAnswer.of(book) for book in page], next_cursor=next_cursor)


@router.get(
    "/{book_id}",
    summary="Read a book",
    response_model=BookAnswer,
    responses=_READ | problems(404, 406, 422, 503),
    openapi_extra=needs("read"),
)
async def read_book(
    book_id: BookId, services: ServicesDep, media_type: AcceptedType, response: Response
) -> BookAnswer | Response:
    """Answers the book as it is now.

    As MARC and as JSON-LD it comes with its present relations as linking entries (docs/marc.md).
    """
    if media_type != negotiation.JSON:
        return await asyncio.to_thread(described, await services.descriptions.read(book_id), media_type)
    response.headers["Vary"] = "Accept"
    return _tagged(response, await services.books.get(book_id))


@router.patch(
    "/{book_id}",
    summary="Change a book's metadata",
    responses=_VERSION | problems(400, 404, 409, 412, 413, 415, 422, 503),
    openapi_extra=needs("ingest"),
)
async def change_metadata(
    body: Annotated[MetadataBody, Body(openapi_examples=_CHANGES)],
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
    responses=_VERSION | problems(400, 404, 409, 412, 413, 415, 422, 503),
    openapi_extra=needs("ingest"),
)
async def replace_content(
    body: Annotated[ContentBody, Body(openapi_examples=_CONTENTS)],
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


@router.delete(
    "/{book_id}",
    status_code=204,
    summary="Delete a book",
    response_class=ProblemResponse,
    responses=problems_only(404, 412, 422, 503),
    openapi_extra=needs("ingest"),
)
async def delete_book(book_id: BookId, services: ServicesDep, actor: ActorDep, if_match: IfMatch) -> Response:
    """Deletes the book: no lookup finds it any more, and its external id and content are free again."""
    await services.ingest.delete(book_id, await expected_version(services, book_id, if_match), actor=actor)
    return Response(status_code=204)


def answer_posted(
    stored: StoredBook, metrics: Metrics, response: Response, sent: Submission | None = None
) -> PostedBook:
    """The book as it is answered to its post, with the file it came in; sets status and headers."""
    metrics.count_post(stored.created)
    response.status_code = 201 if stored.created else 200
    response.headers["Location"] = book_path(stored.book.id)
    _tag(response, stored.book)
    return PostedBook.of(stored.book, created=stored.created, **file_fields(sent))


def _tagged(response: Response, book: Book) -> BookAnswer:
    _tag(response, book)
    return BookAnswer.of(book)


def _tag(response: Response, book: Book) -> None:
    response.headers["ETag"] = f'"{book.version}"'
