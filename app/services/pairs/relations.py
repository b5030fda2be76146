"""The relations of a book."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from app.stores.postgres.connections import Database
from app.stores.postgres.contents import TextStore
from app.stores.postgres.pairs.relation_queries import RelationQueries
from bookprint_core.errors import NotCompared, TextNotKept, UnknownBook
from bookprint_core.relations.classification import RELATED, Kind
from bookprint_core.relations.related import (
    IndirectRelation,
    PageMatches,
    RelatedBook,
    RelationProgress,
    RelationSummary,
    effective_relation,
)
from bookprint_core.signatures.exact_overlap import ExactOverlap, exact_overlap

T = TypeVar("T")

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
"""Seconds between two reads."""

_MOST_WAITING = 64
"""Maximum number of requests of one kind that wait in this process; further requests do not wait."""


def nothing() -> None:
    """Do nothing; the default function to call when a request begins to wait."""


class Waiting:
    """The waiting requests of one kind."""

    def __init__(self) -> None:
        self._waiting = 0

    async def until(
        self,
        read: Callable[[], Awaitable[T]],
        is_enough: Callable[[T], bool],
        seconds: float,
        begins: Callable[[], None] = nothing,
    ) -> T:
        """Return the first answer that is enough, else the last answer within `seconds`.

        Calls `begins` if the first answer is not enough.
        """
        deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
        answer = await read()
        if is_enough(answer) or not seconds or self._waiting >= _MOST_WAITING:
            return answer
        begins()
        self._waiting += 1
        try:
            while not is_enough(answer) and (left := deadline - time.monotonic()) > 0:
                await asyncio.sleep(min(pause, left))
                pause = min(1.5 * pause, _LONGEST_PAUSE)
                answer = await read()
        finally:
            self._waiting -= 1
        return answer


_CLOSENESS: tuple[Kind, ...] = (
    "SAME_PAGINATION",
    "DIFFERENT_PAGINATION",
    "SAME_TEXT",
    "CONTIGUOUS_SUBSET",
    "OVERLAPPING_TEXT",
    "INSUFFICIENT_TEXT",
    "UNRELATED",
)


@dataclass(frozen=True, slots=True, eq=False)
class RelationList:
    """One page of the relations of a book."""

    progress: RelationProgress
    complete: bool  # every candidate was compared
    direct: list[RelatedBook]  # closest first; empty after the first page
    indirect: list[IndirectRelation]  # in order of ids
    next: UUID | None  # the last of `indirect`; None: no more follow


class Relations(RelationQueries):
    """Reader of books' relations: people's decisions and computed results."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._texts = TextStore(database)
        self._waiting = Waiting()

    async def of_book(
        self,
        book_id: UUID,
        after: UUID | None,
        limit: int,
        wait: float = 0,
        waiting_begins: Callable[[], None] = nothing,
        collection: str | None = None,
    ) -> RelationList:
        """Return the relations of a book, as soon as no job is pending or after `wait` seconds.

        All direct relations are on the first page. Books related only through a copy are paged: at most
        `limit` per page, after the id `after`. With a `collection`, only relations with its books are
        returned. Raises `UnknownBook`.
        """
        progress = await self._waiting.until(
            lambda: self._progress(book_id), lambda progress: not progress.pending, wait, waiting_begins
        )
        direct = [] if after else sorted(await self.list_direct(book_id, collection), key=_order)
        indirect = await self.list_indirect(book_id, after, limit + 1, collection)
        complete = not (progress.passed_over or indirect or after)
        page = indirect[:limit]
        more = page[-1].book_id if len(indirect) > limit else None
        return RelationList(progress, complete, direct, page, more)

    async def pair(self, book_id: UUID, other_id: UUID) -> tuple[RelatedBook, PageMatches]:
        """Return the relation of two books, seen from the first; raises `UnknownBook` and `NotCompared`."""
        pair = await self.read_pair(book_id, other_id)
        if pair is None:
            for each in (book_id, other_id):
                await self._progress(each)  # raises UnknownBook
            raise NotCompared(book_id, other_id)
        return pair

    async def exact_overlap(self, book_id: UUID, other_id: UUID) -> ExactOverlap:
        """Return the exact overlap of the texts of two books, seen from the first; raises `TextNotKept`."""
        texts = await self._texts.read([book_id, other_id])
        for each in (book_id, other_id):
            if each not in texts:
                raise TextNotKept(f"The text of book {each}", "exact")
        this, other = texts[book_id], texts[other_id]
        return await asyncio.to_thread(lambda: exact_overlap(this.content(), other.content()))

    async def _progress(self, book_id: UUID) -> RelationProgress:
        progress = await self.read_progress(book_id)
        if progress is None:
            raise UnknownBook(book_id)
        return progress


def effective_of(related: RelatedBook) -> RelationSummary | None:
    """Return the effective relation; None if the books were not compared and nobody has decided."""
    machine = None if related.evidence is None else related.evidence.summary
    return effective_relation(machine, None if related.decided is None else related.decided.decision)


Related = tuple[RelatedBook, RelationSummary]
"""A related book and its effective relation."""


async def list_related(queries: RelationQueries, book_id: UUID) -> list[Related]:
    """Return the related books, without those that share front or back matter alone."""
    return [
        (book, summary)
        for book in await queries.list_direct(book_id)
        if (summary := effective_of(book)) is not None
        and summary.kind in RELATED
        and not book.shares_matter_alone
    ]


def _order(related: RelatedBook) -> tuple[int, float, UUID]:
    summary = effective_of(related)
    assert summary is not None
    return _CLOSENESS.index(summary.kind), -summary.confidence, related.book_id
