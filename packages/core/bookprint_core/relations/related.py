"""The relations of a book: results of the classifier, and decisions of people, which outrank them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bookprint_core.relations.alignment import Unit
from bookprint_core.relations.classification import Direction, Kind
from bookprint_core.relations.signals import Signals

DecisionVerdict = Literal["confirmed", "rejected", "kind"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about two books."""

    verdict: DecisionVerdict
    kind: Kind | None  # confirmed, or named instead of the result; None: rejected


@dataclass(frozen=True, slots=True)
class RelationSummary:
    """The kind and confidence of a relation, from the point of view of one of the books."""

    kind: Kind
    direction: Direction | None
    confidence: float  # 0 to 1
    decided: bool = field(default=False, compare=False)  # whether a person decided
    decided_by: str | None = field(default=None, compare=False)  # name of the actor; None: not known


def effective_relation(
    machine: RelationSummary | None, decision: Decision | None, by: str | None = None
) -> RelationSummary | None:
    """Return the relation by the decision if there is one, stale or not, else the classifier's result.

    A decision of the actor `by` has the confidence 1. Rejected books count as unrelated. A decision for a
    kind with a direction gets the direction of the result.
    """
    if decision is None:
        return machine
    kind: Kind = decision.kind or "UNRELATED"
    may_contain = kind in ("CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT")
    direction = machine.direction if machine is not None and may_contain else None
    return RelationSummary(kind, direction, 1.0, decided=True, decided_by=by)


def outranking(relation: RelationSummary | None) -> bool | None:
    """Return whether pages or a person decide that two books are related; None: the samples decide.

    Pages cannot distinguish a preface from a chapter, so the samples decide on an overlap of pages.
    """
    if relation is None or relation.kind == "INSUFFICIENT_TEXT":
        return None
    if relation.kind == "OVERLAPPING_TEXT" and relation.direction is None and not relation.decided:
        return None
    return relation.kind != "UNRELATED"


@dataclass(frozen=True, slots=True, eq=False)
class StoredRelation:
    """The classifier's result for two books, from the first book's point of view."""

    summary: RelationSummary
    classifier: str
    because: str
    confidences: Mapping[Kind, float]
    signals: Signals | None  # None: too little text
    revised: float | None  # share of lines with other words or numbers; None: texts were not compared


@dataclass(frozen=True, slots=True, eq=False)
class StoredDecision:
    """A decision in the catalogue, with its time and author."""

    decision: Decision
    at: datetime
    by: str | None  # name of the actor; None: not known
    stale: bool  # whether the content of either book has changed since


@dataclass(frozen=True, slots=True, eq=False)
class RelatedBook:
    """A book that was compared with the queried book, or named in a decision about both."""

    book_id: UUID
    title: str | None
    evidence: StoredRelation | None  # None: not compared yet
    decided: StoredDecision | None

    @property
    def shares_matter_alone(self) -> bool:
        """Whether the pages share front or back matter alone, and nobody has decided."""
        signals = None if self.evidence is None else self.evidence.signals
        return self.decided is None and signals is not None and signals.common_matter is not None


@dataclass(frozen=True, slots=True, eq=False)
class PageMatches:
    """The matching pages of two books."""

    unit: Unit | None  # None: no page was compared
    runs: list[tuple[tuple[int, int], tuple[int, int]]]  # first page and the one after the last, in each book
    pairs: NDArray[np.int32]  # (n, 2)
    similarities: NDArray[np.float64]  # (n,) 0 to 1
    this_labels: Sequence[str | None] | None  # of this book's pages; None: not known, or the unit is a window
    other_labels: Sequence[str | None] | None  # of the other book's pages

    def by_run(self) -> Iterator["MatchedRun"]:
        """Yield each run with its pairs of pages, in the order of this book."""
        for left, right in self.runs:
            inside = ((self.pairs >= [left[0], right[0]]) & (self.pairs < [left[1], right[1]])).all(axis=1)
            yield MatchedRun(left, right, self.pairs[inside].tolist(), self.similarities[inside].tolist())


@dataclass(frozen=True, slots=True)
class MatchedRun:
    """A run of pages and its matching pairs."""

    this: tuple[int, int]  # first page and the one after the last
    other: tuple[int, int]
    pairs: Sequence[tuple[int, int]]
    similarities: Sequence[float]  # 0 to 1

    @property
    def similarity(self) -> float:
        """Mean similarity of the pairs, 0 to 1."""
        return sum(self.similarities) / max(len(self.similarities), 1)


@dataclass(frozen=True, slots=True)
class IndirectRelation:
    """A book that was not compared but has the same text as the related book `via`."""

    book_id: UUID
    title: str | None
    via: UUID


@dataclass(frozen=True, slots=True)
class RelationProgress:
    """The progress of the search for a book's relations."""

    pending: int  # jobs that wait or run
    failed: list[int]  # jobs that failed for good
    passed_over: int  # candidates not compared because there were too many


@dataclass(frozen=True, slots=True)
class KindCounts:
    """The number of pairs of books ever classified as a kind, and the seconds spent on them."""

    kind: str
    pairs: int
    seconds: float
