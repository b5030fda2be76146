"""Relations as seen from the book in the path: bodies of decisions, and documents."""

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
    """The page of a book's relations to return, and the time to wait."""

    wait: float = waiting("nothing is pending")
    collection: CollectionFilter = None


class DecisionBody(OneOfBody):
    """A person's decision on two books: exactly one of verdict and kind."""

    one_of: ClassVar[dict[str, str]] = {"verdict": "string", "kind": "string"}

    verdict: Literal["confirmed", "rejected"] | None = Field(
        default=None, description="Verdict on the classifier's result; a rejected pair counts as unrelated."
    )
    kind: Kind | None = Field(default=None, description="The correct kind of the relation.")

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: object) -> object:
        if not isinstance(value, str | dict):
            raise PydanticCustomError("decision_form", "This is not a decision")
        return {"verdict": value} if isinstance(value, str) else value


class SharesAnswer(Document):
    """A share for each of two books, 0 to 1."""

    this: Share = Field(validation_alias="left", description="Share for the book in the path.")
    other: Share = Field(validation_alias="right", description="Share for the other book.")


class PageCounts(Document):
    """Numbers of pages of two books."""

    this: int = Field(validation_alias="left", description="Pages of the book in the path.")
    other: int = Field(validation_alias="right", description="Pages of the other book.")


class LinearFitAnswer(Document):
    """Pages of the other book as a linear function of pages of this book: slope · page + intercept."""

    slope: Share
    intercept: Share = Field(description="Intercept in pages.")
    delta_page_count: Share = Field(
        description="Distance of the other book's last page from the line, in pages."
    )


class SignalsAnswer(Document):
    """Measurements of two books; shares are 0 to 1."""

    text_pages: PageCounts = Field(description="Pages with enough text; a page scanned twice counts once.")
    book_similarity: Share = Field(description="Jaccard similarity of the books' shingles.")
    page_similarity: Share = Field(description="Mean similarity of matching pages.")
    text_shared: SharesAnswer = Field(description="Share of the text found in the other book.")
    typical_share: Share = Field(
        description="Typical share of a page's text found in the other book, before correction for noise."
    )
    pages_matched: SharesAnswer = Field(
        description="Share of text pages that match one to one with the same page breaks."
    )
    span_matched: SharesAnswer = Field(
        description="Share of text pages that match one to one within the longest span."
    )
    span: SharesAnswer = Field(description="Share of text pages between the ends of the longest span.")
    other_breaks: Share = Field(description="Share of found pages that cross page breaks of the other book.")
    revised: Share = Field(
        description="Share of pages within runs that have different text in the other book."
    )
    consecutive_correlation: Share = Field(description="Relative consecutive page correlation.")
    runs: int = Field(description="Number of runs of matching pages.")
    linear_fit: LinearFitAnswer | None = Field(validation_alias="fit", description="Null if no page matches.")


class DecisionAnswer(Document):
    """A person's decision."""

    verdict: DecisionVerdict = part("decision.verdict", "`kind`: a person has corrected the kind.")
    kind: Kind | None = part("decision.kind", "The confirmed or corrected kind; null: rejected.")
    decided_at: datetime = part("at")
    decided_by: str | None = part(
        "by", "Name of the API key at that time; `anyone` if keys are not required; null: unknown."
    )
    stale: bool = Field(
        description="True: the content of a book has changed since the decision. It stays in force until "
        "it is withdrawn or replaced."
    )


class FindingAnswer(Document):
    """The result of the classifier."""

    kind: Kind
    direction: Direction | None
    confidence: Share = Field(description="Confidence, 0 to 1.")


class RevisedAnswer(Document):
    """Difference of two books with the same pages, apart from misread letters."""

    share: Share = Field(description="Share of the compared lines with other words or numbers, 0 to 1.")


class SharedMatterAnswer(Document):
    """The front or back matter that two books share. Pages are counted from 0."""

    matter: Matter
    this: tuple[int, int] | None = Field(
        description="Pages of the book in the path, end exclusive; null: page breaks unknown."
    )
    other: tuple[int, int] | None = Field(
        description="Pages of the other book, end exclusive; null: page breaks unknown."
    )

    @classmethod
    def of(cls, signals: Signals) -> Self | None:
        """Return the shared front or back matter; None if the books share no text or other text."""
        if (shared := signals.common_matter) is None:
            return None
        paged = signals.unit == "page"
        return cls(
            matter=shared.matter, this=shared.left if paged else None, other=shared.right if paged else None
        )


