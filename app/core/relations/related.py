"""A book's relatives as they are stored: relations and decisions from the point of view of that book."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.relations.alignment import Unit
from app.core.relations.classification import Kind
from app.core.relations.decision import Decision, RelationSummary
from app.core.relations.signals import Signals


@dataclass(frozen=True, slots=True, eq=False)
class StoredRelation:
    """The machine's finding about a book and another one, from the first one's point of view."""

    summary: RelationSummary
    classifier: str
    because: str
    confidences: Mapping[Kind, float]
    signals: Signals | None  # None: too little text


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


@dataclass(frozen=True, slots=True, eq=False)
class PageMatches:
    """The matching pages of two books."""

    unit: Unit | None  # None: no page was compared
    runs: list[tuple[tuple[int, int], tuple[int, int]]]  # first page and the one after the last, in each book
    pairs: NDArray[np.int32]  # (n, 2)
    similarities: NDArray[np.float64]  # (n,) 0 to 1
    this_labels: Sequence[str | None] | None  # of this book's pages; None: not known, or these are windows
    other_labels: Sequence[str | None] | None  # of the other book's pages


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
