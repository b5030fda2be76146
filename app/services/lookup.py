"""Finding the books near a book.

The band index proposes, the catalogue disposes: only entries that Postgres calls current are counted or
shown, and books that wait to be indexed are compared straight from Postgres. The index is read before the
catalogue, so a book that leaves one state for the other in between is met at least once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import numpy as np

from app.core.errors import RecipeNotIndexed, Unavailable
from app.core.index.records import Hits
from app.core.matching.verification import Evidence, evidence_of_each, is_near_duplicate
from app.core.model import BookSummary, Entry, Fingerprint
from app.core.recipe import Suite
from app.services.precedence import Precedence
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.suites import SuitesChanged, SuiteStore
from app.stores.redis.band_index import BandIndex, Found
from app.stores.redis.indexes import Indexes

_SPARE = 50
"""Hits read beyond the k nearest, for those of them that turn out to be stale."""


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
    """Books that fingerprint or MinHash propose and that their signatures confirm as near-duplicates."""


Question = Within | Nearest | Verified


@dataclass(frozen=True, slots=True)
class Position:
    """A place in an answer, to go on from."""

    distance: int  # 129 where there is none
    entry_id: int


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A book found, and what speaks for it."""

    book: BookSummary
    evidence: Evidence


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One page of the books found, nearest first."""

    exact: bool  # True: provably every book that the question asks for
    total: int  # on all pages
    matches: list[Match]
    next: Position | None  # the last place of this page, where another one follows
    related: bool = False  # the book asked about has relations, with these books perhaps


class Lookup:
    """Questions about nearness, each answered within the suite of its recipe."""

    def __init__(
        self, entries: EntryStore, indexes: Indexes, suites: SuiteStore, precedence: Precedence
    ) -> None:
        self._entries = entries
        self._indexes = indexes
        self._suites = suites
        self._precedence = precedence

    async def near_duplicates(
        self,
        book_id: UUID,
        question: Question,
        after: Position | None,
        limit: int,
        suite: Suite | None = None,
    ) -> Answer:
        """The books near one that is in the catalogue, itself left out; None: in the suite that serves."""
        suite = suite or (await self._suites.current()).serving
        with self._precedence.lookup():
            book = await self._entries.of_book(book_id, suite, with_sample=isinstance(question, Verified))
            return await self._look_up(suite, book.entry, book.pending, question, after, limit, book_id)

    async def look_up(self, query: Entry, question: Question, after: Position | None, limit: int) -> Answer:
        """The books near these signatures; the entry with the query's own id is left out.

        Raises `RecipeNotIndexed` for a fingerprint of a recipe in which lookups are not answered.
        """
        with self._precedence.lookup():
            suite = await self._suite_of(query)
            pending = await self._entries.pending(suite)
            return await self._look_up(suite, query, pending, question, after, limit)

    async def _look_up(
        self,
        suite: Suite,
        query: Entry,
        pending: Sequence[BookSummary],
        question: Question,
        after: Position | None,
        limit: int,
        book_id: UUID | None = None,
    ) -> Answer:
        others = [brief for brief in pending if brief.entry.entry_id != query.entry_id]
        try:
            lookup = _SuiteLookup(self._entries, self._indexes.of(suite), _matches(query, others), book_id)
            return await lookup.look_up(query, question, after, limit)
        except SuitesChanged as exc:
            await self._suites.read()
            raise Unavailable(
                f"Lookups of {suite.fingerprint} have just ended. Send the request again.", retry_after=1
            ) from exc

    async def _suite_of(self, query: Entry) -> Suite:
        suites = await self._suites.current()
        if query.fingerprint is None:
            return suites.serving
        recipe = query.fingerprint.recipe
        suite = suites.answering_in(recipe)
        if suite is None:
            suites = await self._suites.read()
            suite = suites.answering_in(recipe)
        if suite is None:
            raise RecipeNotIndexed(recipe, [suite.fingerprint for suite in suites.answering])
        return suite


class _SuiteLookup:
    """Questions about nearness within one suite."""

    def __init__(
        self, entries: EntryStore, index: BandIndex, pending: Mapping[int, Match], book_id: UUID | None
    ) -> None:
        """`pending` are the entries that were not in the index yet before it was asked.

        `book_id` is that of the query, if it is a stored book.
        """
        self._entries = entries
        self._index = index
        self._pending = pending
        self._book_id = book_id

    async def look_up(self, query: Entry, question: Question, after: Position | None, limit: int) -> Answer:
        """See `Lookup.look_up`."""
        fingerprint = query.fingerprint
        match question:
            case Verified():
                found = await self._index.near_duplicates(query)
                return await self._answer(query, found, is_near_duplicate, after, limit, exact=False)
            case _ if fingerprint is None:
                return _NOTHING
            case Within(d):
                found = await self._index.within(fingerprint, d)
                return await self._answer(query, found, partial(_is_within, d=d), after, limit)
            case Nearest(k):
                return await self._nearest(query, fingerprint, k, after, limit)

    async def _nearest(
        self, query: Entry, fingerprint: Fingerprint, k: int, after: Position | None, limit: int
    ) -> Answer:
        spare = _SPARE
        while True:
            found = await self._index.nearest(fingerprint, k + spare)
            complete = found.hits.size < k + spare
            # Farther out than the last hit, books that were not read could come before a pending one.
            d = 128 if complete else int(found.hits.distances[-1]) - 1
            answer = await self._answer(query, found, partial(_is_within, d=d), after, limit, k)
            if answer.total == k or complete:
                return answer
            spare *= 10

    async def _answer(
        self,
        query: Entry,
        found: Found,
        accepts: Callable[[Evidence], bool],
        after: Position | None,
        limit: int,
        most: int | None = None,
        *,
        exact: bool = True,
    ) -> Answer:
        """One page of the hits that are current and of the pending books that are accepted, nearest first.

        `most` cuts the answer off. What the page shows is read with what has left; only if that shifts the
        page, more is read.
        """
        waiting = [_place(match) for match in self._pending.values() if accepts(match.evidence)]
        hits = _merged(found.hits.but(query.entry_id), waiting)
        if found.vouched and not hits.size:
            return Answer(exact=exact, total=0, matches=[], next=None)
        shown = dict(self._pending)
        while True:
            page = _page(_cut(hits, most), after, limit)
            wanted = [entry_id for entry_id in page.entry_ids.tolist() if entry_id not in shown]
            settled = await self._entries.settled(wanted, hits.entry_ids, self._index.suite, self._book_id)
            self._index.flat_index.vouch(found.load)
            shown |= _matches(query, list(settled.summaries.values()))
            gone = np.array([entry_id for entry_id in wanted if entry_id not in shown], dtype=np.uint64)
            hits = hits.without(np.concatenate([gone, settled.departed]))
            page = _page(_cut(hits, most), after, limit)
            if shown.keys() >= set(page.entry_ids.tolist()):
                break
        hits = _cut(hits, most)
        matches = [shown[entry_id] for entry_id in page.entry_ids.tolist()]
        last = _place(matches[-1]) if matches and _page(hits, after, limit + 1).size > limit else None
        return Answer(exact, hits.size, matches, last, settled.related)


_NOTHING = Answer(exact=True, total=0, matches=[], next=None)
"""A book without a fingerprint is near to none."""


def _is_within(evidence: Evidence, d: int) -> bool:
    return evidence.distance is not None and evidence.distance <= d


def _place(match: Match) -> Position:
    distance = match.evidence.distance
    return Position(129 if distance is None else distance, match.book.entry.entry_id)


def _matches(query: Entry, found: Sequence[BookSummary]) -> dict[int, Match]:
    """The books with what speaks for each, by entry."""
    if not found:
        return {}
    told = evidence_of_each(query, [brief.entry for brief in found])
    return {brief.entry.entry_id: Match(brief, evidence) for brief, evidence in zip(found, told, strict=True)}


def _merged(hits: Hits, places: Sequence[Position]) -> Hits:
    """The hits and these places, each entry once, nearest first."""
    if not places:
        return hits
    entry_ids = np.array([place.entry_id for place in places], dtype=np.uint64)
    others = hits.without(entry_ids)
    return Hits(
        np.concatenate([others.entry_ids, entry_ids]),
        np.concatenate([others.distances, np.array([place.distance for place in places], dtype=np.uint8)]),
    ).sorted()


def _cut(hits: Hits, most: int | None) -> Hits:
    return Hits(hits.entry_ids[:most], hits.distances[:most])


def _page(hits: Hits, after: Position | None, limit: int) -> Hits:
    """Up to `limit` hits behind `after`."""
    start = 0
    if after is not None:
        near, far = np.searchsorted(hits.distances, [after.distance, after.distance + 1])
        start = near + np.searchsorted(hits.entry_ids[near:far], after.entry_id, side="right")
    return Hits(hits.entry_ids[start : start + limit], hits.distances[start : start + limit])
