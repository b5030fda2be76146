"""The list of relations to review, decisions, and the history of decisions."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self
from uuid import UUID

from fastapi import Query
from pydantic import Field

from app.api.http.deps import ActorDep, ServicesDep
from app.api.http.problems import Problem, problem_of
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import (
    CLEAN_PATTERN,
    Body,
    Clean,
    CollectionFilter,
    Cursors,
    Document,
    Moment,
    OneOfBody,
    PageQuery,
    Share,
    TitledBook,
    part,
)
from app.services.pairs.decisions import (
    MOST_AT_ONCE,
    DecisionOutcome,
    HistoryFilter,
    NewDecision,
    PastDecision,
    QueuedRelation,
    ReviewFilter,
    ReviewPlace,
    Said,
)
from bookprint_core.errors import BookprintError
from bookprint_core.matching.conflicts import NamedCopy
from bookprint_core.relations.classification import Direction, Kind
from bookprint_core.relations.related import DecisionVerdict

_LONGEST_NOTE = 1_000  # characters
_LONGEST_WORD = 100

_Word = Annotated[str, Field(max_length=_LONGEST_WORD, json_schema_extra=CLEAN_PATTERN), Clean]
_Note = Annotated[str, Field(max_length=_LONGEST_NOTE, json_schema_extra=CLEAN_PATTERN), Clean]


class ReviewQuery(PageQuery):
    """The relations to list; each filter by book must match at least one of the two books."""

    kind: Kind | None = Field(default=None, description="Only relations of this kind.")
    collection: CollectionFilter = Field(
        default=None, description="Only relations of a book in this collection."
    )
    language: _Word | None = Field(default=None, description="Only relations of a book in this language.")
    year: int | None = Field(
        default=None, ge=-9999, le=9999, description="Only relations of a book of this year."
    )

    def to_filter(self) -> ReviewFilter:
        return ReviewFilter(self.kind, self.collection, self.language, self.year)


class ReviewBookAnswer(TitledBook):
    """A book of a relation to review."""


class ReviewAnswer(Document):
    """A relation without a decision."""

    books: tuple[ReviewBookAnswer, ReviewBookAnswer] = Field(description="Both books, the older first.")
    kind: Kind
    direction: Direction | None = Field(description="Direction as seen from the first book.")
    confidence: Share = Field(description="Confidence of the classifier, 0 to 1.")
    because: str = Field(description="Reason for the result, as seen from the first book.")

    @classmethod
    def of(cls, queued: QueuedRelation) -> Self:
        left, right = NamedCopy(queued.place.left, queued.left), NamedCopy(queued.place.right, queued.right)
        fields = {name: getattr(queued, name, None) for name in cls.model_fields}
        return cls.model_validate(fields | {"books": (left, right)})


class ReviewList(Document):
    """One page of the relations to review."""

    items: list[ReviewAnswer] = Field(
        description="Relations, possibly fewer than `limit` or none: follow next_cursor for more."
    )
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


class DecisionItem(OneOfBody):
    """Decision of a person on two books: exactly one of verdict and kind."""

    one_of: ClassVar[dict[str, str]] = {"verdict": "string", "kind": "string"}

    left: Annotated[UUID, Field(strict=False)]
    right: Annotated[UUID, Field(strict=False)]
    verdict: Literal["confirmed", "rejected", "withdrawn", "undone", "unsure"] | None = Field(
        default=None,
        description="`withdrawn` ends the present decision, or your own `unsure`; `undone` also restores the "
        "decision before it; `unsure` decides nothing, but hides the pair from this key's list.",
    )
    kind: Kind | None = Field(default=None, description="The correct kind of the relation.")
    note: _Note | None = Field(default=None, description="Note for readers of the history.")
    instead_of: Moment | Literal["nothing"] | None = Field(
        default=None,
        description="Time of the decision that you saw or want to undo, or `nothing`. The item is refused if "
        "the present decision differs.",
    )

    def to_decision(self) -> NewDecision:
        verdict, instead_of = self.verdict or "kind", self.instead_of or "anything"
        return NewDecision(self.left, self.right, verdict, self.kind, self.note, instead_of)


class DecisionsBody(Body):
    """Decisions on pairs of books, recorded in this order."""

    items: list[DecisionItem] = Field(min_length=1, max_length=MOST_AT_ONCE)
    all_or_none: bool = Field(
        default=False, description="true: if one decision is refused, none is recorded."
    )


class DecidedAnswer(Document):
    """Result of one decision: an outcome or a problem."""

    left: UUID
    right: UUID
    status: int = Field(description="200, or the status of the problem.")
    outcome: DecisionOutcome | None = Field(
        description="`counts`: it is in force. `withdrawn` or `undone`: it ended another. `unsure`: no "
        "decision. null: refused."
    )
    problem: Problem | None = Field(description="Reason for the refusal; null: not refused.")

    @classmethod
    def of(cls, item: DecisionItem, outcome: DecisionOutcome | BookprintError) -> Self:
        problem = problem_of(outcome) if isinstance(outcome, BookprintError) else None
        return cls(
            left=item.left,
            right=item.right,
            status=problem.status if problem else 200,
            outcome=None if isinstance(outcome, BookprintError) else outcome,
            problem=problem,
        )


class DecidedList(Document):
    """Results of the decisions, in the order of the request."""

    items: list[DecidedAnswer]


class HistoryQuery(PageQuery):
    """The decisions to list; an omitted parameter filters nothing."""

    by: _Word | None = Field(default=None, description="Only decisions of the key with this name.")
    book: UUID | None = Field(default=None, description="Only decisions on pairs with this book.")
    after: Moment | None = Field(
        default=None, description="Only decisions after this time, such as 2027-01-31T18:00:00Z."
    )


class DecisionBefore(Document):
    """The previous decision on the pair."""

    verdict: DecisionVerdict
    kind: Kind | None
    by: str | None


class PastDecisionAnswer(Document):
    """A decision of the history, in force or not."""

    at: datetime
    by: str | None = part("name", "Name of the API key at that time; null: unknown.")
    left: UUID = part("left_id", "The older book.")
    right: UUID = part("right_id")
    verdict: Said
    kind: Kind | None = Field(description="The confirmed or corrected kind; null: rejected or withdrawn.")
    note: str | None
    outcome: DecisionOutcome = Field(
        description="`counts`: it is or was in force. `withdrawn`: it was withdrawn, or withdrew another. "
        "`undone`: it undid another. `unsure`: no decision."
    )
    before: DecisionBefore | None = Field(default=None, description="Null: no previous decision.")

    @classmethod
    def of(cls, past: PastDecision) -> Self:
        answer = cls.model_validate(past)
        if past.verdict_before is not None:
            before = DecisionBefore(verdict=past.verdict_before, kind=past.kind_before, by=past.name_before)
            answer.before = before
        return answer


class History(Document):
    """One page of the history of decisions, newest first."""

    items: list[PastDecisionAnswer]
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


router = SubjectRouter(
    "/v1", tag="decisions", description="Relations that a person should review, and decisions of people."
)


@router.get("/reviews", summary="List relations to review", scope="read")
async def list_reviews(
    query: Annotated[ReviewQuery, Query()], services: ServicesDep, actor: ActorDep
) -> ReviewList:
    """Lists doubtful relations without a decision, ordered by doubt times the number of affected books.

    Figures near a threshold, and figures that contradict each other, cause doubt. Relations with a doubt
    below 5 % are left out. The affected books are those of the smaller of the two clusters. Listing does not
    reserve relations. A decided relation disappears at once; the pages after a cursor do not shift.
    """
    wanted = query.to_filter()
    cursors = Cursors("reviews", wanted)
    page = await services.decisions.reviews(
        wanted, cursors.place(query.cursor, ReviewPlace), query.limit, actor=actor
    )
    items = [ReviewAnswer.of(queued) for queued in page.items]
    return ReviewList(items=items, next_cursor=cursors.at(page.next))


@router.post("/decisions", summary="Decide on many relations", scope="decide", also=(404, 409))
async def decide_many(body: DecisionsBody, services: ServicesDep, actor: ActorDep) -> DecidedList:
    """Records a person's decision on each pair, like `PUT /v1/books/{book_id}/relations/{other_id}/decision`.

    Each decision is recorded or refused separately, with its own status. With `all_or_none`, the first
    refusal is the answer, and no decision is recorded.
    """
    decisions = [item.to_decision() for item in body.items]
    outcomes = await services.decisions.decide(decisions, all_or_none=body.all_or_none, actor=actor)
    return DecidedList(items=list(map(DecidedAnswer.of, body.items, outcomes)))


@router.get("/decisions", summary="Read the history of decisions", scope="read")
async def list_decisions(
    query: Annotated[HistoryQuery, Query()], services: ServicesDep, actor: ActorDep
) -> History:
    """Lists decisions of people, including withdrawn and replaced ones, newest first."""
    wanted = HistoryFilter(query.by, query.after, book_id=query.book)
    cursors = Cursors("decisions", wanted)
    found = await services.decisions.history(
        wanted, cursors.place(query.cursor, int), query.limit + 1, actor=actor
    )
    page = found[: query.limit]
    next_cursor = cursors.at(page[-1].sequence) if len(found) > query.limit else None
    return History(items=[PastDecisionAnswer.of(past) for past in page], next_cursor=next_cursor)
