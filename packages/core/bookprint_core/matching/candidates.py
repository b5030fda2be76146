"""The selection of candidates for a comparison, if a book has very many.

Five thousand copies of one book would make twelve million pairs. Each book is compared with its nearest
candidates. Among farther candidates, one book represents all books known to have its text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SelectionLimits:
    """Maximum numbers of candidates of a book that are compared."""

    nearest: int = 200
    representatives: int = 200  # books that each represent a further cluster


@dataclass(frozen=True, slots=True)
class CandidateBook:
    """A candidate for a comparison with a book."""

    book_id: UUID
    entry_id: int
    cluster: UUID | None  # of books with the same text; None: no cluster
    related: bool  # whether it has been compared with the present content of the book
    waiting: bool  # whether its own job has not begun; False if a person has decided
    decided: bool  # whether a person has decided about the two books


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidates to compare."""

    compared: list[CandidateBook]  # nearest first
    passed_over: int  # candidates that another book represents, or beyond the limits


def select_candidates(
    candidates: Sequence[CandidateBook], entry_id: int, limits: SelectionLimits
) -> Selection:
    """Select the candidates with which an entry is compared from all its candidates, nearest first.

    Candidates on which a person decided are always selected. Beyond the nearest, a later entry whose own job
    has not begun is left to that job, which finds this entry.
    """
    chosen = [candidate for candidate in candidates if candidate.decided]
    others = [candidate for candidate in candidates if not candidate.decided]
    chosen += others[: limits.nearest]
    covered = {candidate.cluster for candidate in chosen if candidate.cluster is not None}
    representatives = passed_over = 0
    for candidate in others[limits.nearest :]:
        if candidate.cluster is None and candidate.waiting and candidate.entry_id > entry_id:
            continue
        if candidate.cluster in covered or representatives == limits.representatives:
            passed_over += 1
            continue
        representatives += 1
        chosen.append(candidate)
        if candidate.cluster is not None:
            covered.add(candidate.cluster)
    return Selection([candidate for candidate in chosen if not candidate.related], passed_over)
