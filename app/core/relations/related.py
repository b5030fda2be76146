"""What is known of a book's relatives: relations and decisions as they are kept, told of one of the books."""

from collections.abc import Mapping
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
    """What the machine found out about a book and another one, told of the first."""

    finding: RelationSummary
    classifier: str
    because: str
    confidences: Mapping[Kind, float]
    signals: Signals | None  # None: too little text


@dataclass(frozen=True, slots=True, eq=False)
class StoredDecision:
    """A decision as it is kept."""

    decision: Decision
    at: datetime
    stale: bool  # the content of either book has changed since


@dataclass(frozen=True, slots=True, eq=False)
class RelatedBook:
    """A book that has been compared with the one asked about, or decided upon."""

    book_id: UUID
    title: str | None
    evidence: StoredRelation | None  # None: not compared yet
    decided: StoredDecision | None


@dataclass(frozen=True, slots=True, eq=False)
class PageMatches:
    """Which pages of a book and another one match."""

    unit: Unit | None  # None: no page was compared
    runs: list[tuple[tuple[int, int], tuple[int, int]]]  # first page and the one after the last, in each book
    pairs: NDArray[np.int32]  # (n, 2)
    similarities: NDArray[np.float64]  # (n,) 0 to 1


@dataclass(frozen=True, slots=True)
class IndirectRelation:
    """A book that has the same text as a related one, and was not compared itself."""

    book_id: UUID
    title: str | None
    via: UUID


@dataclass(frozen=True, slots=True)
class RelationProgress:
    """How far the search for a book's relations has come."""

    pending: int  # jobs that wait or run
    failed: list[int]  # jobs that failed for good
    passed_over: int  # candidates that were too many to compare


@dataclass(frozen=True, slots=True)
class KindCounts:
    """How many pairs of books were ever found to be of a kind, and what it took."""

    kind: str
    pairs: int
    seconds: float
