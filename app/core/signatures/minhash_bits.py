"""One bit of each MinHash value: b-bit minwise hashing (Li and König 2010) with b = 1.

Of two books with Jaccard similarity J, values are equal with chance J, and the lowest bits of unequal values
agree by chance. So a share (1 + J) / 2 of the bits agrees. Sixteen bytes stand for 512.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from app.core.model import MinHashBits, MinHashSignature, require_same_recipe
from app.core.signatures.simhash import hamming

_DEVIATIONS = 1.96
"""Standard deviations on either side of an estimate, which hold 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Range:
    """An estimate and the bounds between which the true value lies with 95 % probability."""

    estimate: float
    low: float
    high: float


def lowest_bits(signature: MinHashSignature) -> MinHashBits:
    """The lowest bit of each value, the first value's first (most significant bit of the first byte)."""
    bits = np.packbits((signature.values & np.uint32(1)).astype(np.uint8)).tobytes()
    return MinHashBits(signature.recipe, bits, signature.shingle_count)


def unequal_bits(a: MinHashBits, b: MinHashBits) -> int:
    """The number of unequal bits, 0 to 128, about 64 of unrelated books; raises RecipeMismatch."""
    require_same_recipe(a.recipe, b.recipe)
    return hamming(a.bits, b.bits)


def jaccard_range(unequal: int, permutations: int = 128) -> Range:
    """The Jaccard similarity that so many unequal bits estimate, 0 to 1.

    The estimate 2·agreement − 1 is unbiased but for the cut at 0. The bounds are those of Wilson (1927).

    >>> jaccard_range(32)
    Range(estimate=0.5, low=0.336885545624906, high=0.633976458476986)
    """
    n, share = permutations, 1 - unequal / permutations
    middle = (share + _DEVIATIONS**2 / (2 * n)) / (1 + _DEVIATIONS**2 / n)
    spread = _DEVIATIONS * sqrt(share * (1 - share) / n + _DEVIATIONS**2 / (4 * n * n))
    spread /= 1 + _DEVIATIONS**2 / n
    bounds = (share, middle - spread, middle + spread)
    return Range(*(min(1.0, max(0.0, 2 * bound - 1)) for bound in bounds))


def containment_range(jaccard: Range, this_count: int, other_count: int) -> Range:
    """The share of this book's distinct shingles that the other one has, 0 to 1, by their counts.

    >>> containment_range(Range(0.5, 0.5, 0.5), 1000, 2000).estimate
    1.0
    """
    both = this_count + other_count
    shares = (
        min(1.0, similarity * both / (1 + similarity) / max(1, this_count))
        for similarity in (jaccard.estimate, jaccard.low, jaccard.high)
    )
    return Range(*shares)
