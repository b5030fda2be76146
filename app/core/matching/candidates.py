"""With which candidates a book is compared, where there are very many.

Five thousand copies of one book would make twelve million pairs. Each book is compared with its nearest
candidates; of those farther away, one stands for all that are known to be the same text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SelectionLimits:
    """How many candidates of one book are compared."""

    nearest: int = 200
    representatives: int = 200  # of further clusters


@dataclass(frozen=True, slots=True)
class CandidateBook:
    """A candidate of a book."""

    book_id: UUID
    entry_id: int
    cluster: UUID | None  # of books with the same text; None: it is alone
    related: bool  # to this very content of the book, already
    waiting: bool  # its own job has not begun; not told where a person has decided
    decided: bool  # a person has decided about the two books


@dataclass(frozen=True, slots=True)
class Selection:
    """Which candidates are to be compared."""

    compared: list[CandidateBook]  # in the order in which they were found
    passed_over: int  # that another one stands for, or that are too many


def select_candidates(found: Sequence[CandidateBook], entry_id: int, limits: SelectionLimits) -> Selection:
    """Choose from the candidates of an entry, which come nearest first; those decided on always count.

    Beyond the nearest, a later entry whose own job has not begun is left to that job: it will meet this one.
    """
    chosen = [one for one in found if one.decided]
    others = [one for one in found if not one.decided]
    chosen += others[: limits.nearest]
    covered = {one.cluster for one in chosen if one.cluster is not None}
    representatives = passed_over = 0
    for one in others[limits.nearest :]:
        if one.cluster is None and one.waiting and one.entry_id > entry_id:
            continue
        if one.cluster in covered or representatives == limits.representatives:
            passed_over += 1
            continue
        representatives += 1
        chosen.append(one)
        if one.cluster is not None:
            covered.add(one.cluster)
    return Selection([one for one in chosen if not one.related], passed_over)
