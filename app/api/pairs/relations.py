"""Relations as seen from the book in the path: decisions that clients send, and documents."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.deps import ActorDep, BookId, OtherId, PermitDep, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.http.usage import require_key_still_valid
from app.api.schemas.documents import (
    CollectionFilter,
    Cursors,
    Document,
    OneOfBody,
    PageQuery,
    Share,
    part,
    waiting,
)
from app.api.schemas.signatures import ExactAnswer
from app.services.pairs.decisions import NewDecision
from app.services.pairs.relations import RelationList, effective_of
from bookprint_core.relations.alignment import Unit
from bookprint_core.relations.classification import Direction, Kind
from bookprint_core.relations.common_matter import Matter
from bookprint_core.relations.related import (
    DecisionVerdict,
    IndirectRelation,
    PageMatches,
    RelatedBook,
)
from bookprint_core.relations.signals import Signals
from bookprint_core.signatures.exact_overlap import ExactOverlap


class RelationsQuery(PageQuery):
    """The page of a book's relations, and the time to wait for them."""

    wait: float = waiting("nothing is pending")
    collection: CollectionFilter = None


class DecisionBody(OneOfBody):
    """A person's decision on two books: exactly one of verdict and kind."""

    one_of: ClassVar[dict[str, str]] = {"verdict": "string", "kind": "string"}

    verdict: Literal["confirmed", "rejected"] | None = Field(
        default=None, description="Whether the machine is right; a rejected pair counts as unrelated."
    )
    kind: Kind | None = Field(default=None, description="The kind that the relation has instead.")

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: object) -> object:
        if not isinstance(value, str | dict):
            raise PydanticCustomError("decision_form", "This is not a decision")
        return {"verdict": value} if isinstance(value, str) else value

    def to_verdict(self) -> tuple[DecisionVerdict, Kind | None]:
        return self.verdict or "kind", self.kind


class SharesAnswer(Document):
    """A figure of both books."""

    this: Share = Field(validation_alias="left", description="Of the book in the path.")
    other: Share = Field(validation_alias="right", description="Of the other one.")


class PageCounts(Document):
    """Pages of both books."""

    this: int = Field(validation_alias="left", description="Of the book in the path.")
    other: int = Field(validation_alias="right", description="Of the other one.")


class LinearFitAnswer(Document):
    """Pages of the other book as a line over those of this one: slope · page + intercept."""

    slope: Share
    intercept: Share = Field(description="In pages.")
    delta_page_count: Share = Field(
        description="Pages by which the other book's last page lies behind the line."
    )


class SignalsAnswer(Document):
    """Measurements of two books; shares are 0 to 1."""

    text_pages: PageCounts = Field(description="Pages with enough text, each counted once.")
    book_similarity: Share = Field(description="Jaccard similarity of the books' shingles.")
    page_similarity: Share = Field(description="Mean similarity of matching pages.")
    text_shared: SharesAnswer = Field(description="Share of the text that is found in the other book.")
    typical_share: Share = Field(
        description="Share of a page's text that is found, before correction for noise."
    )
    pages_matched: SharesAnswer = Field(
        description="Share of the text pages that match one to one with the same page breaks."
    )
    span_matched: SharesAnswer = Field(
        description="Share of the text pages that so match within the longest span."
    )
    span: SharesAnswer = Field(description="Share of the text pages that lie between its ends.")
    other_breaks: Share = Field(description="Share of the pages found that lie across page breaks.")
    revised: Share = Field(
        description="Share of the pages within runs in whose place the other book has other text."
    )
    consecutive_correlation: Share = Field(description="Relative consecutive page correlation.")
    runs: int = Field(description="How many runs of matching pages there are.")
    linear_fit: LinearFitAnswer | None = Field(
        validation_alias="fit", description="Null where no page matches."
    )


class DecisionAnswer(Document):
    """A person's decision."""

    verdict: DecisionVerdict = part("decision.verdict", "`kind`: a person has named the kind.")
    kind: Kind | None = part("decision.kind", "The kind that was confirmed or named; null: rejected.")
    decided_at: datetime = part("at")
    decided_by: str | None = part(
        "by", "Name of the API key at that time, or `anyone` where none is asked for; null: not known."
    )
    stale: bool = Field(
        description="The content of either book has changed since. It stays in force until it is withdrawn "
        "or made anew."
    )


