"""Similar books: books with other texts and similar vectors. They are a hint and have no other effect.

All vectors are compared in the memory of this process. Each search first reads the vectors written since the
last search, and finally drops books that are not current. Every process can therefore search the whole
catalogue.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from app.stores.postgres.connections import Database
from app.stores.postgres.vectors import ShownBook, VectorQueries
from bookprint_core.errors import BookprintError
from bookprint_core.matching.verification import are_joined, evidence_of_each
from bookprint_core.vectors import LEAST_WORDS, EntryVectors, SimilarEntries, VectorMatrix


class NoVector(BookprintError):
    """A book has no vector, or no book has a vector."""

    status = 409
    title = "No vector"
    remedy = "Compute the vectors with: bookprint reindex --vectors."
    field = "id"
    tells_remedy = True


_SPARE = 10
"""Number of entries compared beyond k, as replacements for copies and deleted entries."""

HOW_TO_HAVE_VECTORS = (
    "Ask the operator to run the service with BOOKPRINT_COMPUTE=vectors and, for stored books: "
    "bookprint reindex --vectors"
)
"""Advice if no book has a vector."""


@dataclass(frozen=True, slots=True)
class SimilarBook:
    """A book that is similar to another book."""

    book_id: UUID
    title: str | None
    authors: tuple[str, ...]
    similarity: float  # estimated cosine, -1 to 1


class SimilarBooks(VectorQueries):
    """Finder of the books that are most similar to a book."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._matrix = VectorMatrix()
        self._since: int | None = None  # the transaction with which the next read begins; None: nothing read
        self._reading = asyncio.Lock()

    async def find(self, book_id: UUID, k: int, *, with_copies: bool) -> list[SimilarBook]:
        """Return the k books most similar to a book, most similar first; older books first among equals.

        Without copies, books are left out that signatures join to this book, or that are in its cluster of
        the same text. Each cluster of another text has only its most similar book. Raises
        `UnknownBook`, and `NoVector` for a book that cannot be compared.
        """
        this, rows = await asyncio.gather(self.read_book(book_id), self._current_rows())
        if this.vector is None:
            raise NoVector(await self._why_none(book_id, has_text=this.has_text))
        reach = k + _SPARE
        while True:
            entries = await asyncio.to_thread(rows.most_similar, this.vector, reach)
            found = await self._described(entries, this.book, with_copies=with_copies)
            if len(found) >= k or entries.entry_ids.size < reach:
                return found[:k]
            reach *= 10

    async def _current_rows(self) -> EntryVectors:
        """Return the vectors of all entries, including those of every ended transaction."""
        async with self._reading:
            written = await self.read_written(self._since)
            if written.is_all:
                self._matrix = VectorMatrix()
            self._matrix.add(written.vectors)
            self._since = written.since
            return self._matrix.rows()

    async def _described(
        self, entries: SimilarEntries, this: ShownBook, *, with_copies: bool
    ) -> list[SimilarBook]:
        """Return the entries that are current books, in the same order."""
        books = await self.read_books(entries.entry_ids.tolist())
        left = [entry_id for entry_id in entries.entry_ids.tolist() if entry_id not in books]
        self._matrix.remove(np.array(left, dtype=np.uint64))
        others = [book for book in books.values() if book.summary.book_id != this.summary.book_id]
        copies = set() if with_copies else _copies(this, others)
        shown = {book.summary.entry.entry_id: book for book in others if book.summary.book_id not in copies}
        pairs = zip(entries.entry_ids.tolist(), entries.similarities.tolist(), strict=True)
        found = [(shown[entry_id], cosine) for entry_id, cosine in pairs if entry_id in shown]
        if not with_copies:
            clusters: dict[UUID, tuple[ShownBook, float]] = {}
            for book, cosine in found:
                clusters.setdefault(book.founder_id, (book, cosine))
            found = list(clusters.values())
        return [
            SimilarBook(book.summary.book_id, book.summary.title, book.authors, cosine)
            for book, cosine in found
        ]

    async def _why_none(self, book_id: UUID, *, has_text: bool) -> str:
        reason = f"The book {book_id} has no vector, so similar books cannot be found."
        if not has_text:
            return f"{reason} Its text is not stored here. Send it as the content of the book."
        if await self.are_lacking():
            return f"{reason} No book here has a vector. {HOW_TO_HAVE_VECTORS}"
        return (
            f"{reason} Texts of under {LEAST_WORDS} words have none. For a longer text, ask the operator to "
            "run: bookprint reindex --vectors"
        )


def _copies(this: ShownBook, others: Sequence[ShownBook]) -> set[UUID]:
    """Return the books that are copies of a book, by signatures or by known relations."""
    evidence = evidence_of_each(this.summary.entry, [other.summary.entry for other in others])
    return {
        other.summary.book_id
        for other, each in zip(others, evidence, strict=True)
        if other.founder_id == this.founder_id or are_joined(each)
    }