class RelationAnswer(Document):
    """A book and its relation to the book in the path."""

    book_id: UUID = Field(description="The other book.")
    title: str | None
    kind: Kind | None = Field(
        description="Kind by a person's decision, otherwise by the classifier; null: only known `via`."
    )
    direction: Direction | None = Field(
        description="Whether the book in the path contains the other or is contained in it; null: neither."
    )
    confidence: Share | None = Field(description="Confidence, 0 to 1; 1 for a person's decision.")
    signals: SignalsAnswer | None = Field(description="Null if there was too little text to measure.")
    revised: RevisedAnswer | None = Field(
        description="Set only for SAME_PAGINATION; null if the texts were not compared."
    )
    shares: SharedMatterAnswer | None = Field(
        description="Front or back matter, such as a preface, if the books share nothing else."
    )
    classifier: str | None = Field(description="Name of the classifier; null: not compared.")
    decision: DecisionAnswer | None
    machine: FindingAnswer | None = Field(
        description="Result of the classifier, if a person has decided; otherwise null."
    )
    via: UUID | None = Field(
        description="Id of the related book with the same text, if this book was not compared itself."
    )

    @classmethod
    def of(cls, related: RelatedBook, **others: object) -> Self:
        """Return the document of a compared or decided pair; `others` are the fields of a subclass."""
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
    """All direct relations of a book, closest first, and one page of relations known `via` them."""

    pending: int = Field(description="Number of jobs that still search for relations of this book.")
    failed: list[str] = Field(description="Paths of failed jobs; their pairs may be missing.")
    complete: bool = Field(
        description="False: too many related books to compare all; some are only known `via` another."
    )
    items: list[RelationAnswer]
    next_cursor: str | None = Field(description="Cursor of the next page of relations known `via`.")

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
    """A run of pages that matches a run in the other book."""

    left: tuple[int, int] = Field(description="Pages of the book in the path, end exclusive.")
    right: tuple[int, int] = Field(description="Pages of the other book, end exclusive.")


class PageLabelsAnswer(Document):
    """Page labels of both books; null for a page without a label."""

    this: list[str | None] | None = Field(description="Labels of the book in the path; null: unknown.")
    other: list[str | None] | None = Field(description="Labels of the other book; null: unknown.")


class PageRelation(RelationAnswer):
    """The relation of two books, page by page. Pages are counted from 0."""

    because: str | None = Field(description="Reason for the classifier's result.")
    confidences: dict[Kind, Share] = Field(description="Confidence of the classifier in each kind, 0 to 1.")
    unit: Unit | None = Field(
        description="window: one of the books has no pages, so windows replace them; null: not compared."
    )
    page_map: list[tuple[int, int, Share]] = Field(
        description="Matching pages: page of the book in the path, page of the other, similarity 0 to 1."
    )
    page_labels: PageLabelsAnswer = Field(
        description="Page labels by the page numbers of the page map; null if windows replace pages."
    )
    runs: list[RunAnswer]
    linear_fit: LinearFitAnswer | None
    exact: ExactAnswer | None = Field(description="Null unless the parameter `exact` was sent.")

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
    description="Relations of two books, and people's decisions.",
)


@router.get("", summary="Read a book's relations", scope="read")
async def list_relations(
    book_id: BookId,
    query: Annotated[RelationsQuery, Query()],
    request: Request,
    services: ServicesDep,
    permit: PermitDep,
) -> RelationsAnswer:
    """Returns the relations of this book to all books that it was compared with, closest first.

    The comparison runs in the background: `pending` is not 0 while it runs, and `wait` delays the answer
    until it ends. One answer contains all direct relations; only relations known `via` another are paged.
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
    """Records a person's decision, replacing an earlier one. It overrides the classifier until withdrawn.

    `confirmed` fixes the classifier's present result; `rejected` separates the two books; `kind` sets another
    relation. The body may also be just the string `"confirmed"` or `"rejected"`.
    """
    decision = NewDecision(book_id, other_id, body.verdict or "kind", body.kind)
    await services.decisions.decide([decision], actor=actor)
    return PageRelation.of_pair(*await services.relations.pair(book_id, other_id))


@router.delete("/{other_id}/decision", status_code=204, summary="Withdraw a decision", scope="decide")
async def withdraw(book_id: BookId, other_id: OtherId, services: ServicesDep, actor: ActorDep) -> Response:
    """Withdraws a person's decision. The classifier's result counts again."""
    await services.decisions.decide([NewDecision(book_id, other_id, "withdrawn")], actor=actor)
    return Response(status_code=204)
