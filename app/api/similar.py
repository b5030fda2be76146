"""Similar books: the query, and the documents."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import Field

from app.api.http.deps import BookId, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Document, Parameters, Share, part
from bookprint_core.recipe import VECTORS


class SimilarQuery(Parameters):
    """The similar books to return."""

    k: int = Field(default=10, ge=1, le=1_000, description="Number of books.")
    copies: bool = Field(
        default=False,
        description="true: includes near-duplicates and copies of the book, and all copies of similar books. "
        "false: leaves out near-duplicates and copies, and returns one book per cluster of copies.",
    )


class SimilarBookAnswer(Document):
    """A book similar to the book in the path."""

    id: UUID = part("book_id")
    title: str | None
    authors: list[str]
    similarity: Share = Field(
        description="Estimated cosine of the books' word weights, -1 to 1; below 0.2 for most pairs."
    )


class SimilarBooksAnswer(Document):
    """The most similar books, by descending similarity."""

    recipe: str = Field(
        description="Recipe of the vectors; similarities of other recipes are not comparable."
    )
    items: list[SimilarBookAnswer]


router = SubjectRouter("/v1", tag="similar books")


@router.get(
    "/books/{book_id}/similar", summary="Find similar books", scope="read", is_lookup=True, also=(409,)
)
async def similar_books(
    book_id: BookId, query: Annotated[SimilarQuery, Query()], services: ServicesDep
) -> SimilarBooksAnswer:
    """Returns the books with other texts whose vectors are most similar to the vector of this book.

    All books with a vector are compared; the most similar copy represents all copies of a text. Books of the
    same series or subject come first; translations are not found. The result is a hint, and does not affect
    relations and clusters. A book without a vector answers 409.
    """
    books = await services.similar_books.find(book_id, query.k, with_copies=query.copies)
    return SimilarBooksAnswer.model_validate({"recipe": VECTORS, "items": books})
