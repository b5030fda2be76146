"""What people should look at, what they decide, and the history of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.errors import BookprintError
from app.stores.postgres.audit import Actor
from app.stores.postgres.pairs.decisions import (
    DecisionStore,
    HistoryFilter,
    NewOpinion,
    Opined,
    OpinionOutcome,
    PastDecision,
)
from app.stores.postgres.pairs.reviews import (
    QueuedRelation,
    ReviewFilter,
    ReviewPage,
    ReviewPlace,
    ReviewQueries,
)

__all__ = [
    "Decisions",
    "HistoryFilter",
    "NewOpinion",
    "Opined",
    "OpinionOutcome",
    "PastDecision",
    "QueuedRelation",
    "ReviewFilter",
    "ReviewPlace",
    "ReviewProgress",
]

MOST_AT_ONCE = 500
"""Decisions of one request."""
MOST_COUNTED = 10_000
"""Relations of the queue that are counted."""

_MOST_NAMES = 10
"""People whose decisions are counted, those with most."""


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """How much is decided and by whom, and how much is left."""

    queued: int  # relations without a decision, no more than `MOST_COUNTED`
    made: Mapping[str | None, int]  # decisions, by the names of those who made most


class Decisions:
    """The queue of relations to look at, and people's decisions."""

    def __init__(self, decisions: DecisionStore, queue: ReviewQueries) -> None:
        self._decisions = decisions
        self._reviews = queue

    async def decide(
        self, opinions: Sequence[NewOpinion], *, all_or_none: bool = True, actor: Actor
    ) -> list[OpinionOutcome | BookprintError]:
        """Record what a person says of pairs of books, and what became of each.

        With `all_or_none` the first refusal is raised, and nothing is recorded; else it stands in its place.
        """
        if all_or_none:
            return list(await self._decisions.insert(opinions, actor=actor))
        outcomes: list[OpinionOutcome | BookprintError] = []
        for opinion in opinions:
            try:
                outcomes += await self._decisions.insert([opinion], actor=actor)
            except BookprintError as refusal:
                outcomes.append(refusal)
        return outcomes

    async def history(
        self, wanted: HistoryFilter, before: int | None, limit: int, *, actor: Actor
    ) -> list[PastDecision]:
        """Up to `limit` decisions of the history before a number, the newest first."""
        return await self._decisions.list_history(wanted, actor.author, before, limit)

    async def latest(self, book_id: UUID, *, actor: Actor) -> list[PastDecision]:
        """What the actor said last of a book and others, in one request."""
        wanted = HistoryFilter(book_id=book_id, author=actor.author)
        found = await self._decisions.list_history(wanted, actor.author, None, MOST_AT_ONCE)
        return [each for each in found if each.at == found[0].at]

    async def take_back(self, past: Sequence[PastDecision], *, actor: Actor) -> None:
        """Have the decisions count again that did before these; raises `NoDecision` where one is gone."""
        opinions = [
            NewOpinion(
                each.left_id,
                each.right_id,
                each.verdict_before or "withdrawn",
                each.kind_before if each.verdict_before == "kind" else None,
            )
            for each in past
        ]
        await self._decisions.insert(opinions, actor=actor)

    async def reviews(
        self, wanted: ReviewFilter, after: ReviewPlace | None, limit: int, *, actor: Actor
    ) -> ReviewPage:
        """Up to `limit` relations behind a place that a person should look at, worth most first."""
        return await self._reviews.list_reviews(wanted, actor.author, after, limit)

    async def progress(self) -> ReviewProgress:
        """How far people have come with the queue."""
        queued = await self._reviews.count(MOST_COUNTED)
        return ReviewProgress(queued, await self._decisions.count_by_name(_MOST_NAMES))
