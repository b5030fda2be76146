"""The places of the text that two books share, by the hashes in both samples.

Copies share text throughout; a part shares one long stretch. A preface, a privilege, a licence or an
advertisement is short and at the same edge of both books. The remaining texts have nothing in common. The
rule is ours; measurements: docs/why/decisions/0049-places.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import FracMinHash, require_same_recipe
from bookprint_core.relations.common_matter import BACK_WORDS, FRONT_WORDS, MOST_OF_A_BOOK, NEARLY_ALL, STARTS
from bookprint_core.signatures.fracminhash import PLACES

SharesByPlace = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Where:
    """The stretches of two books that their shared hashes span, in shares of each book's length."""

    this: tuple[float, float]  # first and last place, 0 to 1
    other: tuple[float, float]
    even: float  # 1: spread evenly over either book; near 0: in one place of both books
    edge: float  # share of the shared hashes at the same edge of both books, 0 to 1
    reach: float  # stretch of the longer book with three quarters of the hashes, in lengths of the shorter
    agreement: float  # words of the shorter of the two stretches, divided by those of the longer; 0 to 1

    @property
    def is_common_matter(self) -> bool:
        """Whether the books share a preface or similar matter at an edge of both, and little else."""
        return self.edge >= NEARLY_ALL

    @property
    def is_scattered(self) -> bool:
        """Whether the shared hashes are farther apart than the hashes of a part in the longer book."""
        return self.reach > 3  # lengths of a part

    @property
    def is_one_passage(self) -> bool:
        """Whether the shared hashes are equally far apart in both books, as in one passage of both."""
        return self.agreement >= 0.9


def where(this: FracMinHash, other: FracMinHash, words: int, other_words: int) -> Where | None:
    """Find the places where two books with these word counts share text; None: not known, or no shared hash.

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
    lengths = sorted(float(each.ordered[-1] - each.ordered[0]) * each.words for each in (left, right))
    return Where(
        (float(left.ordered[0]), float(left.ordered[-1])),
        (float(right.ordered[0]), float(right.ordered[-1])),
        even=max(_evenness(left), _evenness(right)),
        edge=_edge(left, right),
        reach=_window(longer.ordered) * longer.words / shorter.words,
        agreement=(lengths[0] + 1) / (lengths[1] + 1),  # hashes of one word are alike, too
    )


def _evenness(side: "_Side") -> float:
    """Return 1 less the largest difference between shares of the hashes and of the book, up to any place."""
    text = np.sort(side.text)
    steps = np.arange(text.size + 1) / text.size
    return float(1 - max(np.abs(text - steps[1:]).max(), np.abs(text - steps[:-1]).max()))


def _window(ordered: SharesByPlace) -> float:
    """Return the length of the shortest stretch with three quarters of the places; the rest may be chance."""
    count = max(2, -(-3 * ordered.size // 4))
    return float((ordered[count - 1 :] - ordered[: 1 - count]).min()) if ordered.size > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The shared hashes in one of the books."""

    places: SharesByPlace  # 0 to 1
    ordered: SharesByPlace  # these places, ascending
    text: SharesByPlace  # share of the book's distinct text before each place; repeated text counts once
    words: int

    @classmethod
    def of(cls, sample: FracMinHash, rows: NDArray[np.intp], words: int) -> "_Side":
        assert sample.places is not None
        places = sample.places[rows]
        before = np.searchsorted(np.sort(sample.places), places)
        shares = places / PLACES
        return cls(shares, np.sort(shares), before / sample.places.size, words)

    def mirrored(self) -> "_Side":
        """Return the places counted from the end of the book."""
        return _Side(1 - self.places, 1 - self.ordered[::-1], 1 - self.text, self.words)


def _edge(this: _Side, other: _Side) -> float:
    """Return the largest share of hashes at the beginning of both books, at their ends, or at either edge."""
    front, half_front = _begin(this, other, FRONT_WORDS)
    back, half_back = _begin(this.mirrored(), other.mirrored(), BACK_WORDS)
    return float(max(each.mean() for each in (front, back, half_front | half_back)))


def _begin(this: _Side, other: _Side, words: int) -> list[NDArray[np.bool_]]:
    """Return which hashes are in common matter of at most so many words that begins both books.

    In the first array it may take `MOST_OF_A_BOOK` of each book, in the second array half of that.
    """
    near = (this.places * this.words <= words) & (other.places * other.words <= words)
    if not near.any():
        return [near, near]
    share, found = np.maximum(this.text, other.text), []
    for most in (MOST_OF_A_BOOK, MOST_OF_A_BOOK / 2):
        inside = near & (share <= most)
        starts = inside.any() and max(this.places[inside].min(), other.places[inside].min()) <= STARTS
        found.append(inside & starts)
    return found
