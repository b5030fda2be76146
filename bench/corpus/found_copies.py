"""How well a deduplication has found the copies among books of which is known which belong together."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoundCopies:
    """Clusters and kept books beside the truth."""

    true_pairs: int
    found_pairs: int  # pairs that one cluster has
    right_pairs: int  # of these, those that belong together
    kept: int
    originals_lost: int  # of which no copy is kept
    copies_kept: int  # beyond one of each original

    @property
    def recall(self) -> float:
        """Share of the true pairs that are found."""
        return self.right_pairs / max(self.true_pairs, 1)

    @property
    def precision(self) -> float:
        """Share of the found pairs that are true."""
        return self.right_pairs / max(self.found_pairs, 1)


def found_copies(
    originals: Sequence[Hashable], clusters: Sequence[Hashable], kept: Sequence[bool]
) -> FoundCopies:
    """The figures for books with these originals, of which a method has made these clusters."""
    rows = list(zip(originals, clusters, strict=True))
    represented = {original for original, keep in zip(originals, kept, strict=True) if keep}
    return FoundCopies(
        true_pairs=_pairs(originals),
        found_pairs=_pairs(clusters),
        right_pairs=_pairs(rows),
        kept=sum(kept),
        originals_lost=len(set(originals)) - len(represented),
        copies_kept=sum(kept) - len(represented),
    )


def _pairs(labels: Sequence[Hashable]) -> int:
    """Pairs of equal labels."""
    return sum(count * (count - 1) // 2 for count in Counter(labels).values())
