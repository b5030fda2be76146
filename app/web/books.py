"""The search for books, and the page of one book: metadata, near-duplicates, relations and history."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request
from pydantic import Field, StringConstraints
from starlette.responses import Response

from app.api.http.deps import ActorDep, BookId, ServicesDep
from app.api.http.problems import UnknownPath
from app.catalog.identifiers import isbns
from app.catalog.reconciliation import book_id_of
from app.services.access.audit import Action
from app.services.books import BookFilter
from app.services.clusters import ClusterPage
from app.services.descriptions import DescriptionForm
from app.services.index.questions import Position, Verified
from app.services.lookups import Answer
from app.services.pairs.relations import effective_of
from app.web.pair import KINDS
from app.web.rendering import HEADERS, page, redirect
from app.web.routes import Filters, PageRouter
from app.wiring import Services
from bookprint_core.clusters.clustering import KINDS as CLUSTER_KINDS
from bookprint_core.errors import Unavailable
from bookprint_core.metadata import LONGEST_AUTHOR, LONGEST_LANGUAGE, MOST_YEAR
from bookprint_core.model import Book
from bookprint_core.signatures import identifier

router = PageRouter()

_AT_ONCE = 25
_RELATIONS_AT_ONCE = 50
_MOST_EVENTS = 100
_DOWNLOADS: dict[str, tuple[DescriptionForm, str]] = {
    "mrc": ("marc", "application/marc"),
    "marcxml": ("marcxml", "application/marcxml+xml"),
    "jsonld": ("json-ld", "application/ld+json"),
}
_ACTIONS: Mapping[Action, str] = {
    "book.created": "Added",
    "book.changed": "Record changed",
    "book.content_replaced": "Text replaced",
}


class BookSearch(Filters):
    """Fields of the search for books."""

    q: Annotated[str, StringConstraints(max_length=10_000)] | None = None
    author: Annotated[str, StringConstraints(max_length=LONGEST_AUTHOR)] | None = None
    language: Annotated[str, StringConstraints(max_length=LONGEST_LANGUAGE)] | None = None
    year: Annotated[int, Field(ge=-MOST_YEAR, le=MOST_YEAR)] | None = None
    after: UUID | None = None

    def to_filter(self) -> BookFilter:
        return BookFilter(
            author=self.author, language=self.language, year=self.year, collection=self.collection
        )


@router.get("/books", scope="read")
async def search_books(
    search: Annotated[BookSearch, Query()], request: Request, services: ServicesDep
) -> Response:
    """Find books; redirect to the book if the query is its id."""
    if (book_id := book_id_of(search.q or "")) is not None:
        return redirect(request, f"/books/{book_id}")
    found = await services.finder.find(search.q, search.to_filter(), search.after, _AT_ONCE)
    more = search.query(after=found.books[-1].id) if found.more else None
    copies = await services.library.read_copies(
        [*(book.id for book in found.books), *(book.id for book in found.alike)]
    )
    return page(request, "books.html", search=search, found=found, more=more, copies=copies)


@router.get("/books/{book_id}.{form}", scope="read")
async def download_record(book_id: BookId, form: str, services: ServicesDep) -> Response:
    """Return the record of a book with its relations as a file."""
    if form not in _DOWNLOADS:
        raise UnknownPath("A record cannot be downloaded in this format.")
    wanted, media_type = _DOWNLOADS[form]
    description = await services.descriptions.read(book_id)
    body = await asyncio.to_thread(description.written, wanted)
    told = {"Content-Disposition": f'attachment; filename="{book_id}.{form}"'}
    return Response(body, headers=HEADERS | told, media_type=media_type)


@router.get("/books/{book_id}", scope="read")
async def show_book(
    book_id: BookId,
    request: Request,
    services: ServicesDep,
    actor: ActorDep,
    near: str | None = None,
    skip: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """Show a book. `near` continues the list of near-duplicates, and `skip` the list of relations."""
    book, answer, relations, clusters, contents, events = await asyncio.gather(
        services.books.get(book_id),
        _near(services, book_id, near),
        services.relations.of_book(book_id, None, _AT_ONCE),
        _clusters(services, book_id),
        services.volumes.contents(book_id),
        services.audit.history(
            book_id, _MOST_EVENTS, actor=actor, tells_names=request.state.caller.may("admin")
        ),
    )
    direct = relations.direct[skip : skip + _RELATIONS_AT_ONCE]
    others = [each.book_id for each in direct] + [
        each.book.book_id for each in (answer.matches if answer else ())
    ]
    return page(
        request,
        "book.html",
        book=book,
        identifiers=list(_identifiers(book)),
        answer=answer,
        position=answer and answer.next and f"{answer.next.distance}-{answer.next.entry_id}",
        relations=relations,
        direct=[(each, effective_of(each)) for each in direct],
        others=await services.reconciliation.read_books(others),
        more=skip + len(direct) if skip + len(direct) < len(relations.direct) else None,
        kinds=KINDS,
        clusters=clusters,
        contents=contents,
        events=events,
        actions=_ACTIONS,
        most_events=_MOST_EVENTS,
    )


async def _near(services: Services, book_id: UUID, near: str | None) -> Answer | None:
    """Return near-duplicates of a book after the place `near`; None while the index is not available."""
    position = None
    with suppress(ValueError):
        distance, entry_id = map(int, (near or "").split("-"))
        position = Position(min(distance, 255), min(entry_id, 2**63 - 1))
    try:
        return await services.lookup.near_duplicates(book_id, Verified(), position, _AT_ONCE)
    except Unavailable:
        return None


async def _clusters(services: Services, book_id: UUID) -> list[ClusterPage]:
    found = [await services.clusters.of_book(book_id, by, None, 1) for by in CLUSTER_KINDS]
    return [cluster for cluster in found if cluster.size > 1]


def _identifiers(book: Book) -> Iterator[tuple[str, str]]:
    """Yield each identifier of a book that can be copied, with its label."""
    yield "Id in this library", str(book.id)
    if book.metadata.external_id:
        yield "External id", book.metadata.external_id
    for each in book.metadata.identifiers:
        yield "Catalogue number", each
    written = identifier.of_book(book, next(iter(isbns(book.metadata.identifiers)), None))
    told = {
        "Identifier of the text": written.short,
        "Long identifier": written.long,
        "Identifier with ISBN": written.composite,
        "ISCC": book.iscc,
    }
    yield from ((name, text) for name, text in told.items() if text)
    for digest in book.digests:
        yield "Digest of the text", str(digest)
