"""Reading and describing books."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from app.catalog.identifiers import all_normalised, normalised
from app.core.model import Book
from app.stores.postgres.audit import Actor
from app.stores.postgres.books import BookFilter as BookFilter, BookStore
from app.stores.postgres.entries import EntryStore


class Books:
    """The catalogue as clients see it."""

    def __init__(self, books: BookStore, entries: EntryStore) -> None:
        self._books = books
        self._entries = entries

    async def get(self, book_id: UUID) -> Book:
        """The book with this id; raises `UnknownBook`."""
        return await self._books.read(book_id)

    async def change_metadata(
        self, book_id: UUID, changes: Mapping[str, object], if_version: int | None = None, *, actor: Actor
    ) -> Book:
        """Set the named metadata fields of a book and leave the others."""
        if isinstance(identifiers := changes.get("identifiers"), list):
            changes = {**changes, "identifiers": list(all_normalised(identifiers))}
        return await self._books.update_metadata(book_id, changes, if_version, actor=actor)

    async def search(self, wanted: BookFilter, after: UUID | None, limit: int) -> list[Book]:
        """Up to `limit` books behind the id `after`, in order of ids."""
        if wanted.identifier is not None:
            wanted = replace(wanted, identifier=normalised(wanted.identifier))
        return await self._books.list_books(wanted, after, limit)

    async def count_roughly(self) -> int:
        """The number of books, above 100,000 an estimate."""
        return await self._entries.count_roughly()

    async def count_pending(self) -> int:
        """The number of books that the band index does not hold yet."""
        return await self._entries.count_pending()
