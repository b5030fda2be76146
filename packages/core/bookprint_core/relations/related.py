"""The relatives of a book: what the machine finds, and what people decide, which outranks it."""

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

_DIRECTED: frozenset[Kind] = frozenset({"CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT"})
"""Kinds in which one book may contain the other."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about two books."""

    verdict: DecisionVerdict
    kind: Kind | None  # confirmed, or named instead of the machine's; None: rejected


@dataclass(frozen=True, slots=True)
class RelationSummary:
    """A kind of relation and how sure it is, from the point of view of one of the books."""

    kind: Kind
    direction: Direction | None
    confidence: float  # 0 to 1
    decided: bool = field(default=False, compare=False)  # by a person


def effective_relation(machine: RelationSummary | None, decision: Decision | None) -> RelationSummary | None:
    """The relation that counts: the decision if there is one, stale or not, else the machine's finding.

    A person is certain, so the confidence of a decision is 1. Rejected books count as unrelated. A kind that
    a person names keeps the direction that the machine found.
    """
    if decision is None:
        return machine
    kind: Kind = decision.kind or "UNRELATED"
    direction = None if machine is None or kind not in _DIRECTED else machine.direction
    return RelationSummary(kind, direction, 1.0, decided=True)


def outranking(relation: RelationSummary | None) -> bool | None:
    """Whether pages or a person have found two books related; None: their samples count.

    Pages cannot tell a preface from a chapter, so an overlap that they find leaves it to the samples.
    """
    if relation is None or relation.kind == "INSUFFICIENT_TEXT":
        return None
    if relation.kind == "OVERLAPPING_TEXT" and relation.direction is None and not relation.decided:
        return None
    return relation.kind != "UNRELATED"


@dataclass(frozen=True, slots=True)
class PairRelation:
    """The effective relation of two books, and whether a person has decided on it."""

    summary: RelationSummary
    decided: bool
    decided_by: str | None = None  # name of the actor; None: not decided, or not known


@dataclass(frozen=True, slots=True, eq=False)
class StoredRelation:
    """The machine's finding about a book and another one, from the first one's point of view."""

    summary: RelationSummary
    classifier: str
    because: str
    confidences: Mapping[Kind, float]
    signals: Signals | None  # None: too little text
    revised: float | None  # share of lines with other words or numbers; None: texts were not compared


@dataclass(frozen=True, slots=True, eq=False)
class StoredDecision:
    """A decision as it is stored."""

    decision: Decision
    at: datetime
    by: str | None  # name of the actor; None: not known
    stale: bool  # the content of either book has changed since


@dataclass(frozen=True, slots=True, eq=False)
class RelatedBook:
    """A book that was compared with the queried one, or that a person decided on together with it."""

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
    this_labels: Sequence[str | None] | None  # of this book's pages; None: not known, or these are windows
    other_labels: Sequence[str | None] | None  # of the other book's pages

    def by_run(self) -> Iterator["MatchedRun"]:
        """Each run with the pairs of pages in it, in the order of this book."""
        for left, right in self.runs:
            inside = ((self.pairs >= [left[0], right[0]]) & (self.pairs < [left[1], right[1]])).all(axis=1)
            yield MatchedRun(left, right, self.pairs[inside].tolist(), self.similarities[inside].tolist())


@dataclass(frozen=True, slots=True)
class MatchedRun:
    """A run of pages, and those of its pairs that match."""

    this: tuple[int, int]  # first page and the one after the last
    other: tuple[int, int]
    pairs: Sequence[tuple[int, int]]
    similarities: Sequence[float]  # 0 to 1

    @property
    def similarity(self) -> float:
        """The mean of the pairs, 0 to 1."""
        return sum(self.similarities) / max(len(self.similarities), 1)


@dataclass(frozen=True, slots=True)
class IndirectRelation:
    """A book that was not compared and has the same text as a related one."""

    book_id: UUID
    title: str | None
    via: UUID


@dataclass(frozen=True, slots=True)
class RelationProgress:
    """The progress of the search for a book's relations."""

    pending: int  # jobs that wait or run
    failed: list[int]  # jobs that failed for good
    passed_over: int  # candidates left out because there were too many


@dataclass(frozen=True, slots=True)
class KindCounts:
    """The number of pairs of books ever found to be of a kind, and the time that it took."""

    kind: str
    pairs: int
    seconds: float
