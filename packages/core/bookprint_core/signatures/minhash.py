"""MinHash of a book's shingles (Broder 1997), and the similarities estimated from two MinHashes.

Value p is the least a_p·mix32(h) + b_p mod 2^32 over the low 32 bits h of all shingle hashes. This is scheme
`affine32` of datasketch 2 with its seed and permutations: a `datasketch.MinHash` of the same 32-bit values
is equal bit for bit. The share of equal values estimates the Jaccard similarity J. Books with n₁ and n₂
distinct shingles share J·(n₁ + n₂) / (1 + J) of them, which gives the containment of each in the other.

Long identifiers contain one bit of each value: b-bit minwise hashing (Li and König 2010) with b = 1. Values
of two books are equal with probability J, and the lowest bits of unequal values with probability 1/2. A share
(1 + J) / 2 of the bits therefore agrees. Sixteen bytes replace 512.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import MinHashBits, MinHashSignature, require_same_recipe
from bookprint_core.recipe import MinHashRecipe
from bookprint_core.signatures.shingles import count_distinct
from bookprint_core.signatures.simhash import hamming


@cache
def permutations(recipe: MinHashRecipe) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Draw the odd factors and the summands of the recipe's permutations as datasketch does, (p,) each."""
    generator = np.random.RandomState(recipe.seed)
    a = generator.randint(0, 1 << 31, recipe.permutations, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    b = generator.randint(0, 1 << 32, recipe.permutations, dtype=np.uint32)
    a.flags.writeable = b.flags.writeable = False
    return a, b


def minhash(hashes: NDArray[np.uint64], recipe: MinHashRecipe) -> MinHashSignature | None:
    """Compute the MinHash signature of shingle hashes; None if there are none."""
    from bookprint_core.signatures import kernels

    if hashes.size == 0:
        return None
    a, b = permutations(recipe)
    values = np.full(recipe.permutations, 0xFFFFFFFF, dtype=np.uint32)
    kernels.minhash(hashes, a, b, values)
    return MinHashSignature(recipe.name, values, count_distinct(hashes))


def equal_values_of_each(this: MinHashSignature, others: Sequence[MinHashSignature]) -> NDArray[np.intp]:
    """Count the equal values of a signature and each of n ≥ 1 others, (n,); raise RecipeMismatch."""
    for recipe in {other.recipe for other in others}:
        require_same_recipe(this.recipe, recipe)
    values = np.concatenate([other.values for other in others]).reshape(len(others), -1)
    return np.asarray(np.count_nonzero(values == this.values, axis=1), dtype=np.intp)


def jaccard(a: MinHashSignature, b: MinHashSignature) -> float:
    """Estimate the Jaccard similarity of two books, 0 to 1, in steps of 1/128; raise RecipeMismatch."""
    return float(equal_values_of_each(a, [b])[0] / len(a.values))


def containment(
    equal: NDArray[np.integer], this_count: int, other_counts: NDArray[np.integer], permutations: int = 128
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the containment of a book in n others, and of each other book in it: (n,) each, 0 to 1.

    `equal` (n,) are the numbers of equal values; the counts are of distinct shingles.

    >>> containment(np.array([64]), 1000, np.array([2000]))
    (array([1.]), array([0.5]))
    """
    similarity = equal / permutations
    shared = similarity * (this_count + other_counts) / (1 + similarity)
    return np.minimum(1, shared / this_count), np.minimum(1, shared / other_counts)


_DEVIATIONS = 1.96
"""Standard deviations on either side of an estimate that include 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Range:
    """An estimate and the bounds between which the true value lies with 95 % probability."""

    estimate: float
    low: float
    high: float


def lowest_bits(signature: MinHashSignature) -> MinHashBits:
    """Return the lowest bit of each value; the first is the most significant bit of the first byte."""
    bits = np.packbits((signature.values & np.uint32(1)).astype(np.uint8)).tobytes()
    return MinHashBits(signature.recipe, bits, signature.shingle_count)


def unequal_bits(a: MinHashBits, b: MinHashBits) -> int:
    """Count the unequal bits, 0 to 128, about 64 for unrelated books; raise RecipeMismatch."""
    require_same_recipe(a.recipe, b.recipe)
    return hamming(a.bits, b.bits)


def jaccard_range(unequal: int, permutations: int = 128) -> Range:
    """Estimate the Jaccard similarity, 0 to 1, from the number of unequal bits.

    The estimate 2·agreement − 1 is unbiased except for the cut at 0. The bounds follow Wilson (1927).

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
    """Estimate the share of this book's distinct shingles in the other book, 0 to 1, from their counts.

    >>> containment_range(Range(0.5, 0.5, 0.5), 1000, 2000).estimate
    1.0
    """
    both = this_count + other_count
    shares = (
        min(1.0, similarity * both / (1 + similarity) / max(1, this_count))
        for similarity in (jaccard.estimate, jaccard.low, jaccard.high)
    )
    return Range(*shares)
