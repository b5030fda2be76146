"""Questions about nearness, and the entries of the index that answer them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.stores.postgres.entries import EntryStore
from app.stores.redis.band_index import BandIndex
from bookprint_core.index.flat_index import FlatIndex
from bookprint_core.index.records import Hits
from bookprint_core.matching.search import (
    LAST_DISTANCE,
    Plan,
    alike,
    near,
    near_duplicates,
    plan_alike,
    plan_candidates,
    plan_range,
    proposed,
    proposed_by_bands,
)
from bookprint_core.matching.verification import Evidence, evidence_of_each, is_accepted
from bookprint_core.model import BookSummary, Entry, require_same_recipe
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, minhash_recipe

_VALUES = minhash_recipe(DEFAULT_MINHASH).permutations

_MINHASHES_AT_ONCE = 10_000
"""Number of MinHash signatures that are read and compared at a time: 5 MB."""


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
    """Books proposed by fingerprint or sample and confirmed as near-duplicates by their signatures."""

    common: bool = False  # whether to include books that share only common matter


@dataclass(frozen=True, slots=True)
class Alike:
    """Books proposed by MinHash bands and at least as similar as asked, by their MinHash."""

    jaccard: float  # minimum similarity, 0.3 to 1


Distances = Within | Nearest | Verified
Question = Distances | Alike


class Position(NamedTuple):
    """A position in an answer, after which a page begins."""

    distance: int  # 129: no distance; for `Alike`, the number of unequal MinHash values
    entry_id: int


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A found book, and its evidence."""

    book: BookSummary
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """The requested part of an answer."""

    after: Position | None
    limit: int
    collection: str | None = None
    alike: bool = False  # whether hits are ordered by MinHash
    book_id: UUID | None = None  # of the query book, if it is stored
    most: int | None = None  # maximum number of books of the whole answer

    def start(self, hits: Hits) -> int:
        """Return the number of hits before the page."""
        return 0 if self.after is None else hits.place(self.after.distance, self.after.entry_id)

    def cut_out(self, hits: Hits) -> Hits:
        """Return the hits on the page."""
        start = self.start(hits)
        return hits.part(0, self.most).part(start, start + self.limit)

    def is_last(self, hits: Hits) -> bool:
        """Return whether no hit follows the page."""
        return self.start(hits) + self.limit >= hits.part(0, self.most).size


@dataclass(frozen=True, slots=True, eq=False)
class IndexAnswer:
    """Entries found in the index, and the test that a pending book must pass."""

    hits: Hits  # nearest first
    accepts: Callable[[Match], bool]
    exact: bool = True
    flat: FlatIndex | None = None  # contains books whose identifiers are compared; None: not needed
    recall: float | None = None


async def find(
    index: BandIndex, query: Entry, question: Distances, spare: int, among: NDArray[np.uint64] | None = None
) -> IndexAnswer:
    """Return the entries that answer a question; for `Nearest`, `spare` more than the question asks for.

    For `Nearest`, `among` limits the answer to these ascending entries; None: all entries.
    """
    fingerprint = query.fingerprint
    match question:
        case Verified():
            plan = plan_candidates(query, index.flat_index.latest)
            read = await index.read(plan)
            proposals = proposed(query, plan, read)
            return IndexAnswer(
                near_duplicates(proposals),
                lambda match: is_accepted(match.evidence),
                exact=False,
                flat=read.flat,
            )
        case _ if fingerprint is None:
            return IndexAnswer(Hits.none(), lambda _: False)
        case Within(d):
            plan = plan_range(fingerprint, d, index.flat_index.latest)
            return IndexAnswer(
                near(plan, await index.read(plan)), lambda match: _is_within(match.evidence, d)
            )
        case Nearest(k):
            require_same_recipe(fingerprint.recipe, DEFAULT_FINGERPRINT)
            flat = (await index.read(Plan())).flat
            if among is None:
                hits = flat.nearest(fingerprint.bits, k + spare)
            else:
                hits = flat.among(among, fingerprint.bits, LAST_DISTANCE - 1).part(0, k + spare)
            # Beyond the distance of the last hit, unread books could be nearer than a pending book.
            reach = 128 if hits.size < k + spare else int(hits.distances[-1]) - 1
            return IndexAnswer(hits, lambda match: _is_within(match.evidence, reach))


def _is_within(evidence: Evidence, d: int) -> bool:
    return evidence.distance is not None and evidence.distance <= d


async def find_alike(index: BandIndex, entries: EntryStore, query: Entry, question: Alike) -> IndexAnswer:
    """Return the entries that share a MinHash band with the query and are at least as similar as asked."""
    minhash, bands = query.minhash, index.bands
    recall = bands.chance(question.jaccard)
    if minhash is None:
        return IndexAnswer(Hits.none(), lambda _: False, exact=False, recall=recall)
    plan = plan_alike(minhash, bands)
    proposals = proposed_by_bands(plan, await index.read(plan))
    hits = Hits.none()
    for start in range(0, proposals.size, _MINHASHES_AT_ONCE):
        read = await entries.read_minhash_values(proposals[start : start + _MINHASHES_AT_ONCE])
        hits = hits.joined(await asyncio.to_thread(alike, minhash, bands, *read, question.jaccard))

    def accepts(match: Match) -> bool:
        entry = match.book.entry
        if entry.minhash is None:
            return False
        own = np.array([entry.entry_id], dtype=np.uint64), entry.minhash.values[None]
        return alike(minhash, bands, *own, question.jaccard).size > 0

    return IndexAnswer(hits, accepts, exact=False, recall=recall)


def matches_of(query: Entry, books: Sequence[BookSummary]) -> dict[int, Match]:
    """Return the books with the evidence for each, by entry id."""
    if not books:
        return {}
    evidence = evidence_of_each(query, [book.entry for book in books])
    return {book.entry.entry_id: Match(book, each) for book, each in zip(books, evidence, strict=True)}


def position_of(match: Match, *, alike: bool = False) -> Position:
    """Return the position of a match in an answer; `alike` counts unequal MinHash values as distance."""
    evidence = match.evidence
    if alike:
        assert evidence.equal_values is not None  # else the book is not a match
        return Position(_VALUES - evidence.equal_values, match.book.entry.entry_id)
    return Position(
        LAST_DISTANCE if evidence.distance is None else evidence.distance, match.book.entry.entry_id
    )
