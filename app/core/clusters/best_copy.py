"""Which copy of a text to keep or show: one that is complete, and of those the cleanest.

A copy is complete where it is nearly as long as the longest copy whose length another one confirms: matter
that one copy alone has is foreign (another work bound in, pages scanned twice), and what a copy lacks makes
it shorter. Errors of the OCR make the pages of a copy agree less with those of every other, so the complete
copy whose pages agree best is the cleanest.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

NEARLY = 0.95
"""Share of the fullest copy's words from which a copy is complete."""

MOST_COMPARED = 50
"""Complete copies of which the agreement counts; of more, the longest are taken."""

_STEP = 0.01
"""Agreement is told apart in such steps."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A member of a cluster as far as it matters here."""

    book_id: UUID
    word_count: int


@dataclass(frozen=True, slots=True)
class BestCopy:
    """The copy to keep, and a sentence that says why."""

    book_id: UUID
    because: str


@dataclass(frozen=True, slots=True)
class Complete:
    """The copies that are complete."""

    copies: Sequence[Copy]  # at most `MOST_COMPARED`, longest first, equal ones oldest first
    count: int  # of all that are
    of: int  # copies there are

    @property
    def fullest(self) -> int:
        """Words of the fullest."""
        return self.copies[0].word_count


def complete(copies: Collection[Copy]) -> Complete:
    """Those of one or more copies that are complete."""
    by_length = sorted(copies, key=lambda copy: (-copy.word_count, copy.book_id))
    verified = (
        place
        for place, (copy, shorter) in enumerate(pairwise(by_length))
        if shorter.word_count >= NEARLY * copy.word_count
    )
    first = next(verified, 0)
    fullest = by_length[first].word_count
    found = [copy for copy in by_length[first:] if copy.word_count >= NEARLY * fullest]
    return Complete(found[:MOST_COMPARED], len(found), len(by_length))


def best_copy(of: Complete, agreement: Mapping[UUID, float]) -> BestCopy:
    """The best of the complete copies; `agreement` is the mean similarity, 0 to 1, of their pages to others'.

    Of copies that agree equally well the oldest is taken.
    """
    if of.of == 1:
        return BestCopy(of.copies[0].book_id, "It is the only copy of its text.")
    best = min(of.copies, key=lambda copy: (-round(agreement.get(copy.book_id, 0.0) / _STEP), copy.book_id))
    length = f"{best.word_count:,} words, where the fullest of {of.of} copies has {of.fullest:,}"
    if of.count == 1:
        return BestCopy(best.book_id, f"It alone is complete: {length}.")
    agrees = agreement.get(best.book_id)
    if agrees is None:
        return BestCopy(best.book_id, f"It is the oldest of {of.count} that are complete: {length}.")
    return BestCopy(
        best.book_id,
        f"Of {of.count} that are complete its pages agree best with those of other copies, by {agrees:.0%}: "
        f"{length}.",
    )