class FindingAnswer(Document):
    """The machine's finding."""

    kind: Kind
    direction: Direction | None
    confidence: Share = Field(description="0 to 1.")


class RevisedAnswer(Document):
    """How much two books with the same pages differ in more than misread letters."""

    share: Share = Field(description="Of the lines compared, 0 to 1: those with other words or numbers.")


class SharedMatterAnswer(Document):
    """The front or back matter that two books share. Pages are counted from 0."""

    matter: Matter
    this: tuple[int, int] | None = Field(
        description="First page in the book in the path, and the one after the last; null: pages not known."
    )
    other: tuple[int, int] | None = Field(description="The same in the other book.")

    @classmethod
    def of(cls, signals: Signals) -> Self | None:
        """Return None if the books share no text, or more than such matter."""
        if (shared := signals.common_matter) is None:
            return None
        paged = signals.unit == "page"
        return cls(
            matter=shared.matter, this=shared.left if paged else None, other=shared.right if paged else None
        )


class RelationAnswer(Document):
    """A book and how it is related to the one in the path."""

    book_id: UUID = Field(description="The other book.")
    title: str | None
    kind: Kind | None = Field(
        description="By a person's decision, else by the machine's finding; null: only known `via`."
    )
    direction: Direction | None = Field(
        description="Of a part and its whole: whether this book contains the other or is contained in it."
    )
    confidence: Share | None = Field(description="0 to 1; of a person's decision 1.")
    signals: SignalsAnswer | None = Field(description="Null where there was too little text to measure.")
    revised: RevisedAnswer | None = Field(
        description="Of books with the same pages; null where their texts were not compared."
    )
    shares: SharedMatterAnswer | None = Field(
        description="Front or back matter that is all that the books share, as a preface; null: it is not."
    )
    classifier: str | None = Field(description="Which classifier the machine used; null: not compared.")
    decision: DecisionAnswer | None
    machine: FindingAnswer | None = Field(
        description="The machine's finding, where a person has decided; else null."
    )
    via: UUID | None = Field(
        description="Not compared itself: this relative has the same text, and stands for it."
    )

    @classmethod
    def of(cls, related: RelatedBook, **others: object) -> Self:
        """The document of a book that was compared or decided upon; `others` as in `BookAnswer.of`."""
        evidence, decided, summary = related.evidence, related.decided, effective_of(related)
        revised = evidence and evidence.revised
        fields: dict[str, Any] = {
            "book_id": related.book_id,
            "title": related.title,
            "kind": summary and summary.kind,
            "direction": summary and summary.direction,
            "confidence": summary and summary.confidence,
            "signals": evidence and evidence.signals,
            "revised": None if revised is None else RevisedAnswer(share=revised),
            "shares": evidence and evidence.signals and SharedMatterAnswer.of(evidence.signals),
            "classifier": evidence and evidence.classifier,
            "decision": decided,
            "machine": evidence and decided and evidence.summary,
            "via": None,
        }
        return cls(**fields, **others)

    @classmethod
    def indirect(cls, related: IndirectRelation) -> Self:
        unknown = dict.fromkeys(cls.model_fields)
        return cls(**unknown | {"book_id": related.book_id, "title": related.title, "via": related.via})


