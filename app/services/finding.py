"""Finding books as people ask for them: a title or any identifier in one field, and what else is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.catalog.reconciliation import BookDescription, identifiers_of, unmistakable_identifiers
from app.catalog.scoring import Candidate
from app.core.model import Book, Metadata
from app.core.signatures import identifier
from app.core.text.names import author_keys, folded_words
from app.services.books import BookFilter, Books
from app.services.lookups import Lookup, Verified
from app.services.reconciliation import Reconciliation

_MOST_ALIKE = 10


@dataclass(frozen=True, slots=True)
class BookQuestion:
    """The books to find; None of a field means any."""

    text: str | None = None  # words of the title, or an identifier of any kind
    author: str | None = None
    collection: str | None = None
    language: str | None = None
    year: int | None = None

    def to_filter(
        self, *, identifier: str | None = None, external_id: str | None = None, title: str | None = None
    ) -> BookFilter:
        """The filter with what the text may mean."""
        return BookFilter(
            identifier, external_id, title, self.author, self.language, self.year, None, self.collection
        )


@dataclass(frozen=True, slots=True)
class FoundBook:
    """A book in a list."""

    id: UUID
    metadata: Metadata
    page_count: int | None

    @classmethod
    def of(cls, found: Book | Candidate) -> "FoundBook":
        return cls(found.id, found.metadata, found.page_count)


@dataclass(frozen=True, slots=True)
class FoundBooks:
    """Some of the books found."""

    books: Sequence[FoundBook]
    more: bool = False  # others follow
    alike: Sequence[FoundBook] = ()  # where there are none: books that are named much the same


class BookFinder:
    """Finds books by what their records say, and by identifiers of their texts."""

    def __init__(self, books: Books, lookup: Lookup, reconciliation: Reconciliation) -> None:
        self._books = books
        self._lookup = lookup
        self._reconciliation = reconciliation

    async def find(self, question: BookQuestion, after: UUID | None, limit: int) -> FoundBooks:
        """Up to `limit` books behind the id `after`, oldest first; of a text's identifier, the nearest."""
        if question.text and identifier.is_identifier(question.text):
            return FoundBooks(await self._by_content(question.text, question.collection, limit))
        if question.author and not author_keys(question.author):
            return FoundBooks([])
        for wanted in _readings(question):
            books = await self._books.search(wanted, after, limit + 1)
            if books:
                return FoundBooks(list(map(FoundBook.of, books[:limit])), len(books) > limit)
        return FoundBooks([], alike=[] if after else await self._alike(question))

    async def _by_content(self, text: str, collection: str | None, limit: int) -> list[FoundBook]:
        query = identifier.decode(text)
        answer = await self._lookup.look_up_identifier(query, Verified(), None, limit, collection)
        ids = [match.book.book_id for match in answer.matches]
        facts = await self._reconciliation.facts(ids, with_relations=False)
        return [FoundBook.of(facts[each].book) for each in ids if each in facts]

    async def _alike(self, question: BookQuestion) -> list[FoundBook]:
        described = BookDescription(
            titles=(question.text,) if question.text else (),
            authors=(question.author,) if question.author else (),
            years=(question.year,) if question.year else (),
        )
        [candidates] = await self._reconciliation.candidates([described])
        return list(map(FoundBook.of, candidates[:_MOST_ALIKE])) if isinstance(candidates, list) else []


def _readings(question: BookQuestion) -> Iterator[BookFilter]:
    """What the text can mean, the surest first."""
    if not (text := question.text):
        yield question.to_filter()
        return
    for each in unmistakable_identifiers(text):
        yield question.to_filter(identifier=each)
        return
    yield question.to_filter(external_id=text)
    if folded_words(text):
        yield question.to_filter(title=text)
    for each in identifiers_of(text):
        yield question.to_filter(identifier=each)
