"""Lookups: finding the books near a book.

A lookup plans its reads, reads the band index, verifies the proposed books, drops books that are not current
in Postgres, and returns a page. Pending books are read from Postgres before the index, current books after
it. A book that changes its state in between is therefore read at least once.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np

from app.services.index.judging import judged
from app.services.index.questions import (
    Alike,
    AnswerPage,
    Match,
    Nearest,
    Position,
    Question,
    Verified,
    find,
    find_alike,
    matches_of,
    position_of,
)
from app.stores.postgres.books import BookFilter, BookStore
from app.stores.postgres.entries import EntryStore, QueryBook
from app.stores.redis.band_index import BandIndex
from bookprint_core.errors import RecipeNotIndexed
from bookprint_core.index.flat_index import FlatIndex
from bookprint_core.index.records import Hits
from bookprint_core.matching.search import (
    Plan,
    by_identifiers,
    evidence_of_same,
    within_reach,
)
from bookprint_core.model import BookSummary, Content, Entry, Fingerprint, Sketch
from bookprint_core.recipe import DEFAULT_FINGERPRINT, plain_name
from bookprint_core.relations.related import RelationSummary
from bookprint_core.signatures.identifier import Identifier, of_signatures
from bookprint_core.signatures.sketch import sketch

_SPARE = 50
"""Number of hits read beyond the k nearest, as replacements for stale hits and other collections."""

_MOST_SINGLE = 20_000
"""Maximum number of hits that are looked up in a collection one by one; else all its entries are read."""

_HOLDERS = 1_000
"""Maximum number of books with one ISBN that are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One page of the books found, nearest first."""

    exact: bool  # True: provably all books that the question asks for
    total: int  # number of books on all pages
    matches: list[Match]
    next: Position | None  # position of the last book of the page; None: last page
    recall: float | None = None  # for `Alike`: chance to find a book of the minimum similarity, 0 to 1
    relations: Mapping[UUID, RelationSummary] = field(default_factory=dict)
    """Effective relations of the stored query book with the books of the page, by their ids."""


class Lookup:
    """Service that finds the books near a book."""

    def __init__(self, entries: EntryStore, index: BandIndex, books: BookStore) -> None:
        self._entries = entries
        self._index = index
        self._books = books

    async def near_duplicates(
        self,
        book_id: UUID,
        question: Question,
        after: Position | None,
        limit: int,
        collection: str | None = None,
    ) -> Answer:
        """Return the books near a stored book, without the book itself.

        With a `collection`, returns only books of that collection; `exact` has the same meaning.
        """
        book = await self._entries.read_query_book(
            book_id,
            with_sample=isinstance(question, Verified),
            collection=collection if isinstance(question, Nearest) else None,
        )
        page = AnswerPage(after, limit, collection, isinstance(question, Alike), book_id)
        return await self._answer(book, question, page)

    async def look_up(
        self,
        query: Entry,
        question: Question,
        after: Position | None,
        limit: int,
        collection: str | None = None,
    ) -> Answer:
        """Return the books near these signatures, without the entry that has the id of the query.

        Raises `RecipeNotIndexed` for a fingerprint of a recipe that is not indexed.
        """
        _require_indexed(query.fingerprint)
        within = collection if isinstance(question, Nearest) else None
        book = await self._entries.read_pending(query, within)
        page = AnswerPage(after, limit, collection, isinstance(question, Alike))
        return await self._answer(book, question, page)

    async def look_up_identifier(
        self,
        query: Identifier,
        question: Question,
        after: Position | None,
        limit: int,
        collection: str | None = None,
    ) -> Answer:
        """Return the books near an identifier; for a verified lookup, the books with the same text.

        `bookprint compare` gives the same verdict on two identifiers. The rule needs the lengths and the
        MinHash bits of both books. Therefore every book within its reach, and every book with the ISBN, is
        read from Postgres and compared. Raises `RecipeNotIndexed` as `look_up` does.
        """
        entry = Entry(0, query.fingerprint, None)
        if not isinstance(question, Verified):
            return await self.look_up(entry, question, after, limit, collection)
        _require_indexed(query.fingerprint)
        pending = (await self._entries.read_pending(entry)).pending
        flat = (await self._index.read(Plan())).flat
        holders = await self._read_holders(query, collection)
        wanted = holders.union(within_reach(query, flat, identified=False))
        found = await self._same(query, wanted, pending, holders, collection)
        hits = _merged(Hits.none(), found.values())
        page = AnswerPage(after, limit)
        matches = [found[entry_id] for entry_id in page.cut_out(hits).entry_ids.tolist()]
        return _answer(hits, matches, page)

    async def related_by_identifiers(
        self, query: Entry, flat: FlatIndex, pending: Sequence[BookSummary]
    ) -> dict[int, Match]:
        """Return the books with the query's text by identifiers, if query or book is only an identifier."""
        alone = query.identified is None
        waiting = [book for book in pending if by_identifiers(query, book.entry)]
        if alone and not waiting and not flat.has_identified:
            return {}
        identifier = of_signatures(query, query.word_count) if query.word_count else None
        if identifier is None:
            return {}
        found = within_reach(identifier, flat, identified=alone)
        return await self._same(identifier, set(found) - {query.entry_id}, waiting)

    async def _answer(self, book: QueryBook, question: Question, page: AnswerPage) -> Answer:
        """Read the index for a question, add pending books and books known by identifier; return the page.

        For `Nearest`, more hits are read while too few of them are current and in the collection.
        """
        query, spare = book.entry, _SPARE
        while True:
            if isinstance(question, Alike):
                found = await find_alike(self._index, self._entries, query, question)
            else:
                found = await find(self._index, query, question, spare, book.members)
            pending = [each for each in book.pending if each.entry.entry_id != query.entry_id]
            others = matches_of(query, pending)
            others = {entry: match for entry, match in others.items() if found.accepts(match)}
            if found.flat is not None:
                others = {
                    entry: match
                    for entry, match in others.items()
                    if not by_identifiers(query, match.book.entry)
                }
                others |= await self.related_by_identifiers(query, found.flat, book.pending)
            hits = _merged(found.hits.but(query.entry_id), others.values(), alike=page.alike)
            if book.members is not None:
                hits = hits.only(book.members)
            most = question.k if isinstance(question, Nearest) else None
            within = page.collection if book.members is None else None
            answer = await self._current(
                query, hits, others, replace(page, most=most, collection=within), question
            )
            if most is None or answer.total == most or found.hits.size < most + spare:
                return replace(answer, exact=found.exact, recall=found.recall)
            spare *= 10

    async def _current(
        self, query: Entry, hits: Hits, others: dict[int, Match], page: AnswerPage, question: Question
    ) -> Answer:
        """Return the page of the hits that are current and in the page's collection."""
        if not hits.size:
            return Answer(exact=True, total=0, matches=[], next=None)
        if page.collection is not None and hits.size > _MOST_SINGLE:
            hits = hits.only(await self._entries.read_members(page.collection))
            page = replace(page, collection=None)
        found = await judged(self._entries, query, hits, others, page, question)
        return replace(_answer(found.hits, found.matches, page), relations=found.relations)

    async def _same(
        self,
        query: Identifier,
        entry_ids: Set[int],
        pending: Sequence[BookSummary],
        holders: Set[int] = frozenset(),
        collection: str | None = None,
    ) -> dict[int, Match]:
        """Return the entries and pending books with the text of an identifier; `holders` have its ISBN."""
        books = {book.entry.entry_id: book for book in pending}
        wanted = entry_ids if collection is None else entry_ids | books.keys()
        if wanted:
            asked, none = np.array(list(wanted), dtype=np.uint64), Hits.none().entry_ids
            read = await self._entries.read_hits(asked, none, collection=collection)
            books = {} if collection is not None else books
            books |= {book.entry.entry_id: book for book in read.summaries}
        return await asyncio.to_thread(_same, query, list(books.values()), holders) if books else {}

    async def _read_holders(self, query: Identifier, collection: str | None) -> set[int]:
        """Return the entries of the books with the identifier's ISBN."""
        if query.isbn is None:
            return set()
        wanted = BookFilter(identifier=f"isbn:{query.isbn}", collection=collection)
        return {book.entry_id for book in await self._books.list_books(wanted, None, _HOLDERS)}


