"""The map of books: two numbers for each vector, by which like books lie near each other."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from app.core.errors import NoVector
from app.core.vectors.map_places import map_places
from app.services.signing import read_vector_weights
from app.services.similar.similar_books import HOW_TO_HAVE_VECTORS
from app.stores.postgres.vectors.vector_queries import MappedBook, VectorQueries


@dataclass(frozen=True, slots=True)
class MapPlace:
    """A book and its place on the map, which no other book moves."""

    book_id: UUID
    title: str | None
    authors: tuple[str, ...]
    language: str | None
    x: float  # -2 to 2
    y: float


class BookMap:
    """The places of books on the map, as far as they have vectors."""

    def __init__(self, vectors: VectorQueries) -> None:
        self._vectors = vectors

    async def list_places(self, ids: Sequence[UUID] | None, after: UUID | None, limit: int) -> list[MapPlace]:
        """Up to `limit` books behind `after`, oldest first; of these ids, or of all.

        Raises `NoVector` where there are books, and none has a vector.
        """
        books = await self._vectors.list_mapped(ids, after, limit)
        if not books:
            if after is None and await self._vectors.are_lacking():
                raise NoVector(f"No book here has a vector, so none has a place. {HOW_TO_HAVE_VECTORS}")
            return []
        return await asyncio.to_thread(_places, books)


def _places(books: Sequence[MappedBook]) -> list[MapPlace]:
    places = map_places(np.stack([book.vector for book in books]), read_vector_weights())
    return [
        MapPlace(book.book_id, book.title, book.authors, book.language, x, y)
        for book, (x, y) in zip(books, places.tolist(), strict=True)
    ]
