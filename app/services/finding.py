"""Finding books as people ask for them: a title or any identifier in one field, and what else is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.catalog.reconciliation import BookDescription, identifiers_of, unmistakable_identifiers
from app.catalog.scoring import Candidate
from app.services.books import BookFilter, Books
from app.services.lookups import Lookup, Verified
from app.services.reconciliation import Reconciliation
from app.stores.postgres.names import DescribedBook
from bookprint_core.model import Book
from bookprint_core.signatures import identifier
from bookprint_core.text.names import author_keys, folded_words

_MOST_ALIKE = 10


@dataclass(frozen=True, slots=True)
class FoundBooks:
    """Some of the books found."""

    books: Sequence[DescribedBook]
    more: bool = False  # others follow
    alike: Sequence[DescribedBook] = ()  # where there are none: books that are named much the same


class BookFinder:
    """Finds books by what their records say, and by identifiers of their texts."""

    def __init__(self, books: Books, lookup: Lookup, reconciliation: Reconciliation) -> None:
        self._books = books
        self._lookup = lookup
        self._reconciliation = reconciliation

    async def find(self, text: str | None, wanted: BookFilter, after: UUID | None, limit: int) -> FoundBooks:
        """Returns `limit` books behind the id `after`, oldest first, that the filter and the text admit.

        The text contains words of the title, or an identifier of any kind. An identifier of a text finds the
        nearest books.
        """
        if text and identifier.is_identifier(text):
            return FoundBooks(await self._by_content(text, wanted.collection, limit))
        if wanted.author and not author_keys(wanted.author):
            return FoundBooks([])
        for reading in _readings(text, wanted):
            books = await self._books.search(reading, after, limit + 1)
            if books:
                return FoundBooks(list(map(_found, books[:limit])), len(books) > limit)
        return FoundBooks([], alike=[] if after else await self._alike(text, wanted))

    async def _by_content(self, text: str, collection: str | None, limit: int) -> list[DescribedBook]:
        query = identifier.decode(text)
        answer = await self._lookup.look_up_identifier(query, Verified(), None, limit, collection)
        ids = [match.book.book_id for match in answer.matches]
        books = await self._reconciliation.read_books(ids)
        return [_found(books[each]) for each in ids if each in books]

    async def _alike(self, text: str | None, wanted: BookFilter) -> list[DescribedBook]:
        described = BookDescription(
            titles=(text,) if text else (),
            authors=(wanted.author,) if wanted.author else (),
            years=(wanted.year,) if wanted.year else (),
        )
        [candidates] = await self._reconciliation.candidates([described])
        return list(map(_found, candidates[:_MOST_ALIKE])) if isinstance(candidates, list) else []


def _found(book: Book | Candidate) -> DescribedBook:
    return DescribedBook(book.id, book.metadata, book.page_count)


def _readings(text: str | None, wanted: BookFilter) -> Iterator[BookFilter]:
    """Returns the filter with each meaning of the text, the surest first."""
    if not text:
        yield wanted
    elif known := unmistakable_identifiers(text):
        yield replace(wanted, identifier=known[0])
    else:
        yield replace(wanted, external_id=text)
        if folded_words(text):
            yield replace(wanted, title=text)
        for each in identifiers_of(text):
            yield replace(wanted, identifier=each)
