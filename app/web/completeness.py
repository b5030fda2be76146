"""The faults of one scan, and the faults of all scans of a library."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Request
from starlette.responses import Response

from app.api.http.deps import BookId, ServicesDep
from app.services.completeness import CompletenessRead, FaultKind
from app.web.pair import KINDS
from app.web.rendering import page
from app.web.routes import Filters, PageRouter
from bookprint_core.errors import CompletenessUnknown, TextNotKept

router = PageRouter()

FAULTS: dict[FaultKind, str] = {
    "missing": "missing",
    "doubled": "doubled",
    "misplaced": "misplaced",
    "foreign": "from another book",
}


class CompletenessSearch(Filters):
    """Filters of the list of faults."""

    after: UUID | None = None


@router.get("/books/{book_id}/completeness", scope="read")
async def show_completeness(book_id: BookId, request: Request, services: ServicesDep) -> Response:
    """Show the faults of a scan, found by comparison with other scans of its printing."""
    book = await services.books.get(book_id)
    read: CompletenessRead | str
    try:
        read = await services.completeness.of_book(book_id)
    except (CompletenessUnknown, TextNotKept) as error:
        read = str(error)
    return page(request, "completeness.html", book=book, read=read, faults=FAULTS, kinds=KINDS)


@router.get("/completeness", scope="read")
async def list_faults(
    search: Annotated[CompletenessSearch, Query()], request: Request, services: ServicesDep
) -> Response:
    """List the faults of all scans that can be compared with a scan of the same printing, surest first."""
    listed = await services.completeness.of_books(search.collection, search.after)
    more = search.query(after=listed.next) if listed.next else None
    return page(
        request, "completeness_list.html", search=search, listed=listed, more=more, faults=FAULTS, kinds=KINDS
    )
