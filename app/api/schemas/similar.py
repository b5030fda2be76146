"""Similar books and the map of books: questions and documents."""

from collections.abc import Sequence
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.api.schemas import examples
from app.api.schemas.base import Document, PageQuery, shown
from app.core.recipe import VECTORS
from app.services.similar.book_map import MapPlace
from app.services.similar.similar_books import SimilarBook

_DIGITS = 4
"""Decimals of similarities and places: a vector tells a cosine to a few hundredths."""

Rounded = Annotated[float, AfterValidator(lambda value: round(value, _DIGITS))]
Recipe = Annotated[
    str, Field(description="The recipe of the vectors; figures of another do not compare with them.")
]


class SimilarQuery(BaseModel):
    """How many similar books to answer, and which."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: int = Field(default=10, ge=1, le=1_000, description="The number of books.")
    copies: bool = Field(
        default=False,
        description="true: with near-duplicates and known copies of the book, and all copies of the others; "
        "otherwise the former are left out, and one book stands for each cluster of copies.",
    )


class SimilarBookAnswer(Document):
    """A book that is like the one asked about."""

    model_config = shown(examples.SIMILAR_BOOK)

    id: UUID
    title: str | None
    authors: list[str]
    similarity: Rounded = Field(
        description="Estimated cosine of their words' weights, -1 to 1; of most books below .2."
    )


class SimilarBooksAnswer(Document):
    """The books most like the one asked about, the most similar first."""

    model_config = shown(examples.SIMILAR_BOOKS)

    recipe: Recipe
    items: list[SimilarBookAnswer]

    @classmethod
    def of(cls, books: Sequence[SimilarBook]) -> Self:
        """The document of an answer."""
        items = [
            SimilarBookAnswer(
                id=book.book_id,
                title=book.title,
                authors=list(book.authors),
                similarity=book.similarity,
            )
            for book in books
        ]
        return cls(recipe=VECTORS, items=items)


class MapQuery(PageQuery):
    """The books whose places to list."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="Ids of books, each as a parameter of its own; all books if left out. Books without a "
        "place are passed over.",
    )


class MapPlaceAnswer(Document):
    """A book and its place. Like books lie near each other; what the axes mean nobody has said."""

    model_config = shown(examples.MAP_PLACE)

    id: UUID
    title: str | None
    authors: list[str]
    language: str | None
    x: Rounded = Field(description="-2 to 2.")
    y: Rounded = Field(description="-2 to 2.")


class MapAnswer(Document):
    """One page of the map, oldest books first."""

    model_config = shown(examples.MAP)

    recipe: Recipe
    items: list[MapPlaceAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")

    @classmethod
    def of(cls, places: Sequence[MapPlace], next_cursor: str | None) -> Self:
        """The document of a page."""
        items = [
            MapPlaceAnswer(
                id=place.book_id,
                title=place.title,
                authors=list(place.authors),
                language=place.language,
                x=place.x,
                y=place.y,
            )
            for place in places
        ]
        return cls(recipe=VECTORS, items=items, next_cursor=next_cursor)
