"""Finding the relations of a book: search candidates, compare page by page, store what comes out.

A job first makes sure that the book's own entry is in the band index and searches after that, so of two books
posted at once at least one sees the other. Everything can be repeated: pairs that were compared are skipped.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.core.errors import BookprintError, Unavailable
from app.core.matching.candidates import CandidateBook, SelectionLimits, select_candidates
from app.core.matching.search import LAST_DISTANCE, plan_related, proposed
from app.core.matching.verification import VERIFICATION, Evidence, evidence, is_near_duplicate
from app.core.model import Entry
from app.core.recipe import DEFAULT_PAGES, Suite
from app.core.relations.relation import DEFAULT_CLASSIFIER, ComparedBook, relate
from app.core.signatures.fracminhash import shared_hashes
from app.core.signatures.sketch import page_signatures
from app.core.warm_up import warm_up
from app.services.index.reconcile import Reindex
from app.stores.postgres.candidates import CandidateQueries, StoredSignatures
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.relations import BookVersion, ComparedPair, RelationStore
from app.stores.postgres.suites import SuiteStore
from app.stores.redis.indexes import Indexes

_READ_AT_ONCE = 32
"""Candidates whose page signatures are held at a time: 40 KB each for a book of 330 pages."""

_SHARED = VERIFICATION.min_shared
"""Equal MinHash values, or hashes in both shingle samples, that make two books candidates."""

_NAMED = 3
"""Pairs that failed and are told by name."""


class PairsFailed(BookprintError):
    """Some pairs of books could not be compared; all others were."""

    def __init__(self, book_id: UUID, failures: Mapping[UUID, Exception]) -> None:
        named = "; ".join(
            f"{other}: {type(error).__name__}: {error}" for other, error in list(failures.items())[:_NAMED]
        )
        more = f"; and {len(failures) - _NAMED} more" if len(failures) > _NAMED else ""
        super().__init__(f"Book {book_id} could not be compared with {named}{more}")


@dataclass(slots=True)
class _Outcome:
    """What came of comparing one book with others."""

    compared: list[ComparedPair] = field(default_factory=list)  # the last pairs, which are not stored yet
    seconds: dict[str, list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )  # of each pair, by kind
    failures: dict[UUID, Exception] = field(default_factory=dict)


class Relate:
    """Finds the relations of entries."""

    def __init__(
        self,
        entries: EntryStore,
        indexes: Indexes,
        suites: SuiteStore,
        reindex: Reindex,
        candidates: CandidateQueries,
        relations: RelationStore,
        limits: SelectionLimits,
    ) -> None:
        self._entries = entries
        self._indexes = indexes
        self._suites = suites
        self._reindex = reindex
        self._candidates = candidates
        self._relations = relations
        self._limits = limits

    async def warm_up(self) -> None:
        """Load kernels and the roll, which the first job would otherwise do while lookups wait.

        Raises `Unavailable` while the index is not whole.
        """
        await asyncio.to_thread(warm_up)
        suite = (await self._suites.current()).serving
        await self._indexes.of(suite).flat_index.read()

    async def relate_entry(self, entry_id: int) -> None:
        """Find and store the relations of an entry; one that is no longer current needs nothing.

        Raises `PairsFailed` at the end where pairs could not be compared.
        """
        suite = (await self._suites.current()).serving
        for book in await self._entries.summaries([entry_id], suite):
            if not book.indexed:
                await self._reindex.index_entry(entry_id)
            near = await self._search(book.entry, suite)
            found = await self._candidates.found(book.book_id, entry_id, near, DEFAULT_CLASSIFIER)
            choice = select_candidates(found, entry_id, self._limits)
            outcome = await self._compare(entry_id, choice.compared, suite)
            await self._relations.conclude(entry_id, outcome.compared, choice.passed_over, outcome.seconds)
            if outcome.failures:
                raise PairsFailed(book.book_id, outcome.failures)

    async def _search(self, entry: Entry, suite: Suite) -> list[int]:
        """Entries that may be related, nearest first: near-duplicates, then by how much they overlap."""
        pending = await self._entries.pending(suite)
        index = self._indexes.of(suite)
        plan = plan_related(entry, suite, index.flat_index.latest)
        found = proposed(plan, await index.read(plan))
        entry_ids, near = found.entry_ids, found.verified(entry)
        shared = dict(zip(entry_ids.tolist(), found.shared.tolist(), strict=True))
        places = dict(zip(entry_ids[near].tolist(), found.distances[near].astype(int).tolist(), strict=True))
        for other in (brief.entry for brief in pending):
            told = evidence(entry, other)
            if is_near_duplicate(told):
                places[other.entry_id] = _distance(told)
            shared[other.entry_id] = _shared(entry, other, told)
        far = [other for other, count in shared.items() if count >= _SHARED and other not in places]
        ordered = sorted(places, key=lambda other: (places[other], other))
        ordered += sorted(far, key=lambda other: (-shared[other], other))
        return [other for other in ordered if other != entry.entry_id]

    async def _compare(self, entry_id: int, others: Sequence[CandidateBook], suite: Suite) -> _Outcome:
        outcome = _Outcome()
        for start in range(0, len(others), _READ_AT_ONCE):
            await self._relations.record(outcome.compared)
            outcome.compared = []
            some = [other.entry_id for other in others[start : start + _READ_AT_ONCE]]
            stored = {one.entry_id: one for one in await self._read([entry_id, *some], suite)}
            book = stored.pop(entry_id, None)
            if book is None:
                break  # Gone or changed since: another job sees to that.
            query = await self._candidate(book, suite)
            for other in stored.values():
                try:
                    begun = time.perf_counter()
                    one = await self._related(book, query, other, suite)
                    outcome.compared.append(one)
                    outcome.seconds[one.relation.classification.kind].append(time.perf_counter() - begun)
                except Unavailable:
                    raise
                except Exception as error:
                    outcome.failures[other.book_id] = error
        return outcome

    async def _related(
        self, book: StoredSignatures, query: ComparedBook, other: StoredSignatures, suite: Suite
    ) -> ComparedPair:
        candidate = await self._candidate(other, suite)
        this, that = BookVersion(book.book_id, book.entry_id), BookVersion(other.book_id, other.entry_id)
        if book.book_id < other.book_id:
            return ComparedPair(this, that, await asyncio.to_thread(relate, query, candidate))
        return ComparedPair(that, this, await asyncio.to_thread(relate, candidate, query))

    async def _candidate(self, stored: StoredSignatures, suite: Suite) -> ComparedBook:
        """The book as it is compared; page signatures that it lacks are computed from its text and kept."""
        candidate = stored.candidate(suite.minhash, DEFAULT_PAGES)
        if candidate.pages is not None or not stored.has_text:
            return candidate
        content = await self._candidates.content(stored.entry_id)
        if content is None:
            return candidate
        pages = await asyncio.to_thread(page_signatures, content)
        await self._candidates.keep_pages(stored.entry_id, pages)
        return ComparedBook(pages, candidate.minhash, candidate.metadata)

    async def _read(self, entry_ids: Sequence[int], suite: Suite) -> list[StoredSignatures]:
        return await self._candidates.comparable(entry_ids, suite.minhash, DEFAULT_PAGES)


def _distance(told: Evidence) -> int:
    return LAST_DISTANCE if told.distance is None else told.distance


def _shared(entry: Entry, other: Entry, told: Evidence) -> int:
    """Equal MinHash values or hashes in both samples, whichever are more."""
    equal = told.equal_values or 0
    if entry.sample is None or other.sample is None:
        return equal
    return max(equal, shared_hashes(entry.sample, other.sample))
