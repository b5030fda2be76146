"""Finding the books near a book.

The band index proposes, the catalogue disposes: only entries that Postgres calls current are counted or
shown, and books that wait to be indexed are compared straight from Postgres. The index is read before the
catalogue, so a book that leaves one state for the other in between is met at least once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from app.core.buckets import Hits
from app.core.model import Brief, Entry, Fingerprint, MinHashSignature
from app.core.ranking import VERIFICATION, Evidence, evidence, is_near_duplicate
from app.core.simhash import hamming
from app.stores.band_index import BandIndex
from app.stores.catalogue import Catalogue
from app.stores.entries import Entries

_FETCHED_AT_ONCE = 1000
"""Hits whose titles and signatures are read with the first query; of more, only those shown are read."""


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
class Place:
    """A place in an answer, to go on from."""

    distance: int  # 129 where there is none
    entry_id: int


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A book found, and what speaks for it."""

    book: Brief
    evidence: Evidence


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One page of the books found, nearest first."""

    exact: bool  # True: provably every book that the question asks for
    total: int  # on all pages
    matches: list[Match]
    next: Place | None  # the last place of this page, where another one follows


class Lookup:
    """Questions about nearness."""

    def __init__(self, catalogue: Catalogue, entries: Entries, index: BandIndex) -> None:
        self._catalogue = catalogue
        self._entries = entries
        self._index = index

    async def near_duplicates(
        self, book_id: UUID, question: Question, after: Place | None, limit: int
    ) -> Answer:
        """The books near one that is in the catalogue, itself left out."""
        book = await self._catalogue.brief(book_id)
        return await self.look_up(
            book.entry.fingerprint, book.entry.minhash, question, after, limit, but=book.entry.entry_id
        )

    async def look_up(
        self,
        fingerprint: Fingerprint | None,
        minhash: MinHashSignature | None,
        question: Question,
        after: Place | None,
        limit: int,
        but: int | None = None,
    ) -> Answer:
        """The books near these signatures; `but` is the entry of the book that asks."""
        query = Entry(but or 0, fingerprint, minhash)
        match question:
            case Within(d):
                return await self._within(query, d, after, limit)
            case Nearest(k):
                return await self._nearest(query, k, after, limit)
            case Verified():
                return await self._verified(query, after, limit)

    async def _within(self, query: Entry, d: int, after: Place | None, limit: int) -> Answer:
        if query.fingerprint is None:
            return _NOTHING
        [hits] = await self._index.within([query.fingerprint], d)
        ordered, briefs = await self._current(query, hits, d)
        return await self._exact(query, ordered, briefs, after, limit)

    async def _nearest(self, query: Entry, k: int, after: Place | None, limit: int) -> Answer:
        if query.fingerprint is None:
            return _NOTHING
        [hits] = await self._index.within([query.fingerprint], 128)
        some = hits.first(k + _SPARE)
        ordered, briefs = await self._current(query, some, 128)
        if len(some.entry_ids) < len(hits.entry_ids):
            # Beyond the last of these hits others may come before a pending book.
            last = (int(some.distances[-1]), int(some.entry_ids[-1]))
            settled = [place for place in ordered if (place.distance, place.entry_id) <= last]
            if len(settled) < k:
                ordered, briefs = await self._current(query, hits, 128)
        return await self._exact(query, ordered[:k], briefs, after, limit)

    async def _current(self, query: Entry, hits: Hits, d: int) -> tuple[list[Place], dict[int, Brief]]:
        """The places of all books within d, nearest first, and those books that had to be read for it."""
        few = len(hits.entry_ids) <= _FETCHED_AT_ONCE
        briefs = {
            brief.entry.entry_id: brief
            for brief in await self._entries.found_and_pending(hits.entry_ids.tolist() if few else [])
        }
        places = {
            entry_id: Place(distance, entry_id)
            for entry_id, distance in zip(hits.entry_ids.tolist(), hits.distances.tolist(), strict=True)
        }
        for entry_id, brief in briefs.items():
            distance = _distance(query, brief.entry)
            if distance is not None and distance <= d:
                places[entry_id] = Place(distance, entry_id)
        current = briefs.keys() if few else set((await self._entries.current(list(places))).tolist())
        current -= {query.entry_id}
        return _in_order(place for place in places.values() if place.entry_id in current), briefs

    async def _exact(
        self, query: Entry, ordered: list[Place], briefs: dict[int, Brief], after: Place | None, limit: int
    ) -> Answer:
        page, following = _page(ordered, after, limit)
        unread = [place.entry_id for place in page if place.entry_id not in briefs]
        if unread:
            briefs |= {brief.entry.entry_id: brief for brief in await self._entries.briefs(unread)}
        matches = [
            Match(briefs[place.entry_id], evidence(query, briefs[place.entry_id].entry))
            for place in page
            if place.entry_id in briefs
        ]
        return Answer(exact=True, total=len(ordered), matches=matches, next=following)

    async def _verified(self, query: Entry, after: Place | None, limit: int) -> Answer:
        # The rule accepts no book beyond both of these finders, so none that it would accept is missed.
        proposed: set[int] = set()
        if query.fingerprint is not None:
            [hits] = await self._index.within([query.fingerprint], VERIFICATION.distance_alone)
            proposed.update(hits.entry_ids.tolist())
        if query.minhash is not None:
            proposed.update(await self._index.sharing(query.minhash, VERIFICATION.kin))
        proposed.discard(query.entry_id)
        matches = {
            match.book.entry.entry_id: match
            for match in (
                Match(brief, evidence(query, brief.entry))
                for brief in await self._entries.found_and_pending(sorted(proposed))
                if brief.entry.entry_id != query.entry_id
            )
            if is_near_duplicate(match.evidence)
        }
        ordered = _in_order(_place(match) for match in matches.values())
        page, following = _page(ordered, after, limit)
        return Answer(
            exact=False,
            total=len(ordered),
            matches=[matches[place.entry_id] for place in page],
            next=following,
        )


_NOTHING = Answer(exact=True, total=0, matches=[], next=None)
"""A book without a fingerprint is near to none."""


def _distance(query: Entry, other: Entry) -> int | None:
    if query.fingerprint is None or other.fingerprint is None:
        return None
    return hamming(query.fingerprint.bits, other.fingerprint.bits)


def _place(match: Match) -> Place:
    distance = match.evidence.distance
    return Place(129 if distance is None else distance, match.book.entry.entry_id)


def _in_order(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda place: (place.distance, place.entry_id))


def _page(ordered: list[Place], after: Place | None, limit: int) -> tuple[list[Place], Place | None]:
    """The places behind `after`, up to the limit, and the last of them if more follow."""
    if after is not None:
        passed = (after.distance, after.entry_id)
        ordered = [place for place in ordered if (place.distance, place.entry_id) > passed]
    page = ordered[:limit]
    return page, page[-1] if len(ordered) > limit else None
