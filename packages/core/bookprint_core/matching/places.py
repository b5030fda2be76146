"""Where two books share text, by the places of the hashes that both their samples have.

Text shared throughout is a copy's, one long stretch is a part's. A preface, a privilege, a licence or an
advertisement is short and stands at the same edge of both books, and the rest of either has nothing of the
other. The rule is ours, measured in docs/why/decisions/0049-places.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import FracMinHash, require_same_recipe
from bookprint_core.relations.common_matter import EDGE_WORDS, MOST_OF_A_BOOK, NEARLY_ALL, STARTS
from bookprint_core.signatures.fracminhash import PLACES

_REACH = 3
"""Lengths of a part over which it may be spread in its whole."""

SharesByPlace = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Where:
    """The stretches of two books that their shared hashes span, in shares of each book's length."""

    this: tuple[float, float]  # first and last place, 0 to 1
    other: tuple[float, float]
    even: float  # 1: all over the one book or the other; near 0: in one place of both
    edge: float  # share of the shared hashes that stand at the same edge of both books, 0 to 1
    reach: float  # stretch of the longer book that holds three quarters of them, in lengths of the shorter

    @property
    def is_common_matter(self) -> bool:
        """Whether the books share a preface or the like, at an edge of both, and little else."""
        return self.edge >= NEARLY_ALL

    @property
    def is_scattered(self) -> bool:
        """Whether the shared hashes lie farther apart than those of a part of the longer book would."""
        return self.reach > _REACH


def where(this: FracMinHash, other: FracMinHash, words: int, other_words: int) -> Where | None:
    """Where two books of so many words share text; None: not known, or they share no hash.

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
    """1 less the largest difference between shares of the hashes and of the book, up to any place in it."""
    ordered = np.sort(text)
    steps = np.arange(ordered.size + 1) / ordered.size
    return float(1 - max(np.abs(ordered - steps[1:]).max(), np.abs(ordered - steps[:-1]).max()))


def _window(places: SharesByPlace) -> float:
    """The shortest stretch that holds three quarters of the places: the others may be stock phrases."""
    ordered, count = np.sort(places), max(2, -(-3 * places.size // 4))
    return float((ordered[count - 1 :] - ordered[: 1 - count]).min()) if places.size > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The shared hashes in one of the books."""

    places: SharesByPlace  # 0 to 1
    text: SharesByPlace  # share of the book's distinct text before each: a text that stands twice counts once
    words: int

    @classmethod
    def of(cls, sample: FracMinHash, rows: NDArray[np.intp], words: int) -> "_Side":
        assert sample.places is not None
        places = sample.places[rows]
        before = np.searchsorted(np.sort(sample.places), places)
        return cls(places / PLACES, before / sample.places.size, words)

    def mirrored(self) -> "_Side":
        """The same book from its end."""
        return _Side(1 - self.places, 1 - self.text, self.words)

    def begins(self, most: float) -> NDArray[np.bool_]:
        """The hashes in common matter at its beginning, which is at most this share of its text."""
        return (self.places * self.words <= EDGE_WORDS) & (self.text <= most)


def _edge(this: _Side, other: _Side) -> float:
    """The share of the hashes that stand at the beginning of both books, at the end of both, or at either."""
    back = this.mirrored(), other.mirrored()
    either = _front(this, other, MOST_OF_A_BOOK / 2) | _front(*back, MOST_OF_A_BOOK / 2)
    return float(
        max(
            each.mean()
            for each in (_front(this, other, MOST_OF_A_BOOK), _front(*back, MOST_OF_A_BOOK), either)
        )
    )


def _front(this: _Side, other: _Side, most: float) -> NDArray[np.bool_]:
    """The hashes that stand in text at the beginning of both books; none, where it does not begin there."""
    inside = this.begins(most) & other.begins(most)
    starts = inside.any() and max(this.places[inside].min(), other.places[inside].min()) <= STARTS
    return inside & starts
