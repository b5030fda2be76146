"""Similar books: questions and documents."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import Field

from app.api.http.deps import BookId, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import Document, Parameters, Share, part
from bookprint_core.recipe import VECTORS


class SimilarQuery(Parameters):
    """How many similar books to answer, and which."""

    k: int = Field(default=10, ge=1, le=1_000, description="The number of books.")
    copies: bool = Field(
        default=False,
        description="true: with near-duplicates and known copies of the book, and all copies of the others; "
        "otherwise the former are left out, and one book stands for each cluster of copies.",
    )


class SimilarBookAnswer(Document):
    """A book that is like the one asked about."""

    id: UUID = part("book_id")
    title: str | None
    authors: list[str]
    similarity: Share = Field(
        description="Estimated cosine of their words' weights, -1 to 1; of most books below .2."
    )


class SimilarBooksAnswer(Document):
    """The books most like the one asked about, the most similar first."""

    recipe: str = Field(description="The recipe of the vectors; figures of another do not compare with them.")
    items: list[SimilarBookAnswer]


router = SubjectRouter("/v1", tag="similar books")


@router.get(
    "/books/{book_id}/similar", summary="Find books like a book", scope="read", is_lookup=True, also=(409,)
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
    books = await services.similar_books.find(book_id, query.k, with_copies=query.copies)
    return SimilarBooksAnswer.model_validate({"recipe": VECTORS, "items": books})
