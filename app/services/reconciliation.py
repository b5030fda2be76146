"""Finding the books that the rows of a table mean, by names, identifiers and content.

A hundred queries ask Postgres once for their candidates, which are then scored in a thread. More at a time
would keep lookups of the same process waiting, and gain nothing.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from uuid import UUID

from app.catalog.reconciliation import (
    MOST_CANDIDATES,
    BookDescription,
    BookFacts,
    NamedContent,
    RelatedTo,
    book_id_of,
    identifiers_of,
    key_conditions,
)
from app.catalog.scoring import Candidate, ContentEvidence, ranked, scored
from app.core.errors import BookprintError, Unavailable
from app.core.matching.verification import Evidence
from app.core.relations.classification import RELATED
from app.core.text.names import folded
from app.services.lookups import Answer, Lookup, Verified, query_entry
from app.services.pairs.relations import effective_of
from app.stores.postgres.names import CandidateSearch, DescribedBook, NameQueries
from app.stores.postgres.pairs.relation_queries import RelationQueries

_AT_ONCE = 100
"""Queries that share a statement."""

_STATEMENTS_AT_ONCE = 2
"""Of all batches of this process: lookups need connections, too."""

_LOOKUPS_AT_ONCE = 8
_BY_CONTENT = 40
"""Books of one lookup by content."""

_COUNTS_SECONDS = 300.0

_ITSELF = ContentEvidence(Evidence(0, 128, 1.0, 1.0, 1.0))

ByContent = Mapping[UUID, ContentEvidence]


class Reconciliation:
    """Descriptions of books, and the candidates that fit them."""

    def __init__(
        self,
        names: NameQueries,
        lookup: Lookup,
        related: RelationQueries,
    ) -> None:
        self._names = names
        self._lookup = lookup
        self._related = related
        self._counts: Mapping[int, float] = {}
        self._counts_until = 0.0
        self._statements = asyncio.Semaphore(_STATEMENTS_AT_ONCE)

    async def candidates(
        self, descriptions: Sequence[BookDescription]
    ) -> list[list[Candidate] | BookprintError]:
        """The candidates of each description by falling score, 100 at most, or why it cannot be looked for.

        Raises `Unavailable` where the whole batch has to be asked again.
        """
        counts = await self._read_counts()
        contents = await self._by_content(descriptions)
        answers: list[list[Candidate] | BookprintError] = []
        for start in range(0, len(descriptions), _AT_ONCE):
            some, found = descriptions[start : start + _AT_ONCE], contents[start : start + _AT_ONCE]
            searches = await asyncio.to_thread(_searches, some, found, counts)
            async with self._statements:
                books = await self._names.list_candidates(searches)
            answers += await asyncio.to_thread(_ranked_each, some, books, found)
        return answers

    async def suggest(self, start: str, skip: int, limit: int) -> list[DescribedBook]:
        """Books whose titles start so, or the one with this id or identifier."""
        if (book_id := book_id_of(start.strip())) is not None:
            return [] if skip else await self._names.list_by_id([book_id])
        if identifiers := identifiers_of(start.strip()):
            [found] = await self._names.list_candidates([CandidateSearch(identifiers=identifiers)])
            if found:
                return sorted(found, key=lambda book: book.id)[skip : skip + limit]
        words = folded(start)
        return await self._names.list_by_start(words, skip, limit) if words else []

    async def facts(self, ids: Sequence[UUID], *, with_relations: bool) -> dict[UUID, BookFacts]:
        """What is known of those of the books that there are."""
        books = await self._names.read_books(ids)
        facts = {}
        for book_id, book in books.items():
            relations = await self._list_relations(book_id) if with_relations else []
            facts[book_id] = BookFacts(book, relations)
        return facts

    async def _list_relations(self, book_id: UUID) -> list[RelatedTo]:
        related = [(book, effective_of(book)) for book in await self._related.list_direct(book_id)]
        kept = [
            RelatedTo(book.book_id, book.title, summary)
            for book, summary in related
            if summary is not None and summary.kind in RELATED
        ]
        return sorted(kept, key=lambda relation: (-relation.summary.confidence, relation.book_id))

    async def _read_counts(self) -> Mapping[int, float]:
        if time.monotonic() >= self._counts_until:
            self._counts = await self._names.read_counts()
            self._counts_until = time.monotonic() + _COUNTS_SECONDS
        return self._counts

    async def _by_content(self, descriptions: Sequence[BookDescription]) -> list[ByContent | BookprintError]:
        """The books that have the content of each description."""
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
        if (book_id := content.book_id) is not None:
            answer = await self._lookup.near_duplicates(book_id, Verified(), None, _BY_CONTENT)
            return {book_id: _ITSELF, **_evidence(answer)}
        if (identifier := content.identifier) is not None:
            answer = await self._lookup.look_up_identifier(identifier, Verified(), None, _BY_CONTENT)
        else:
            entry = await asyncio.to_thread(query_entry, content.text, None, None)
            answer = await self._lookup.look_up(entry, Verified(), None, _BY_CONTENT)
        return _evidence(answer)


def _evidence(answer: Answer) -> ByContent:
    confidences = {book_id: summary.confidence for book_id, summary in answer.relations.items()}
    return {
        match.book.book_id: ContentEvidence(match.evidence, confidences.get(match.book.book_id))
        for match in answer.matches
    }


def _searches(
    descriptions: Sequence[BookDescription],
    contents: Sequence[ByContent | BookprintError],
    counts: Mapping[int, float],
) -> list[CandidateSearch]:
    return [
        CandidateSearch()
        if isinstance(found, BookprintError)
        else CandidateSearch(
            key_conditions(description, counts), description.identifiers, [*description.ids, *found]
        )
        for description, found in zip(descriptions, contents, strict=True)
    ]


def _ranked_each(
    descriptions: Sequence[BookDescription],
    found: Sequence[Sequence[DescribedBook]],
    contents: Sequence[ByContent | BookprintError],
) -> list[list[Candidate] | BookprintError]:
    answers: list[list[Candidate] | BookprintError] = []
    for description, books, content in zip(descriptions, found, contents, strict=True):
        if isinstance(content, BookprintError):
            answers.append(content)
            continue
        candidates = [
            scored(description, book.id, book.metadata, book.page_count, content.get(book.id))
            for book in books
        ]
        answers.append(ranked(candidates)[:MOST_CANDIDATES])
    return answers
