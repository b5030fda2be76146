"""Books that are like a book, and the map of all books."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.http.access import LOOKUP, ScopedRoute, needs
from app.api.http.cursors import Cursors
from app.api.http.deps import BookId, ServicesDep
from app.api.http.openapi import problems
from app.api.schemas.similar import MapAnswer, MapQuery, SimilarBooksAnswer, SimilarQuery

router = APIRouter(prefix="/v1", tags=["similar books"], route_class=ScopedRoute)


@router.get(
    "/books/{book_id}/similar",
    summary="Find books like a book",
    responses=problems(404, 409, 422, 503),
    openapi_extra=needs("read") | LOOKUP,
)
async def similar_books(
    book_id: BookId, query: Annotated[SimilarQuery, Query()], services: ServicesDep
) -> SimilarBooksAnswer:
    """Answers the books with other texts whose vectors are most like that of this one.

    All books with a vector are compared; of known copies of one other text the most similar stands for all.
    Books of one series or subject come first; a translation is no such
    book. It is a hint: relations and clusters know nothing of it. A book without a vector is answered with
    409.
    """
    return SimilarBooksAnswer.of(
        await services.similar_books.find(book_id, query.k, with_copies=query.copies)
    )


@router.get(
    "/map", summary="List books on a map", responses=problems(409, 422, 503), openapi_extra=needs("read")
)
async def read_map(query: Annotated[MapQuery, Query()], services: ServicesDep) -> MapAnswer:
    """Lists the places of books in a plane, by which like books lie near each other, oldest books first.

    A place follows from the text of the book alone, so no other book moves it. Books without a vector have no
    place; where no book has one the answer is 409.
    """
    cursors = Cursors("map", *sorted(query.ids or ()))
    after = cursors.book(query.cursor)
    places = await services.book_map.list_places(query.ids, after, query.limit + 1)
    page = places[: query.limit]
    next_cursor = cursors.at_book(page[-1].book_id) if len(places) > query.limit else None
    return MapAnswer.of(page, next_cursor)
