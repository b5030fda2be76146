"""Finding the books near a book.

A lookup plans what to read, reads the band index, verifies what it proposes, keeps what Postgres calls
current, and cuts out a page. Pending books are compared straight from Postgres. They are read before the
index, and the current ones after it. So a book that changes its state in between is met at least once.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.errors import IndexRebuilding, RecipeNotIndexed, Unavailable
from app.core.index.flat_index import FlatIndex
from app.core.index.records import Hits
from app.core.matching.search import (
    LAST_DISTANCE,
    Plan,
    by_identifiers,
    evidence_of_same,
    near,
    near_duplicates,
    plan_candidates,
    plan_range,
    proposed,
    within_reach,
)
from app.core.matching.verification import Evidence, evidence_of_each, is_near_duplicate
from app.core.model import BookSummary, Content, Entry, Fingerprint, Sketch, require_same_recipe
from app.core.recipe import Suite, plain_name
from app.core.relations.related import RelationSummary
from app.core.signatures.identifier import Identifier, of_signatures
from app.core.signatures.sketch import sketch_under
from app.stores.postgres.contents import SuiteStore
from app.stores.postgres.entries import EntryStore, QueryBook
from app.stores.redis.band_index import BandIndex
from app.stores.redis.indexes import Indexes

_SPARE = 50
"""Hits read beyond the k nearest, for those of them that turn out to be stale or of another collection."""

_FEW = 2_000
"""A collection with so few entries has them all read, where its own are not among the nearest hits."""

_MOST_SINGLE = 20_000
"""Hits of which each is looked up in a collection; if they are more, all its entries are read."""


@dataclass(frozen=True, slots=True)
class Within:
    """Every book at Hamming distance <= d."""

    d: int  # 0 to 128


@dataclass(frozen=True, slots=True)
class Nearest:
    """The k books with the smallest Hamming distance."""

    k: int  # from 1


@dataclass(frozen=True, slots=True)
class Verified:
    """Books that fingerprint or sample propose and that their signatures confirm as near-duplicates."""


Question = Within | Nearest | Verified


@dataclass(frozen=True, slots=True)
class Position:
    """A position in an answer, to go on from."""

    distance: int  # 129 where there is none
    entry_id: int


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A book found, and the evidence for it."""

    book: BookSummary
    evidence: Evidence


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One page of the books found, nearest first."""

    exact: bool  # True: provably every book that the question asks for
    total: int  # on all pages
    matches: list[Match]
    next: Position | None  # the last one of this page, where another one follows
    relations: Mapping[UUID, RelationSummary] = field(default_factory=dict)
    """Of the stored book that is asked about, with these books as far as there are any, by their ids."""


@dataclass(frozen=True, slots=True, eq=False)
class _IndexAnswer:
    """Entries found in the index, and what a pending book must show to be found with them."""

    hits: Hits  # nearest first
    accepts: Callable[[Evidence], bool]
    exact: bool = True
    flat: FlatIndex | None = None  # where books are whose identifiers are compared; None: there are none


class Lookup:
    """Questions about nearness, each answered within the suite of its recipe."""

    def __init__(self, entries: EntryStore, indexes: Indexes, suites: SuiteStore) -> None:
        self._entries = entries
        self._indexes = indexes
        self._suites = suites
        self._few: set[str] = set()  # collections that had few entries when they were last read

    async def serving(self) -> Suite:
        """The suite that serves, as of a second ago at most."""
        return (await self._suites.current()).serving

    async def near_duplicates(
        self,
        book_id: UUID,
        question: Question,
        after: Position | None,
        limit: int,
        suite: Suite | None = None,
        collection: str | None = None,
    ) -> Answer:
        """The books near one that is in the catalogue, itself left out; None: in the suite that serves.

        With a `collection` those of its books alone, and provably all of them as without.
        """
        suite, few = suite or await self.serving(), self._few_of(question, collection)
        book = await self._entries.read_query_book(
            book_id, suite, with_sample=isinstance(question, Verified), collection=few, most=_FEW + 1
        )
        return await self._answer(suite, book, question, after, limit, book_id, collection)

    async def look_up(
        self,
        query: Entry,
        question: Question,
        after: Position | None,
        limit: int,
        suite: Suite | None = None,
        collection: str | None = None,
    ) -> Answer:
        """The books near these signatures; the entry with the query's own id is left out.

        `suite` is the one that served when the signatures were computed. Raises `RecipeNotIndexed` for a
        fingerprint of another recipe than serves.
        """
        suite = await self.suite_of(query, suite)
        few = self._few_of(question, collection)
        book = QueryBook(query, *await self._entries.read_pending_and_members(suite, few, _FEW + 1))
        return await self._answer(suite, book, question, after, limit, None, collection)

    def _few_of(self, question: Question, collection: str | None) -> str | None:
        """The collection where its entries are read at once, because it had few."""
        return collection if isinstance(question, Nearest) and collection in self._few else None

    async def _answer(
        self,
        suite: Suite,
        book: QueryBook,
        question: Question,
        after: Position | None,
        limit: int,
        book_id: UUID | None,
        collection: str | None,
    ) -> Answer:
        query, pending, members = book.entry, book.pending, book.members
        compared = [
            book
            for book in pending
            if book.entry.entry_id != query.entry_id
            and not (isinstance(question, Verified) and by_identifiers(query, book.entry))
        ]
        others = _matches(query, compared)
        index, spare = self._indexes.of(suite), _SPARE
        members = self._few_alone(collection, members)
        while True:
            try:
                result = await find(index, query, question, spare, members)
            except IndexRebuilding:
                await self._require_serving(suite)
                raise
            same = await self.related_by_identifiers(query, suite, result.flat, pending)
            waiting = [position_of(match) for match in others.values() if result.accepts(match.evidence)]
            waiting += map(position_of, same.values())
            hits = _merged(result.hits.but(query.entry_id), waiting)
            most = question.k if isinstance(question, Nearest) else None
            if members is not None and waiting:
                hits = hits.only(members)
            within = collection if members is None else None
            answer = await self._page(suite, query, hits, others | same, after, limit, most, book_id, within)
            answer = replace(answer, exact=result.exact)
            if most is None or answer.total == most or result.hits.size < most + spare:
                return answer
            if collection is not None and spare == _SPARE:
                members = await self._entries.read_members(collection, _FEW + 1)
                members = self._few_alone(collection, members)
            spare *= 10

    def _few_alone(
        self, collection: str | None, members: NDArray[np.uint64] | None
    ) -> NDArray[np.uint64] | None:
        """The entries of a collection, which is remembered, where they are few; else None."""
        if collection is None or members is None:
            return None
        (self._few.add if 0 < members.size <= _FEW else self._few.discard)(collection)
        return members if members.size <= _FEW else None

    async def _page(
        self,
        suite: Suite,
        query: Entry,
        hits: Hits,
        others: dict[int, Match],
        after: Position | None,
        limit: int,
        most: int | None,
        book_id: UUID | None,
        collection: str | None,
    ) -> Answer:
        """One page of the hits that are current and in the collection; `most` cuts the whole answer off.

        What the page shows is read with what has left; only if that shifts the page, more is read.
        """
        if not hits.size:
            return Answer(exact=True, total=0, matches=[], next=None)
        if collection is not None and hits.size > _MOST_SINGLE:
            hits, collection = hits.only(await self._entries.read_members(collection)), None
        while True:
            page = _cut_out(hits.part(0, most), after, limit)
            wanted = page.entry_ids.tolist()
            if collection is None:
                current = await self._entries.read_current_hits(wanted, hits.entry_ids, suite, book_id)
            else:
                current = await self._entries.read_hits_of_collection(
                    collection, hits.entry_ids, _start(hits, after), limit, suite, book_id, most
                )
            shown = _matches(query, list(current.summaries.values())) | others
            gone = np.array([entry_id for entry_id in wanted if entry_id not in shown], dtype=np.uint64)
            hits = hits.without(np.concatenate([gone, current.deleted]))
            page = _cut_out(hits.part(0, most), after, limit)
            if shown.keys() >= set(page.entry_ids.tolist()):
                break
        hits = hits.part(0, most)
        matches = [shown[entry_id] for entry_id in page.entry_ids.tolist()]
        more = matches and _cut_out(hits, after, limit + 1).size > limit
        last = position_of(matches[-1]) if more else None
        return Answer(True, hits.size, matches, last, current.relations)

    async def related_by_identifiers(
        self, query: Entry, suite: Suite, flat: FlatIndex | None, pending: Sequence[BookSummary]
    ) -> dict[int, Match]:
        """The books that are the same by their identifiers where one of the two is an identifier alone."""
        alone = query.identified is None
        waiting = [book for book in pending if by_identifiers(query, book.entry)]
        if flat is None or (alone and not waiting and not flat.has_identified):
            return {}
        identifier = of_signatures(query, query.word_count) if query.word_count else None
        if identifier is None:
            return {}
        found = within_reach(identifier, flat, identified=alone)
        return await self.same_by_identifiers(identifier, suite, set(found) - {query.entry_id}, waiting)

    async def same_by_identifiers(
        self,
        query: Identifier,
        suite: Suite,
        entry_ids: set[int],
        pending: Sequence[BookSummary],
        holders: Set[int] = frozenset(),
        collection: str | None = None,
    ) -> dict[int, Match]:
        """Those of these books that are the same as an identifier; `holders` have its ISBN."""
        books = {book.entry.entry_id: book for book in pending}
        if collection is not None:
            wanted = np.array(list(entry_ids.union(books)), dtype=np.uint64)
            read = self._entries.read_hits_of_collection(collection, wanted, 0, wanted.size, suite)
            books = (await read).summaries
        elif entry_ids:
            none = Hits.none().entry_ids
            books |= (await self._entries.read_current_hits(list(entry_ids), none, suite)).summaries
        return await asyncio.to_thread(_same, query, list(books.values()), holders) if books else {}

    async def suite_of(self, query: Entry, suite: Suite | None = None) -> Suite:
        """The suite in which these signatures are looked up: the given one, or the one that serves.

        Raises `RecipeNotIndexed` where their fingerprint has another recipe than that.
        """
        suite = suite or await self.serving()
        if query.fingerprint is None or plain_name(query.fingerprint.recipe) == suite.fingerprint:
            return suite
        suite = (await self._suites.read()).serving
        if plain_name(query.fingerprint.recipe) != suite.fingerprint:
            raise RecipeNotIndexed(plain_name(query.fingerprint.recipe), suite.fingerprint)
        return suite

    async def _require_serving(self, suite: Suite) -> None:
        if suite != (await self._suites.read()).serving:
            raise Unavailable(
                "The recipes that served so far have just been replaced. Send the request again.",
                retry_after=1,
            )


async def find(
    index: BandIndex, query: Entry, question: Question, spare: int, among: NDArray[np.uint64] | None = None
) -> _IndexAnswer:
    """The entries that answer a question; of the nearest, `spare` more than asked for.

    Of these `among` are all that count, ascending, where they are known.
    """
    fingerprint = query.fingerprint
    match question:
        case Verified():
            plan = plan_candidates(query, index.suite, index.flat_index.latest)
            read = await index.read(plan)
            proposals = proposed(query, index.suite, plan, read)
            return _IndexAnswer(near_duplicates(proposals), is_near_duplicate, exact=False, flat=read.flat)
        case _ if fingerprint is None:
            return _IndexAnswer(Hits.none(), lambda _: False)
        case Within(d):
            plan = plan_range(fingerprint, index.suite, d, index.flat_index.latest)
            return _IndexAnswer(near(plan, await index.read(plan)), lambda evidence: _is_within(evidence, d))
        case Nearest(k):
            require_same_recipe(fingerprint.recipe, index.suite.fingerprint)
            flat = (await index.read(Plan())).flat
            if among is None:
                hits = flat.nearest(fingerprint.bits, k + spare)
            else:
                hits = flat.among(among, fingerprint.bits, LAST_DISTANCE - 1).part(0, k + spare)
            # Farther out than the last hit, books that were not read could come before a pending one.
            reach = 128 if hits.size < k + spare else int(hits.distances[-1]) - 1
            return _IndexAnswer(hits, lambda evidence: _is_within(evidence, reach))


def _is_within(evidence: Evidence, d: int) -> bool:
    return evidence.distance is not None and evidence.distance <= d


def _same(query: Identifier, books: Sequence[BookSummary], holders: Set[int]) -> dict[int, Match]:
    """Those of the books that are the same by their identifiers, by entry; `holders` have the ISBN."""
    found = {}
    for book in books:
        isbn = query.isbn if book.entry.entry_id in holders else None
        evidence = evidence_of_same(query, of_signatures(book.entry, book.word_count, isbn))
        if evidence is not None:
            found[book.entry.entry_id] = Match(book, evidence)
    return found


def position_of(match: Match) -> Position:
    """The position of a match in an answer."""
    distance = match.evidence.distance
    return Position(LAST_DISTANCE if distance is None else distance, match.book.entry.entry_id)


def _matches(query: Entry, books: Sequence[BookSummary]) -> dict[int, Match]:
    """The books with the evidence for each, by entry."""
    if not books:
        return {}
    evidence = evidence_of_each(query, [book.entry for book in books])
    return {book.entry.entry_id: Match(book, each) for book, each in zip(books, evidence, strict=True)}


def _merged(hits: Hits, positions: Sequence[Position]) -> Hits:
    """The hits and these positions, each entry once, nearest first."""
    if not positions:
        return hits
    entry_ids = np.array([position.entry_id for position in positions], dtype=np.uint64)
    return hits.joined(Hits(entry_ids, np.array([each.distance for each in positions], dtype=np.uint8)))


def _start(hits: Hits, after: Position | None) -> int:
    """The number of hits up to `after`."""
    return 0 if after is None else hits.place(after.distance, after.entry_id)


def _cut_out(hits: Hits, after: Position | None, limit: int) -> Hits:
    """Up to `limit` hits behind `after`."""
    start = _start(hits, after)
    return hits.part(start, start + limit)


def query_entry(
    suite: Suite, content: Content | None, sketch: Sketch | None, fingerprint: Fingerprint | None
) -> Entry:
    """The entry to look for, made from the first of these that is given; computed under the suite."""
    if content is not None:
        sketch = sketch_under(suite, content)
    return sketch.to_entry(0) if sketch is not None else Entry(0, fingerprint, None)
