"""The evidence for a relation: of two books of the catalogue, to travel; of two files, to be shown."""

from uuid import UUID

from app.catalog.evidence import Evidence, NamedBook
from app.services.books import Books
from app.services.relations import Relations, effective_of


class EvidenceOfPairs:
    """Reads what travels of a relation."""

    def __init__(self, relations: Relations, books: Books) -> None:
        self._relations = relations
        self._books = books

    async def read(self, book_id: UUID, other_id: UUID) -> Evidence:
        """The matching pages of two books; raises `UnknownBook` and `NotCompared`."""
        related, matches = await self._relations.pair(book_id, other_id)
        this, other = [
            NamedBook(each, (await self._books.get(each)).metadata) for each in (book_id, other_id)
        ]
        summary = effective_of(related)
        assert summary is not None  # else they were not compared
        return Evidence(this, other, summary, matches)
