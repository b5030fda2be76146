"""Where two books share text, by the places of the hashes that both their samples have.

Text shared throughout is a copy's, one long stretch is a part's. A preface, a privilege, a licence or an
advertisement is short and stands at the same edge of both books, and the rest of either has nothing of the
other. The rule is ours, measured in docs/why/decisions/0049-places.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import FracMinHash, require_same_recipe
from bookprint_core.signatures.fracminhash import PLACES

EDGE_WORDS = 2_000
"""Words at the beginning or the end of a book that may be common matter: some five pages."""

_EDGE = 0.75
"""Share of a book that common matter takes at most: the rest is the work."""

_STARTS = 0.125
"""Share of a book within which common matter begins, or ends where it stands at the end."""

_NEARLY_ALL = 0.95
"""Share of the shared hashes that tell where the text is; a few are stock phrases."""

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
        return self.edge >= _NEARLY_ALL

    @property
    def is_scattered(self) -> bool:
        """Whether the shared hashes lie farther apart than those of a part of the longer book would."""
        return self.reach > _REACH


def where(this: FracMinHash, other: FracMinHash, words: int, other_words: int) -> Where | None:
    """Return where two books of so many words share text; None: not known, or they share no hash.

    Raises RecipeMismatch.
    """
    require_same_recipe(this.recipe, other.recipe)
    if this.places is None or other.places is None or not words or not other_words or not other.hashes.size:
        return None
    at = np.minimum(np.searchsorted(other.hashes, this.hashes), other.hashes.size - 1)
    of_this = np.flatnonzero(other.hashes[at] == this.hashes)
    of_other = at[of_this]
    if not of_this.size:
        return None
    left, right = _Side.of(this, of_this, words), _Side.of(other, of_other, other_words)
    shorter, longer = (left, right) if words < other_words else (right, left)
    return Where(
        (float(left.ordered[0]), float(left.ordered[-1])),
        (float(right.ordered[0]), float(right.ordered[-1])),
        even=max(_evenness(left), _evenness(right)),
        edge=_edge(left, right),
        reach=_window(longer.ordered) * longer.words / shorter.words,
    )


def _evenness(side: "_Side") -> float:
    """Return 1 less the largest difference between shares of the hashes and of the book, up to any place."""
    text = np.sort(side.text)
    steps = np.arange(text.size + 1) / text.size
    return float(1 - max(np.abs(text - steps[1:]).max(), np.abs(text - steps[:-1]).max()))


def _window(ordered: SharesByPlace) -> float:
    """Return the shortest stretch that holds three quarters of the places: others may be stock phrases."""
    count = max(2, -(-3 * ordered.size // 4))
    return float((ordered[count - 1 :] - ordered[: 1 - count]).min()) if ordered.size > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The shared hashes in one of the books."""

    places: SharesByPlace  # 0 to 1
    ordered: SharesByPlace  # the same places, ascending
    text: SharesByPlace  # share of the book's distinct text before each: a text that stands twice counts once
    words: int

    @classmethod
    def of(cls, sample: FracMinHash, rows: NDArray[np.intp], words: int) -> "_Side":
        assert sample.places is not None
        places = sample.places[rows]
        before = np.searchsorted(np.sort(sample.places), places)
        shares = places / PLACES
        return cls(shares, np.sort(shares), before / sample.places.size, words)

    def mirrored(self) -> "_Side":
        """Return the same book from its end."""
        return _Side(1 - self.places, 1 - self.ordered[::-1], 1 - self.text, self.words)


def _edge(this: _Side, other: _Side) -> float:
    """Return the share of the hashes that stand at the beginning of both books, at the end, or at either."""
    front, half_front = _begin(this, other)
    back, half_back = _begin(this.mirrored(), other.mirrored())
    return float(max(each.mean() for each in (front, back, half_front | half_back)))


def _begin(this: _Side, other: _Side) -> list[NDArray[np.bool_]]:
    """Return the hashes in common matter that begins both books: at most `_EDGE` of each, and half."""
    near = (this.places * this.words <= EDGE_WORDS) & (other.places * other.words <= EDGE_WORDS)
    if not near.any():
        return [near, near]
    share, found = np.maximum(this.text, other.text), []
    for most in (_EDGE, _EDGE / 2):
        inside = near & (share <= most)
        starts = inside.any() and max(this.places[inside].min(), other.places[inside].min()) <= _STARTS
        found.append(inside & starts)
    return found
