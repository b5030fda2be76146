"""What clients are told of the relations of a book; everything is told of the book in the path."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas import examples
from app.core.relations.alignment import Unit
from app.core.relations.decision import DecisionVerdict, RelationSummary
from app.core.relations.related import (
    IndirectRelation,
    PageMatches,
    RelatedBook,
    StoredDecision,
    StoredRelation,
)
from app.core.relations.relation import Direction, Kind
from app.core.relations.signals import LinearFit, Sides, Signals
from app.services.relations import RelationList, finding_of

_DIGITS = 4
"""Decimals of shares and confidences."""


class SharesAnswer(BaseModel):
    """A figure told of both books."""

    model_config = ConfigDict(json_schema_extra={"example": {"this": 0.98, "other": 0.91}})

    this: float = Field(description="Of the book in the path.")
    other: float = Field(description="Of the other one.")

    @classmethod
    def of(cls, sides: Sides) -> Self:
        """The document of a figure."""
        return cls(this=round(sides.left, _DIGITS), other=round(sides.right, _DIGITS))


class PageCounts(BaseModel):
    """Pages of both books."""

    model_config = ConfigDict(json_schema_extra={"example": examples.SIGNALS["text_pages"]})

    this: int = Field(description="Of the book in the path.")
    other: int = Field(description="Of the other one.")

    @classmethod
    def of(cls, sides: Sides) -> Self:
        """The document of counts."""
        return cls(this=int(sides.left), other=int(sides.right))


class LinearFitAnswer(BaseModel):
    """Pages of the other book as a line over those of this one: slope · page + intercept."""

    model_config = ConfigDict(json_schema_extra={"example": examples.LINEAR_FIT})

    slope: float
    intercept: float = Field(description="In pages.")
    delta_page_count: float = Field(
        description="Pages by which the other book's last page lies behind the line."
    )

    @classmethod
    def of(cls, fit: LinearFit) -> Self:
        """The document of a line."""
        return cls(
            slope=round(fit.slope, _DIGITS),
            intercept=round(fit.intercept, _DIGITS),
            delta_page_count=round(fit.delta_page_count, _DIGITS),
        )


class SignalsAnswer(BaseModel):
    """What was measured of two books; shares are 0 to 1."""

    model_config = ConfigDict(json_schema_extra={"example": examples.SIGNALS})

    text_pages: PageCounts = Field(description="Pages with enough text, each counted once.")
    book_similarity: float = Field(description="Jaccard similarity of the books' shingles.")
    page_similarity: float = Field(description="Mean similarity of matching pages.")
    text_shared: SharesAnswer = Field(description="Share of the text that is found in the other book.")
    typical_share: float = Field(
        description="Share of a page's text that is found, before what noise hides is allowed for."
    )
    pages_matched: SharesAnswer = Field(
        description="Share of the text pages that match one to one with the same page breaks."
    )
    stretch_matched: SharesAnswer = Field(
        description="Share of the text pages that so match within the longest stretch."
    )
    stretch: SharesAnswer = Field(description="Share of the text pages that lie between its ends.")
    other_breaks: float = Field(description="Share of the pages found that lie across page breaks.")
    revised: float = Field(
        description="Share of the pages within runs in whose place the other book has other text."
    )
    consecutive_correlation: float = Field(description="Relative consecutive page correlation.")
    runs: int = Field(description="How many runs of matching pages there are.")
    linear_fit: LinearFitAnswer | None = Field(description="Null where no page matches.")

    @classmethod
    def of(cls, signals: Signals) -> Self:
        """The document of signals."""
        return cls(
            text_pages=PageCounts.of(signals.text_pages),
            book_similarity=round(signals.book_similarity, _DIGITS),
            page_similarity=round(signals.page_similarity, _DIGITS),
            text_shared=SharesAnswer.of(signals.text_shared),
            typical_share=round(signals.typical_share, _DIGITS),
            pages_matched=SharesAnswer.of(signals.pages_matched),
            stretch_matched=SharesAnswer.of(signals.stretch_matched),
            stretch=SharesAnswer.of(signals.stretch),
            other_breaks=round(signals.other_breaks, _DIGITS),
            revised=round(signals.revised, _DIGITS),
            consecutive_correlation=round(signals.consecutive_correlation, _DIGITS),
            runs=signals.runs,
            linear_fit=signals.fit and LinearFitAnswer.of(signals.fit),
        )


class DecisionAnswer(BaseModel):
    """What a person decided."""

    model_config = ConfigDict(json_schema_extra={"example": examples.DECISION})

    verdict: DecisionVerdict = Field(description="`kind`: a person has named the kind.")
    kind: Kind | None = Field(description="That was confirmed or named; null: rejected.")
    decided_at: datetime
    stale: bool = Field(
        description="The content of either book has changed since. It stays in force until it is withdrawn "
        "or made anew."
    )

    @classmethod
    def of(cls, decided: StoredDecision) -> Self:
        """The document of a decision."""
        return cls(
            verdict=decided.decision.verdict,
            kind=decided.decision.kind,
            decided_at=decided.at,
            stale=decided.stale,
        )


class FindingAnswer(BaseModel):
    """What the machine found."""

    model_config = ConfigDict(json_schema_extra={"example": examples.FINDING})

    kind: Kind
    direction: Direction | None
    confidence: float = Field(description="0 to 1.")

    @classmethod
    def of(cls, finding: RelationSummary) -> Self:
        """The document of a finding."""
        return cls(
            kind=finding.kind, direction=finding.direction, confidence=round(finding.confidence, _DIGITS)
        )


class RelationAnswer(BaseModel):
    """A book and how it is related to the one in the path."""

    model_config = ConfigDict(json_schema_extra={"example": examples.RELATION})

    book_id: UUID = Field(description="The other book.")
    title: str | None
    kind: Kind | None = Field(
        description="What counts: a person's decision, else the machine's finding; null: only known `via`."
    )
    direction: Direction | None = Field(
        description="Of a part and its whole: whether this book contains the other or is contained in it."
    )
    confidence: float | None = Field(description="0 to 1; of a person's decision 1.")
    signals: SignalsAnswer | None = Field(description="Null where there was too little text to measure.")
    classifier: str | None = Field(description="Which classifier the machine used; null: not compared.")
    decision: DecisionAnswer | None
    machine: FindingAnswer | None = Field(
        description="What the machine found, where a person has decided; else null."
    )
    via: UUID | None = Field(
        description="Not compared itself: this relative has the same text, and stands for it."
    )

    @classmethod
    def of(cls, related: RelatedBook) -> Self:
        """The document of a book that was compared or decided upon."""
        return cls(**_fields(related))

    @classmethod
    def indirect(cls, related: IndirectRelation) -> Self:
        """The document of a book for which another one stands."""
        return cls(
            book_id=related.book_id,
            title=related.title,
            kind=None,
            direction=None,
            confidence=None,
            signals=None,
            classifier=None,
            decision=None,
            machine=None,
            via=related.via,
        )


class RelationsAnswer(BaseModel):
    """The relations of a book: all direct ones, closest first, and a page of those known `via` them."""

    model_config = ConfigDict(json_schema_extra={"example": examples.RELATIONS})

    pending: int = Field(description="Jobs that still look for relations of this book.")
    failed: list[str] = Field(description="Paths of jobs that have failed; pairs may be missing.")
    complete: bool = Field(
        description="False: there are so many relatives that not all of them were compared; some come `via`."
    )
    items: list[RelationAnswer]
    next_cursor: str | None = Field(description="Send it as cursor for more of those known `via`.")

    @classmethod
    def of(cls, found: RelationList, next_cursor: str | None) -> Self:
        """The document of a book's relations."""
        return cls(
            pending=found.progress.pending,
            failed=[f"/v1/jobs/{job_id}" for job_id in found.progress.failed],
            complete=found.complete,
            items=[
                *(RelationAnswer.of(related) for related in found.direct),
                *(RelationAnswer.indirect(related) for related in found.indirect),
            ],
            next_cursor=next_cursor,
        )


