"""Finding the books that a person or the row of a table describes: by names, identifiers and content.

One statement reads the candidates of a hundred queries, and a thread scores them. Larger batches are not
faster and would delay lookups of the same process.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.catalog.reconciliation import (
    MOST_CANDIDATES,
    BookDescription,
    NamedContent,
    book_id_of,
    identifiers_of,
    key_conditions,
    unmistakable_identifiers,
)
from app.catalog.scoring import Candidate, ContentEvidence, ranked, scored
from app.services.books import BookFilter, Books
from app.services.index.questions import Verified
from app.services.lookups import Answer, Lookup, query_entry
from app.services.pairs.relations import Related, list_related
from app.stores.postgres.connections import Database
from app.stores.postgres.names import CandidateSearch, DescribedBook, NameQueries
from app.stores.postgres.pairs.relation_queries import RelationQueries
from bookprint_core.errors import BookprintError, Unavailable
from bookprint_core.matching.verification import Evidence
from bookprint_core.model import Book
from bookprint_core.signatures import identifier
from bookprint_core.signatures.identifier import Identifier
from bookprint_core.text.names import author_keys, folded, folded_words

_AT_ONCE = 100
"""Number of queries that share a statement."""

_STATEMENTS_AT_ONCE = 2
"""Maximum number of statements at a time in this process, because lookups also need connections."""

_LOOKUPS_AT_ONCE = 8
_BY_CONTENT = 40
"""Maximum number of books in the answer of one lookup by content."""

_COUNTS_SECONDS = 300.0
_MOST_ALIKE = 10

_ITSELF = ContentEvidence(Evidence(0, 128, 1.0, 1.0, 1.0))

ByContent = Mapping[UUID, ContentEvidence]
_Searched = tuple[int, BookDescription, ByContent]
"""The index of a description in its batch, the description, and the books with its content."""


class Reconciliation(NameQueries):
    """Finder of the candidates that fit descriptions of books."""

    def __init__(self, database: Database, lookup: Lookup, related: RelationQueries) -> None:
        super().__init__(database)
        self._lookup = lookup
        self._related = related
        self._counts: Mapping[int, float] = {}
        self._counts_until = 0.0
        self._statements = asyncio.Semaphore(_STATEMENTS_AT_ONCE)

    async def candidates(
        self, descriptions: Sequence[BookDescription]
    ) -> list[list[Candidate] | BookprintError]:
        """Return at most 100 candidates of each description by falling score, or the error of its lookup.

        Raises `Unavailable` if the whole batch has to be sent again.
        """
        counts = await self._recent_counts()
        answers: list[list[Candidate] | BookprintError] = []
        searched: list[_Searched] = []
        for place, content in enumerate(await self._by_content(descriptions)):
            if isinstance(content, BookprintError):
                answers.append(content)
            else:
                answers.append([])
                searched.append((place, descriptions[place], content))
        for start in range(0, len(searched), _AT_ONCE):
            some = searched[start : start + _AT_ONCE]
            searches = await asyncio.to_thread(_searches, some, counts)
            async with self._statements:
                books = await self.list_candidates(searches)
            for place, candidates in await asyncio.to_thread(_ranked, some, books):
                answers[place] = candidates
        return answers

    async def suggest(self, start: str, skip: int, limit: int) -> Sequence[Book | DescribedBook]:
        """Return the books whose titles begin with `start`, or the books with this id or identifier."""
        if (book_id := book_id_of(start.strip())) is not None:
            books = {} if skip else await self.read_books([book_id])
            return list(books.values())
        if identifiers := identifiers_of(start.strip()):
            [found] = await self.list_candidates([CandidateSearch(identifiers=identifiers)])
            if found:
                return sorted(found, key=lambda book: book.id)[skip : skip + limit]
        words = folded(start)
        return await self.list_by_start(words, skip, limit) if words else []

    async def related(self, book_id: UUID) -> list[Related]:
        """Return the related books, highest confidence first."""
        related = await list_related(self._related, book_id)
        return sorted(related, key=lambda pair: (-pair[1].confidence, pair[0].book_id))

    async def _recent_counts(self) -> Mapping[int, float]:
        if time.monotonic() >= self._counts_until:
            self._counts = await self.read_counts()
            self._counts_until = time.monotonic() + _COUNTS_SECONDS
        return self._counts

    async def _by_content(self, descriptions: Sequence[BookDescription]) -> list[ByContent | BookprintError]:
        """Return the books that have the content of each description."""
        if not any(description.contents for description in descriptions):
            return [{} for _ in descriptions]
        places = asyncio.Semaphore(_LOOKUPS_AT_ONCE)

        async def look_up(description: BookDescription) -> ByContent | BookprintError:
            found: dict[UUID, ContentEvidence] = {}
            try:
                for content in description.contents:
                    async with places:
                        found = dict(await self._look_up(content)) | found
            except Unavailable:
                raise
            except BookprintError as error:
                return error
            return found

        return await asyncio.gather(*map(look_up, descriptions))

    async def _look_up(self, content: NamedContent) -> ByContent:
        if isinstance(content, UUID):
            answer = await self._lookup.near_duplicates(content, Verified(), None, _BY_CONTENT)
            return {content: _ITSELF, **_evidence(answer)}
        if isinstance(content, Identifier):
            return _evidence(await self._lookup.look_up_identifier(content, Verified(), None, _BY_CONTENT))
        entry = await asyncio.to_thread(query_entry, content, None, None)
        return _evidence(await self._lookup.look_up(entry, Verified(), None, _BY_CONTENT))


def _evidence(answer: Answer) -> ByContent:
    confidences = {book_id: summary.confidence for book_id, summary in answer.relations.items()}
    return {
        match.book.book_id: ContentEvidence(match.evidence, confidences.get(match.book.book_id))
        for match in answer.matches
    }


def _searches(searched: Sequence[_Searched], counts: Mapping[int, float]) -> list[CandidateSearch]:
    return [
        CandidateSearch(key_conditions(wanted, counts), wanted.identifiers, [*wanted.ids, *content])
        for _, wanted, content in searched
    ]


def _ranked(
    searched: Sequence[_Searched], found: Sequence[Sequence[DescribedBook]]
) -> list[tuple[int, list[Candidate]]]:
    return [
        (
            place,
            ranked(
                [
                    scored(wanted, book.id, book.metadata, book.page_count, content.get(book.id))
                    for book in books
                ]
            )[:MOST_CANDIDATES],
        )
        for (place, wanted, content), books in zip(searched, found, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class FoundBooks:
    """A page of the books found."""

    books: Sequence[Book]
    more: bool = False  # more books follow
    alike: Sequence[Candidate] = ()  # if no book is found: books with similar names


class BookFinder:
    """Finder of books by their metadata and by identifiers of their texts."""

    def __init__(self, books: Books, lookup: Lookup, reconciliation: Reconciliation) -> None:
        self._books = books
        self._lookup = lookup
        self._reconciliation = reconciliation

    async def find(self, text: str | None, wanted: BookFilter, after: UUID | None, limit: int) -> FoundBooks:
        """Return at most `limit` books after the id `after`, oldest first, that fit the filter and the text.

        The text contains words of the title, or an identifier of any kind. For the identifier of a text, the
        nearest books are returned.
        """
        if text and identifier.is_identifier(text):
            return FoundBooks(await self._by_content(text, wanted.collection, limit))
        if wanted.author and not author_keys(wanted.author):
            return FoundBooks([])
        for reading in _readings(text, wanted):
            books = await self._books.search(reading, after, limit + 1)
            if books:
                return FoundBooks(books[:limit], len(books) > limit)
        return FoundBooks([], alike=[] if after else await self._alike(text, wanted))

    async def _by_content(self, text: str, collection: str | None, limit: int) -> list[Book]:
        query = identifier.decode(text)
        answer = await self._lookup.look_up_identifier(query, Verified(), None, limit, collection)
        ids = [match.book.book_id for match in answer.matches]
        books = await self._reconciliation.read_books(ids)
        return [books[each] for each in ids if each in books]

    async def _alike(self, text: str | None, wanted: BookFilter) -> list[Candidate]:
        described = BookDescription(
            titles=(text,) if text else (),
            authors=(wanted.author,) if wanted.author else (),
            years=(wanted.year,) if wanted.year else (),
        )
        [candidates] = await self._reconciliation.candidates([described])
        return candidates[:_MOST_ALIKE] if isinstance(candidates, list) else []


def _readings(text: str | None, wanted: BookFilter) -> Iterator[BookFilter]:
    """Yield the filter with each meaning of the text, surest first."""
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
