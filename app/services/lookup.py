"""Finding the books near a book.

The band index proposes, the catalogue disposes: only entries that Postgres calls current are counted or
shown, and books that wait to be indexed are compared straight from Postgres. The index is read before the
catalogue, so a book that leaves one state for the other in between is met at least once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from app.core.model import Brief, Entry, Fingerprint, MinHashSignature
from app.core.ranking import VERIFICATION, Evidence, evidence, is_near_duplicate
from app.core.simhash import hamming
from app.stores.band_index import BandIndex
from app.stores.catalogue import Catalogue
from app.stores.entries import Entries

_FETCHED_AT_ONCE = 1000
"""Hits whose titles and signatures are read with the first query; of more, only those shown are read."""


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
                return await self._by_distance(query, d, None, after, limit)
            case Nearest(k):
                return await self._by_distance(query, 128, k, after, limit)
            case Verified():
                return await self._verified(query, after, limit)

    async def _by_distance(
        self, query: Entry, d: int, k: int | None, after: Place | None, limit: int
    ) -> Answer:
        if query.fingerprint is None:
            return Answer(exact=True, total=0, matches=[], next=None)
        [hits] = await self._index.within([query.fingerprint], d)
        briefs: dict[int, Brief] = {}
        few = len(hits.entry_ids) <= _FETCHED_AT_ONCE
        for brief in await self._entries.found_and_pending(hits.entry_ids.tolist() if few else []):
            briefs[brief.entry.entry_id] = brief
        places = {
            entry_id: Place(distance, entry_id)
            for entry_id, distance in zip(hits.entry_ids.tolist(), hits.distances.tolist(), strict=True)
        }
        for entry_id, brief in briefs.items():
            distance = _distance(query, brief.entry)
            if distance is not None and distance <= d:
                places[entry_id] = Place(distance, entry_id)
        current = briefs.keys() if few else set(await self._current(places))
        ordered = _in_order(place for place in places.values() if place.entry_id in current)
        ordered = [place for place in ordered if place.entry_id != query.entry_id][:k]
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

    async def _current(self, places: dict[int, Place]) -> list[int]:
        current: list[int] = np.asarray(await self._entries.current(list(places))).tolist()
        return current


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