class RunAnswer(BaseModel):
    """A stretch of pages in one book that matches one in the other."""

    model_config = ConfigDict(json_schema_extra={"example": examples.RUN})

    left: tuple[int, int] = Field(
        description="First page in the book in the path, and the one after the last."
    )
    right: tuple[int, int] = Field(description="The same in the other book.")


class PageRelation(RelationAnswer):
    """How two books are related, page by page. Pages are counted from 0."""

    model_config = ConfigDict(json_schema_extra={"example": examples.PAGE_RELATION})

    because: str | None = Field(description="Why the machine says so.")
    confidences: dict[Kind, float] = Field(description="Of the machine in each kind; 0 to 1.")
    unit: Unit | None = Field(
        description="Windows of words stand for pages where either book has none; null: nothing compared."
    )
    page_map: list[tuple[int, int, float]] = Field(
        description="Matching pages: of the book in the path, of the other one, and how alike, 0 to 1."
    )
    runs: list[RunAnswer]
    linear_fit: LinearFitAnswer | None

    @classmethod
    def of_pair(cls, related: RelatedBook, matches: PageMatches) -> Self:
        """The document of two books."""
        evidence = related.evidence
        fit = None if evidence is None or evidence.signals is None else evidence.signals.fit
        return cls(
            **_fields(related),
            because=evidence and evidence.because,
            confidences=_rounded(evidence),
            unit=matches.unit,
            page_map=[
                (i, j, round(similarity, _DIGITS))
                for (i, j), similarity in zip(
                    matches.pairs.tolist(), matches.similarities.tolist(), strict=True
                )
            ],
            runs=[RunAnswer(left=left, right=right) for left, right in matches.runs],
            linear_fit=fit and LinearFitAnswer.of(fit),
        )


def _fields(related: RelatedBook) -> dict[str, object]:
    evidence, decided, finding = related.evidence, related.decided, finding_of(related)
    return {
        "book_id": related.book_id,
        "title": related.title,
        "kind": finding and finding.kind,
        "direction": finding and finding.direction,
        "confidence": finding and round(finding.confidence, _DIGITS),
        "signals": evidence and evidence.signals and SignalsAnswer.of(evidence.signals),
        "classifier": evidence and evidence.classifier,
        "decision": decided and DecisionAnswer.of(decided),
        "machine": evidence and decided and FindingAnswer.of(evidence.finding),
        "via": None,
    }


def _rounded(evidence: StoredRelation | None) -> dict[Kind, float]:
    known = evidence.confidences.items() if evidence else ()
    return {kind: round(confidence, _DIGITS) for kind, confidence in known}
