"""The queue of relations to review, people's decisions, and the history of decisions."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.stores.postgres.audit import Actor
from app.stores.postgres.connections import Database
from app.stores.postgres.pairs.decisions import (
    DecisionOutcome as DecisionOutcome,
    DecisionStore,
    HistoryFilter as HistoryFilter,
    NewDecision as NewDecision,
    PastDecision as PastDecision,
    Said as Said,
)
from app.stores.postgres.pairs.reviews import (
    QueuedRelation as QueuedRelation,
    ReviewFilter as ReviewFilter,
    ReviewPage,
    ReviewPlace as ReviewPlace,
    ReviewQueries,
)
from bookprint_core.errors import BookprintError, InvalidInput

MOST_AT_ONCE = 500
"""Maximum number of decisions of one request."""

MOST_COUNTED = 10_000
"""Maximum number of relations of the queue that are counted."""

_FRESH_SECONDS = 10.0

_MOST_NAMES = 10
"""Maximum number of people whose decisions are counted, most active first."""


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """The number of decisions by person, and the number of relations left."""

    queued: int  # relations without a decision, at most `MOST_COUNTED`
    made: Mapping[str | None, int]  # number of decisions by name of the person


class Decisions(DecisionStore, ReviewQueries):
    """The queue of relations to review, and people's decisions."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._queued, self._counted_at = 0, float("-inf")  # of `time.monotonic`

    async def decide(
        self, decisions: Sequence[NewDecision], *, all_or_none: bool = True, actor: Actor
    ) -> list[DecisionOutcome | BookprintError]:
        """Record decisions on pairs of books, and return the outcome of each.

        With `all_or_none`, the first refusal is raised and nothing recorded; else refusals are returned.
        """
        if all_or_none:
            return list(await self.insert(decisions, actor=actor))
        outcomes: list[DecisionOutcome | BookprintError] = []
        for decision in decisions:
            try:
                outcomes += await self.insert([decision], actor=actor)
            except BookprintError as refusal:
                outcomes.append(refusal)
        return outcomes

    async def history(
        self, wanted: HistoryFilter, before: int | None, limit: int, *, actor: Actor
    ) -> list[PastDecision]:
        """Return at most `limit` decisions before a number of the history, newest first."""
        return await self.list_history(wanted, actor.author, before, limit)

    async def reject_all(
        self, book_id: UUID, others: Sequence[UUID], note: str, *, actor: Actor
    ) -> list[DecisionOutcome]:
        """Reject the relations of a book with all other books given, or with none; raises `InvalidInput`."""
        if not 0 < len(others) <= MOST_AT_ONCE:
            raise InvalidInput(
                f"The book is related to {len(others):,} books here, but 1 to {MOST_AT_ONCE} relations are "
                "rejected at once. Open it again; if there are more, reject them one by one.",
                "book_id",
            )
        decisions = [NewDecision(book_id, other, "rejected", note=note) for other in others]
        return await self.insert(decisions, actor=actor)

    async def last_rejections(self, book_id: UUID, *, actor: Actor) -> list[PastDecision]:
        """Return the decisions of the actor's last request on a book; none unless all are rejections."""
        wanted = HistoryFilter(book_id=book_id, author=actor.author)
        found = await self.list_history(wanted, actor.author, None, MOST_AT_ONCE)
        last = [each for each in found if each.at == found[0].at]
        return last if all(each.verdict == "rejected" for each in last) else []

    async def take_rejections_back(self, book_id: UUID, *, actor: Actor) -> None:
        """Undo the decisions in `last_rejections`.

        Raises `InvalidInput`, and `DecidedMeanwhile` if another person has decided since.
        """
        past = await self.last_rejections(book_id, actor=actor)
        if not past:
            raise InvalidInput("There is nothing to undo: you have made other decisions since.", "book_id")
        decisions = [NewDecision(each.left_id, each.right_id, "undone", instead_of=each.at) for each in past]
        await self.insert(decisions, actor=actor)

    async def reviews(
        self, wanted: ReviewFilter, after: ReviewPlace | None, limit: int, *, actor: Actor
    ) -> ReviewPage:
        """Return at most `limit` relations without a decision, after a place in the queue."""
        return await self.list_reviews(wanted, actor.author, after, limit)

    async def place(self, book_id: UUID, other_id: UUID) -> ReviewPlace | None:
        """Return the place of two books in the queue; None if they are not in it."""
        return await self.read_place(min(book_id, other_id), max(book_id, other_id))

    async def queued(self) -> int:
        """Return the number of relations without a decision, at most `MOST_COUNTED` and ten seconds old."""
        if (now := time.monotonic()) - self._counted_at > _FRESH_SECONDS:
            self._queued, self._counted_at = await self.count(MOST_COUNTED), now
        return self._queued

    async def progress(self) -> ReviewProgress:
        """Return the progress of people with the queue."""
        queued = await self.count(MOST_COUNTED)
        return ReviewProgress(queued, await self.count_by_name(_MOST_NAMES))
