"""Posting, reading, changing and listing books."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.http.bodies import parsed
from app.api.http.cursors import Cursors
from app.api.http.deps import BookId, IfMatch, MetricsOf, ServicesDep, expected_version
from app.api.http.openapi import answers, body, problems
from app.api.schemas import examples
from app.api.schemas.answers import BookAnswer, BookList, PostedBook, book_path, json_response
from app.api.schemas.requests import BookBody, BookQuery, ContentBody, MetadataBody
from app.core.model import Book

router = APIRouter(prefix="/v1/books", tags=["books"], default_response_class=Response)

_ETAG = {"ETag": "The book's version, for If-Match."}
_LOCATION = {"Location": "The path of the book."}
_CONTENTS: dict[str, dict[str, Any]] = {
    "A text": {"text": examples.TEXT},
    "Pages": {"pages": examples.TEXT.split("\f")},
    "Signatures": {"signatures": examples.SIGNATURES},
}


@router.post(
    "",
    status_code=201,
    summary="Post a book",
    responses=answers({201: PostedBook, 200: PostedBook}, _ETAG | _LOCATION)
    | problems(400, 409, 413, 415, 422, 503),
    openapi_extra=body(BookBody, _CONTENTS | {"A text": {"text": examples.TEXT} | examples.METADATA}),
)
async def post_book(request: Request, services: ServicesDep, metrics: MetricsOf) -> Response:
    """Takes a book in and answers its identifier. After the answer the book is durable and is found.

    The same content (with the same `external_id`, where one is given) posted again is answered with 200 and
    `created: false`, and its metadata stays as it is. The same `external_id` with other content is a
    conflict.
    """

    submission = await parsed(request, BookBody, BookBody.to_submission)
    stored = await services.ingest.post(submission)
    metrics.count_post(stored.created)
    headers = _etag(stored.book) | {"Location": book_path(stored.book.id)}
    return json_response(PostedBook.of_stored(stored), 201 if stored.created else 200, headers)


@router.get("", summary="List books", responses=answers({200: BookList}) | problems(422, 503))
async def list_books(query: Annotated[BookQuery, Query()], services: ServicesDep) -> Response:
    """Lists the books that have the identifier, the external id and all words of the title, oldest first."""
    wanted = query.to_filter()
    cursors = Cursors("books", wanted.identifier, wanted.title, wanted.external_id)
    books = await services.books.search(wanted, cursors.book(query.cursor), query.limit + 1)
    page = books[: query.limit]
    next_cursor = cursors.at_book(page[-1].id) if len(books) > query.limit else None
    return json_response(BookList.of(page, next_cursor))


@router.get(
    "/{book_id}", summary="Read a book", responses=answers({200: BookAnswer}, _ETAG) | problems(404, 422, 503)
)
async def read_book(book_id: BookId, services: ServicesDep) -> Response:
    """Answers the book as it is now."""
    return _answer(await services.books.get(book_id))


@router.patch(
    "/{book_id}",
    summary="Change a book's metadata",
    responses=answers({200: BookAnswer}, _ETAG) | problems(400, 404, 409, 412, 413, 415, 422, 503),
    openapi_extra=body(MetadataBody, {"A title and no year": {"title": examples.TITLE, "year": None}}),
)
async def change_metadata(
    request: Request, book_id: BookId, services: ServicesDep, if_match: IfMatch
) -> Response:
    """Sets the fields that are sent, empties those sent as null, and leaves the others."""
    changes = await parsed(request, MetadataBody, MetadataBody.to_changes)
    version = await expected_version(services, book_id, if_match)
    return _answer(await services.books.change_metadata(book_id, changes, version))


@router.put(
    "/{book_id}/content",
    summary="Replace a book's content",
    responses=answers({200: BookAnswer}, _ETAG) | problems(400, 404, 409, 412, 413, 415, 422, 503),
    openapi_extra=body(ContentBody, _CONTENTS),
)
async def replace_content(
    request: Request, book_id: BookId, services: ServicesDep, if_match: IfMatch
) -> Response:
    """Gives the book a new content and with it a new identifier and version; id and metadata stay."""
    content, sketch = await parsed(request, ContentBody, lambda body: (body.to_content(), body.to_sketch()))
    version = await expected_version(services, book_id, if_match)
    return _answer((await services.ingest.replace_content(book_id, content, sketch, version)).book)


@router.delete(
    "/{book_id}",
    status_code=204,
    summary="Delete a book",
    responses=problems(404, 412, 422, 503),
)
async def delete_book(book_id: BookId, services: ServicesDep, if_match: IfMatch) -> Response:
    """Forgets the book: no lookup finds it any more, and its external id and content are free again."""
    await services.ingest.delete(book_id, await expected_version(services, book_id, if_match))
    return Response(status_code=204)


def _answer(book: Book) -> Response:
    return json_response(BookAnswer.of(book), headers=_etag(book))


def _etag(book: Book) -> dict[str, str]:
    return {"ETag": f'"{book.version}"'}
