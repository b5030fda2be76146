"""Finding the relations of a book: search candidates, compare page by page, store the results.

A job first writes the book's own entry to the band index and then searches. If two books are posted at once,
at least one job therefore finds the other book. Jobs can be repeated: compared pairs are skipped.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.services.index.upkeep import IndexUpkeep
from app.services.lookups import Lookup
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.pairs.candidates import CandidateStore, StoredSignatures
from app.stores.postgres.pairs.relations import BookVersion, ComparedPair, RelationStore
from app.stores.redis.band_index import BandIndex
from bookprint_core.errors import BookprintError, Unavailable
from bookprint_core.matching.candidates import CandidateBook, SelectionLimits, select_candidates
from bookprint_core.matching.search import by_identifiers, plan_candidates, proposed, related_entries
from bookprint_core.model import Content, Entry
from bookprint_core.relations.relation import CLASSIFIER, ComparedBook, Relation, compare, relation_of
from bookprint_core.relations.revision import changed_lines, is_one_issue
from bookprint_core.signatures.sketch import page_signatures
from bookprint_core.warm_up import warm_up

_READ_AT_ONCE = 32
"""Number of candidates whose page signatures are in memory at a time: 40 KB for 330 pages."""

_NAMED = 3
"""Maximum number of failed pairs that the error lists."""


class PairsFailed(BookprintError):
    """Some pairs of books could not be compared; all other pairs were compared."""

    def __init__(self, book_id: UUID, failures: Mapping[UUID, Exception]) -> None:
        named = "; ".join(
            f"{other}: {type(error).__name__}: {error}" for other, error in list(failures.items())[:_NAMED]
        )
        more = f"; and {len(failures) - _NAMED} more" if len(failures) > _NAMED else ""
        super().__init__(f"Book {book_id} could not be compared with {named}{more}")


@dataclass(slots=True)
class _Outcome:
    """The outcome of comparing one book with others."""

    compared: list[ComparedPair] = field(default_factory=list)  # pairs that are not stored yet
    seconds: dict[str, list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )  # duration of each comparison, by kind
    failures: dict[UUID, Exception] = field(default_factory=dict)


async def related(
    left: ComparedBook, right: ComparedBook, contents: Callable[[], Awaitable[Sequence[Content | None]]]
) -> Relation:
    """Return the relation of two books; `contents` reads texts, to distinguish copies from revised issues."""
    comparison = await asyncio.to_thread(compare, left, right)
    relation = relation_of(comparison, left.metadata, right.metadata)
    alignment, kind = relation.alignment, relation.classification.kind
    if kind != "SAME_PAGINATION" or alignment is None or is_one_issue(left.metadata, right.metadata):
        return relation
    this, other = await contents()
    if this is None or other is None:
        return relation
    revised = await asyncio.to_thread(changed_lines, this, other, alignment)
    return relation_of(comparison, left.metadata, right.metadata, revised)


class Relate:
    """Service that finds the relations of entries."""

    def __init__(
        self,
        entries: EntryStore,
        index: BandIndex,
        upkeep: IndexUpkeep,
        candidates: CandidateStore,
        relations: RelationStore,
        lookup: Lookup,
        limits: SelectionLimits,
    ) -> None:
        self._entries = entries
        self._index = index
        self._upkeep = upkeep
        self._candidates = candidates
        self._relations = relations
        self._lookup = lookup
        self._limits = limits

    async def warm_up(self) -> None:
        """Load kernels and the flat index, so that the first job does not delay lookups.

        Raises `Unavailable` while the index is not complete.
        """
        await asyncio.to_thread(warm_up)
        await self._index.flat_index.read()

    async def relate_entry(self, entry_id: int) -> None:
        """Find and store the relations of an entry; nothing is done for an entry that is no longer current.

        Raises `PairsFailed` at the end if pairs could not be compared.
        """
        for book in await self._entries.read_summaries([entry_id]):
            if not book.indexed:
                await self._upkeep.index_entry(entry_id)
            others = await self._search(book.entry)
            candidates = await self._candidates.list_candidates(book.book_id, entry_id, others, CLASSIFIER)
            selection = select_candidates(candidates, entry_id, self._limits)
            outcome = await self._compare(entry_id, selection.compared)
            await self._relations.insert_search(
                entry_id, outcome.compared, selection.passed_over, outcome.seconds
            )
            if outcome.failures:
                raise PairsFailed(book.book_id, outcome.failures)

    async def _search(self, entry: Entry) -> list[int]:
        """Return entries that may be related, nearest first; last, entries with the same identifier only."""
        pending = (await self._entries.read_pending(entry)).pending
        plan = plan_candidates(entry, self._index.flat_index.latest)
        read = await self._index.read(plan)
        proposals = proposed(entry, plan, read)
        compared = [book.entry for book in pending if not by_identifiers(entry, book.entry)]
        same = await self._lookup.related_by_identifiers(entry, read.flat, pending)
        return [*related_entries(entry, proposals, compared), *same]

    async def _compare(self, entry_id: int, others: Sequence[CandidateBook]) -> _Outcome:
        outcome = _Outcome()
        for start in range(0, len(others), _READ_AT_ONCE):
            await self._relations.insert(outcome.compared)
            outcome.compared = []
            entry_ids = [entry_id, *(other.entry_id for other in others[start : start + _READ_AT_ONCE])]
            stored = {book.entry_id: book for book in await self._candidates.read_signatures(entry_ids)}
            book = stored.pop(entry_id, None)
            if book is None:
                break  # The book was deleted or changed: another job relates its new content.
            query = await self._candidate(book)
            for other in stored.values():
                try:
                    begun = time.perf_counter()
                    pair = await self._related(book, query, other)
                    outcome.compared.append(pair)
                    outcome.seconds[pair.relation.classification.kind].append(time.perf_counter() - begun)
                except Unavailable:
                    raise
                except Exception as error:
                    outcome.failures[other.book_id] = error
        return outcome

    async def _related(
        self, book: StoredSignatures, query: ComparedBook, other: StoredSignatures
    ) -> ComparedPair:
        candidate = await self._candidate(other)
        sides = [(book, query), (other, candidate)]
        if other.book_id < book.book_id:
            sides.reverse()
        versions = [BookVersion(stored.book_id, stored.entry_id) for stored, _ in sides]
        left, right = (compared for _, compared in sides)

        async def contents() -> list[Content | None]:
            if not all(stored.has_text for stored, _ in sides):
                return [None, None]
            return [await self._candidates.read_content(stored.entry_id) for stored, _ in sides]

        return ComparedPair(versions[0], versions[1], await related(left, right, contents))

    async def _candidate(self, stored: StoredSignatures) -> ComparedBook:
        """Return the book for comparison; missing page signatures are computed from its text and stored."""
        candidate = stored.candidate()
        if candidate.pages is not None or not stored.has_text:
            return candidate
        content = await self._candidates.read_content(stored.entry_id)
        if content is None:
            return candidate
        pages = await asyncio.to_thread(page_signatures, content)
        await self._candidates.insert_pages(stored.entry_id, pages)
        return ComparedBook(pages, candidate.minhash, candidate.metadata)
