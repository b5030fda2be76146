"""Reading and describing books."""

from collections.abc import Mapping
from uuid import UUID

from app.core.model import Book, BookFilter
from app.stores.postgres.books import BookStore


class Books:
    """The catalogue as clients see it."""

    def __init__(self, catalogue: BookStore) -> None:
        self._catalogue = catalogue

    async def get(self, book_id: UUID) -> Book:
        """The book with this id; raises `UnknownBook`."""
        return await self._catalogue.get(book_id)

    async def change_metadata(
        self, book_id: UUID, changes: Mapping[str, object], if_version: int | None = None
    ) -> Book:
        """Set the named metadata fields of a book and leave the others."""
        return await self._catalogue.change_metadata(book_id, changes, if_version)

    async def search(self, wanted: BookFilter, after: UUID | None, limit: int) -> list[Book]:
        """Up to `limit` books behind the id `after`, in order of ids."""
        return await self._catalogue.search(wanted, after, limit)