class RelationsAnswer(Document):
    """The relations of a book: all direct ones, closest first, and a page of those known `via` them."""

    pending: int = Field(description="Jobs that still look for relations of this book.")
    failed: list[str] = Field(description="Paths of jobs that have failed; pairs may be missing.")
    complete: bool = Field(
        description="False: there are so many relatives that not all of them were compared; some come `via`."
    )
    items: list[RelationAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for more of those known `via`.")

    @classmethod
    def of(cls, relations: RelationList, next_cursor: str | None) -> Self:
        return cls(
            pending=relations.progress.pending,
            failed=[f"/v1/jobs/{job_id}" for job_id in relations.progress.failed],
            complete=relations.complete,
            items=[
                *(RelationAnswer.of(related) for related in relations.direct),
                *(RelationAnswer.indirect(related) for related in relations.indirect),
            ],
            next_cursor=next_cursor,
        )


class RunAnswer(Document):
    """A run of pages in one book that matches one in the other."""

    left: tuple[int, int] = Field(
        description="First page in the book in the path, and the one after the last."
    )
    right: tuple[int, int] = Field(description="The same in the other book.")


class PageLabelsAnswer(Document):
    """Printed page numbers of both books; null for a page without one."""

    this: list[str | None] | None = Field(description="Of the book in the path; null: not known.")
    other: list[str | None] | None = Field(description="Of the other one.")


class PageRelation(RelationAnswer):
    """The relation of two books, page by page. Pages are counted from 0."""

    because: str | None = Field(description="Why the machine says so.")
    confidences: dict[Kind, Share] = Field(description="Of the machine in each kind; 0 to 1.")
    unit: Unit | None = Field(
        description="Windows of words stand for pages where either book has none; null: nothing compared."
    )
    page_map: list[tuple[int, int, Share]] = Field(
        description="Matching pages: of the book in the path, of the other one, and how alike, 0 to 1."
    )
    page_labels: PageLabelsAnswer = Field(
        description="By the numbers of the page map; null where windows stand for pages, too."
    )
    runs: list[RunAnswer]
    linear_fit: LinearFitAnswer | None
    exact: ExactAnswer | None = Field(description="Null unless it was asked for.")

    @classmethod
    def of_pair(cls, related: RelatedBook, matches: PageMatches, overlap: ExactOverlap | None = None) -> Self:
        evidence = related.evidence
        pairs = zip(matches.pairs.tolist(), matches.similarities.tolist(), strict=True)
        return cls.of(
            related,
            because=evidence and evidence.because,
            confidences=evidence.confidences if evidence else {},
            unit=matches.unit,
            page_map=[(*pair, similarity) for pair, similarity in pairs],
            page_labels=PageLabelsAnswer(this=matches.this_labels, other=matches.other_labels),
            runs=[RunAnswer(left=left, right=right) for left, right in matches.runs],
            linear_fit=evidence and evidence.signals and evidence.signals.fit,
            exact=overlap and ExactAnswer.of(overlap),
        )


router = SubjectRouter(
    "/v1/books/{book_id}/relations",
    tag="relations",
    description="How two books are related, and decisions of people.",
)


@router.get("", summary="Read a book's relations", scope="read")
async def list_relations(
    book_id: BookId,
    query: Annotated[RelationsQuery, Query()],
    request: Request,
    services: ServicesDep,
    permit: PermitDep,
) -> RelationsAnswer:
    """Answers how this book is related to every other one that it was compared with, closest first.

    The comparison runs in the background: `pending` says whether it still does, and `wait` holds the answer
    until it is done. All direct relations come in one answer; only those known `via` a relative page.
    """
    cursors = Cursors("relations", book_id.bytes, query.collection)
    relations = await services.relations.of_book(
        book_id, cursors.place(query.cursor, UUID), query.limit, query.wait, permit.release, query.collection
    )
    await require_key_still_valid(request.scope)
    next_cursor = None if relations.next is None else cursors.at(relations.next)
    return RelationsAnswer.of(relations, next_cursor)


@router.put("/{other_id}/decision", summary="Decide on a relation", scope="decide", also=(409,))
async def decide(
    body: DecisionBody,
    book_id: BookId,
    other_id: OtherId,
    services: ServicesDep,
    actor: ActorDep,
) -> PageRelation:
    """Records a person's verdict, in place of an earlier one; it outranks the machine until it is withdrawn.

    `confirmed` keeps the machine's present finding; `rejected` keeps the two books apart; `kind` names
    another relation. The words `"confirmed"` and `"rejected"` may stand alone.
    """
    verdict, kind = body.to_verdict()
    await services.decisions.decide([NewDecision(book_id, other_id, verdict, kind)], actor=actor)
    return PageRelation.of_pair(*await services.relations.pair(book_id, other_id))


@router.delete("/{other_id}/decision", status_code=204, summary="Withdraw a decision", scope="decide")
async def withdraw(book_id: BookId, other_id: OtherId, services: ServicesDep, actor: ActorDep) -> Response:
    """Withdraws a person's decision: the machine's finding counts again."""
    await services.decisions.decide([NewDecision(book_id, other_id, "withdrawn")], actor=actor)
    return Response(status_code=204)
