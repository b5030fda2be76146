"""The list of pairs to review, decisions, and their history."""

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
    """The relations to list; of the two books, one has to fit."""

    kind: Kind | None = Field(default=None, description="Only of this kind.")
    collection: CollectionFilter = Field(default=None, description="Only with a book of this collection.")
    language: _Word | None = Field(default=None, description="Only with a book in this language.")
    year: int | None = Field(default=None, ge=-9999, le=9999, description="Only with a book of this year.")

    def to_filter(self) -> ReviewFilter:
        return ReviewFilter(self.kind, self.collection, self.language, self.year)


class ReviewBookAnswer(TitledBook):
    """A book of a relation to look at."""


class ReviewAnswer(Document):
    """A relation that nobody has decided on."""

    books: tuple[ReviewBookAnswer, ReviewBookAnswer] = Field(description="The older one first.")
    kind: Kind
    direction: Direction | None = Field(description="Whether the first contains the second.")
    confidence: Share = Field(description="Of the machine, 0 to 1.")
    because: str = Field(description="Why the machine says so of the first.")

    @classmethod
    def of(cls, queued: QueuedRelation) -> Self:
        left, right = NamedCopy(queued.place.left, queued.left), NamedCopy(queued.place.right, queued.right)
        fields = {name: getattr(queued, name, None) for name in cls.model_fields}
        return cls.model_validate(fields | {"books": (left, right)})


class ReviewList(Document):
    """One page of the queue."""

    items: list[ReviewAnswer] = Field(
        description="Fewer than `limit`, even none, where finding more takes another request."
    )
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")


class DecisionItem(OneOfBody):
    """Decision of a person on two books: exactly one of verdict and kind."""

    one_of: ClassVar[dict[str, str]] = {"verdict": "string", "kind": "string"}

    left: Annotated[UUID, Field(strict=False)]
    right: Annotated[UUID, Field(strict=False)]
    verdict: Literal["confirmed", "rejected", "withdrawn", "undone", "unsure"] | None = Field(
        default=None,
        description="`withdrawn` ends the decision there is, or one's own `unsure`; `undone` has "
        "what was before hold again, too; `unsure` decides nothing, and has the queue leave the pair out for "
        "this key.",
    )
    kind: Kind | None = Field(default=None, description="The kind that the relation has instead.")
    note: _Note | None = Field(default=None, description="For those who read the history.")
    instead_of: Moment | Literal["nothing"] | None = Field(
        default=None,
        description="When the decision was made that was seen, or what is undone; or `nothing`. Refused "
        "where there is another.",
    )

    def to_decision(self) -> NewDecision:
        verdict, instead_of = self.verdict or "kind", self.instead_of or "anything"
        return NewDecision(self.left, self.right, verdict, self.kind, self.note, instead_of)


class DecisionsBody(Body):
    """Decisions on many pairs of books, made in their order."""

    items: list[DecisionItem] = Field(min_length=1, max_length=MOST_AT_ONCE)
    all_or_none: bool = Field(
        default=False, description="Whether one that is refused keeps all others from being made."
    )


class DecidedAnswer(Document):
    """Result of one decision: an outcome, or the problem."""

    left: UUID
    right: UUID
    status: int = Field(description="200, or that of the problem.")
    outcome: DecisionOutcome | None = Field(
        description="It `counts`; one is `withdrawn` or `undone`; its author is `unsure`; null: refused."
    )
    problem: Problem | None = Field(description="Why it was refused; null: it was not.")

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
    """Results of the decisions, in their order."""

    items: list[DecidedAnswer]


class HistoryQuery(PageQuery):
    """The decisions to list; what is left out counts for any."""

    by: _Word | None = Field(default=None, description="Only those of the key with this name.")
    book: UUID | None = Field(default=None, description="Only those on this book and another one.")
    after: Moment | None = Field(
        default=None, description="Only those made after this time, as 2027-01-31T18:00:00Z."
    )


class DecisionBefore(Document):
    """The decision that counted until then."""

    verdict: DecisionVerdict
    kind: Kind | None
    by: str | None


class PastDecisionAnswer(Document):
    """One decision of the history. It stays there when it is withdrawn."""

    at: datetime
    by: str | None = part("name", "Name of the API key at that time; null: not known.")
    left: UUID = part("left_id", "The older book.")
    right: UUID = part("right_id")
    verdict: Said
    kind: Kind | None = Field(description="The kind that was confirmed or named; null: rejected, withdrawn.")
    note: str | None
    outcome: DecisionOutcome = Field(
        description="It `counts`, or did; it is `withdrawn`, or withdrew; it has `undone` another; or its "
        "author is `unsure`."
    )
    before: DecisionBefore | None = Field(default=None, description="Null: nobody had decided.")

    @classmethod
    def of(cls, past: PastDecision) -> Self:
        answer = cls.model_validate(past)
        if past.verdict_before is not None:
            before = DecisionBefore(verdict=past.verdict_before, kind=past.kind_before, by=past.name_before)
            answer.before = before
        return answer


class History(Document):
    """One page of the history of decisions, the newest first."""

    items: list[PastDecisionAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for the next page; null on the last page.")


router = SubjectRouter(
    "/v1", tag="decisions", description="Relations that a person should look at, and what people decided."
)


@router.get("/reviews", summary="List what to look at", scope="read")
async def list_reviews(
    query: Annotated[ReviewQuery, Query()], services: ServicesDep, actor: ActorDep
) -> ReviewList:
    """Lists relations in doubt that nobody has decided on, by doubt times the number of books concerned.

    Figures near the line that decides, and figures that contradict each other, cause doubt. Relations with a
    doubt below 5 % are left out. The books concerned are those of the smaller of both clusters. To list
    relations claims nothing. A relation that is decided
    leaves at once; pages behind a cursor stay as they are.
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
    """Records a person's verdict on each pair, as `PUT /v1/books/{book_id}/relations/{other_id}/decision`.

    Each is made or refused by itself, and answered with its own status; with `all_or_none` a refusal of one
    is the answer, and none is made.
    """
    decisions = [item.to_decision() for item in body.items]
    outcomes = await services.decisions.decide(decisions, all_or_none=body.all_or_none, actor=actor)
    return DecidedList(items=list(map(DecidedAnswer.of, body.items, outcomes)))


@router.get("/decisions", summary="Read the history of decisions", scope="read")
async def list_decisions(
    query: Annotated[HistoryQuery, Query()], services: ServicesDep, actor: ActorDep
) -> History:
    """Lists what people decided, also what they withdrew or what others replaced, the newest first."""
    wanted = HistoryFilter(query.by, query.after, book_id=query.book)
    cursors = Cursors("decisions", wanted)
    found = await services.decisions.history(
        wanted, cursors.place(query.cursor, int), query.limit + 1, actor=actor
    )
    page = found[: query.limit]
    next_cursor = cursors.at(page[-1].sequence) if len(found) > query.limit else None
    return History(items=[PastDecisionAnswer.of(past) for past in page], next_cursor=next_cursor)