def _require_indexed(fingerprint: Fingerprint | None) -> None:
    """Raise `RecipeNotIndexed` for a fingerprint of a recipe that is not indexed."""
    if fingerprint is not None and plain_name(fingerprint.recipe) != DEFAULT_FINGERPRINT:
        raise RecipeNotIndexed(plain_name(fingerprint.recipe), DEFAULT_FINGERPRINT)


def _answer(hits: Hits, matches: list[Match], page: AnswerPage) -> Answer:
    """Return the answer with these matches, which are the hits on the page."""
    more = matches and not page.is_last(hits)
    after = position_of(matches[-1], alike=page.alike) if more else None
    return Answer(False, hits.part(0, page.most).size, matches, after)


def _same(query: Identifier, books: Sequence[BookSummary], holders: Set[int]) -> dict[int, Match]:
    """Return the books with the text of the identifier, by entry; `holders` have the ISBN."""
    found = {}
    for book in books:
        isbn = query.isbn if book.entry.entry_id in holders else None
        evidence = evidence_of_same(query, of_signatures(book.entry, book.word_count, isbn))
        if evidence is not None:
            found[book.entry.entry_id] = Match(book, evidence)
    return found


def _merged(hits: Hits, matches: Collection[Match], *, alike: bool = False) -> Hits:
    """Return the hits and these matches, each entry once, nearest first."""
    if not matches:
        return hits
    positions = [position_of(match, alike=alike) for match in matches]
    entry_ids = np.array([position.entry_id for position in positions], dtype=np.uint64)
    return hits.joined(Hits(entry_ids, np.array([each.distance for each in positions], dtype=np.uint8)))


def query_entry(
    content: Content | None, signatures: Sketch | None = None, fingerprint: Fingerprint | None = None
) -> Entry:
    """Return the entry to look up, from the first given argument."""
    if content is not None:
        signatures = sketch(content)
    return signatures.to_entry(0) if signatures is not None else Entry(0, fingerprint, None)
