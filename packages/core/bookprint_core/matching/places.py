"""The places of the text that two books share, by the hashes in both samples.

Copies share text throughout; a part shares one long stretch. A preface, a privilege, a licence or an
advertisement is short and at the same edge of both books. The remaining texts have nothing in common. The
rule is ours; measurements: docs/why/decisions/0049-places.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import FracMinHash, require_same_recipe
from bookprint_core.relations.common_matter import EDGE_WORDS, MOST_OF_A_BOOK, NEARLY_ALL, STARTS
from bookprint_core.signatures.fracminhash import PLACES

_REACH = 3
"""Longest stretch of a whole over which its part may be spread, in lengths of the part."""

SharesByPlace = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Where:
    """The stretches of two books that their shared hashes span, in shares of each book's length."""

    this: tuple[float, float]  # first and last place, 0 to 1
    other: tuple[float, float]
    even: float  # 1: spread evenly over either book; near 0: in one place of both books
    edge: float  # share of the shared hashes at the same edge of both books, 0 to 1
    reach: float  # stretch of the longer book with three quarters of the hashes, in lengths of the shorter

    @property
    def is_common_matter(self) -> bool:
        """Whether the books share a preface or similar matter at an edge of both, and little else."""
        return self.edge >= NEARLY_ALL

    @property
    def is_scattered(self) -> bool:
        """Whether the shared hashes are farther apart than the hashes of a part in the longer book."""
        return self.reach > _REACH


def where(this: FracMinHash, other: FracMinHash, words: int, other_words: int) -> Where | None:
    """Find the places where two books with these word counts share text; None: not known, or no shared hash.

    Raises RecipeMismatch.
    """
    require_same_recipe(this.recipe, other.recipe)
    if this.places is None or other.places is None or not words or not other_words:
        return None
    _, of_this, of_other = np.intersect1d(this.hashes, other.hashes, assume_unique=True, return_indices=True)
    if not of_this.size:
        return None
    left, right = _Side.of(this, of_this, words), _Side.of(other, of_other, other_words)
    shorter, longer = (left, right) if words < other_words else (right, left)
    return Where(
        _span(left.places),
        _span(right.places),
        even=max(_evenness(left.text), _evenness(right.text)),
        edge=_edge(left, right),
        reach=_window(longer.places) * longer.words / shorter.words,
    )


def _span(places: SharesByPlace) -> tuple[float, float]:
    return float(places.min()), float(places.max())


def _evenness(text: SharesByPlace) -> float:
    """Return 1 minus the largest difference, at any place, between the shares of hashes and book before."""
    ordered = np.sort(text)
    steps = np.arange(ordered.size + 1) / ordered.size
    return float(1 - max(np.abs(ordered - steps[1:]).max(), np.abs(ordered - steps[:-1]).max()))


def _window(places: SharesByPlace) -> float:
    """Return the length of the shortest stretch with three quarters of the places; others may be phrases."""
    ordered, count = np.sort(places), max(2, -(-3 * places.size // 4))
    return float((ordered[count - 1 :] - ordered[: 1 - count]).min()) if places.size > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The shared hashes in one of the books."""

    places: SharesByPlace  # 0 to 1
    text: SharesByPlace  # share of the book's distinct text before each place; repeated text counts once
    words: int

    @classmethod
    def of(cls, sample: FracMinHash, rows: NDArray[np.intp], words: int) -> "_Side":
        assert sample.places is not None
        places = sample.places[rows]
        before = np.searchsorted(np.sort(sample.places), places)
        return cls(places / PLACES, before / sample.places.size, words)

    def mirrored(self) -> "_Side":
        """Return the places counted from the end of the book."""
        return _Side(1 - self.places, 1 - self.text, self.words)

    def begins(self, most: float) -> NDArray[np.bool_]:
        """Return which hashes are in the first `EDGE_WORDS` words and the first share `most` of the text."""
        return (self.places * self.words <= EDGE_WORDS) & (self.text <= most)


def _edge(this: _Side, other: _Side) -> float:
    """Return the largest share of hashes at the beginning of both books, at their ends, or at either edge."""
    back = this.mirrored(), other.mirrored()
    either = _front(this, other, MOST_OF_A_BOOK / 2) | _front(*back, MOST_OF_A_BOOK / 2)
    return float(
        max(
            each.mean()
            for each in (_front(this, other, MOST_OF_A_BOOK), _front(*back, MOST_OF_A_BOOK), either)
        )
    )


def _front(this: _Side, other: _Side, most: float) -> NDArray[np.bool_]:
    """Return which hashes are in text at the beginning of both books; none if the text starts too late."""
    inside = this.begins(most) & other.begins(most)
    starts = inside.any() and max(this.places[inside].min(), other.places[inside].min()) <= STARTS
    return inside & starts
