"""The comparison of two books by their identifiers: the distance, and its rarity among strangers.

Unlike books differ in fewer bits the longer they are; the outlook of Vladimir et al. (2015) asks for the
length. The verdict therefore depends on the probability that a stranger is as near. A stranger is another
book of the same language, as long as the shorter book. The distances of strangers are normally distributed.
One fingerprint bit counts as two MinHash bits. Measurements: docs/why/decisions/0021-bp2-and-composite.md.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import erfc, sqrt
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import require_same_recipe
from bookprint_core.signatures.identifier import Identifier
from bookprint_core.signatures.minhash import Range, containment_range, jaccard_range, unequal_bits
from bookprint_core.signatures.simhash import hamming

SAME = -4.7534
"""Largest z-score still called the same; one stranger in a million reaches it."""

SAME_WITH_ISBN = -4.0
"""Largest z-score of books with one ISBN still called the same; one stranger in 30,000 reaches it."""

UNSURE = -3.0902
"""Largest z-score not called different; one stranger in a thousand reaches it."""

LEAST_CHANCE = 1e-6
"""Minimum probability returned; smaller ones cannot be measured on some tens of millions of pairs."""

Verdict = Literal["same", "different", "unsure"]
Bits = TypeVar("Bits", float, NDArray[np.float64])
"""Number of bits for one pair of books, or numbers for many pairs."""

IsbnComparison = Literal["same", "different", "absent"]

_FINGERPRINT_WEIGHT = 2  # MinHash bits per bit of the fingerprint
_SPREAD = 6.0  # standard deviation of strangers' fingerprint distances, bits
_MINHASH_MEAN, _MINHASH_SPREAD = 64.0, sqrt(32)  # of 128 fair coins
_LONGEST_MEAN, _SHORTEST_MEAN = 49.0, 63.0  # bits
_MEAN_FALLS_FROM, _MEAN_FALLS = 12.0, 2.5  # log2 of words; bits for each doubling


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two identifiers; None if an identifier lacks the necessary part."""

    distance: int  # bits of the fingerprint, 0 to 128
    unequal_bits: int | None  # of the 128 MinHash bits
    jaccard: Range | None  # 0 to 1
    this_in_other: Range | None  # share of this book's shingles that the other has, 0 to 1
    other_in_this: Range | None  # share of the other book's shingles that this book has, 0 to 1
    length_ratio: float  # of the shorter book to the longer book, by words; 0 to 1
    lengths_exclude: bool  # whether the shorter book is too short for the similarity of the bits
    stranger_chance: float  # probability that a stranger is as near, 1e-6 (includes less) to 1
    isbn: IsbnComparison
    verdict: Verdict


def compare(this: Identifier, other: Identifier) -> Comparison:
    """Compare two books; a `bp1:` identifier is compared by its fingerprint alone.

    Raises RecipeMismatch if their recipes differ.
    """
    require_same_recipe(this.fingerprint.recipe, other.fingerprint.recipe)
    distance = hamming(this.fingerprint.bits, other.fingerprint.bits)
    shorter, longer = sorted((this.word_count, other.word_count))
    unequal = jaccard = inside = around = None
    exclude = False
    if this.minhash is not None and other.minhash is not None:
        unequal = unequal_bits(this.minhash, other.minhash)
        counts = (this.minhash.shingle_count, other.minhash.shingle_count)
        jaccard = jaccard_range(unequal)
        inside, around = containment_range(jaccard, *counts), containment_range(jaccard, *reversed(counts))
        exclude = jaccard.low > min(counts) / max(counts)
    isbn: IsbnComparison = "absent"
    if this.isbn is not None and other.isbn is not None:
        isbn = "same" if this.isbn == other.isbn else "different"
    return Comparison(
        distance=distance,
        unequal_bits=unequal,
        jaccard=jaccard,
        this_in_other=inside,
        other_in_this=around,
        length_ratio=shorter / longer,
        lengths_exclude=exclude,
        stranger_chance=stranger_chance(distance, unequal, shorter),
        isbn=isbn,
        verdict=verdict(distance, unequal, shorter, isbn),
    )


def verdict(distance: int, unequal: int | None, words: int, isbn: IsbnComparison = "absent") -> Verdict:
    """Return the verdict on two books at this distance; the shorter book has `words` words.

    MinHash bits cannot confirm fingerprints farther apart than one stranger in a thousand. Books with one
    ISBN need not be as near; different ISBNs mean nothing, because each edition has its own ISBN.

    >>> verdict(20, None, 100_000), verdict(28, 34, 100_000), verdict(28, 64, 100_000)
    ('same', 'same', 'unsure')
    """
    expected = expected_distance(words)
    together = deviation(distance, unequal, expected)
    if together > UNSURE:
        return "different"
    if isbn == "same" and together <= SAME_WITH_ISBN:
        return "same"
    confirmed = together <= SAME and deviation(distance, None, expected) <= UNSURE
    return "same" if confirmed else "unsure"


def reach(words: NDArray[np.integer], *, with_minhash: bool) -> NDArray[np.int64]:
    """Return the largest distance, in bits, at which a book may be the same without an ISBN, (n,).

    `words` (n,) is the word count of the shorter book, or less.

    >>> reach(np.array([1_000, 100_000]), with_minhash=True)
    array([44, 32])
    """
    bound = UNSURE if with_minhash else SAME
    return np.asarray(np.floor(expected_distances(words) + bound * _SPREAD), dtype=np.int64)


def stranger_chance(distance: int, unequal: int | None, words: int) -> float:
    """Compute the probability that a stranger is at most this far, in fingerprint and known MinHash bits.

    `words` is the word count of the shorter book. The result is at least `LEAST_CHANCE`. It was measured on
    42.28 million pairs of unlike books of one language. For the result 1e-6 the measured frequency was
    1.02e-6 by fingerprints and 1.09e-6 with MinHash bits: in Latin 7.8e-6 and 6.5e-6, in Spanish 4.7e-6 by
    fingerprints, in Japanese and Chinese 0 to 6e-8. For the result 1e-3 it was 2.2e-3 in English, 4.6e-3 in
    Spanish and 6e-5 in Japanese. Strangers in Han and Kana are 2 to 8 bits farther apart than by the formula.
    An identifier does not contain its script, so their result is too high. Books that quote each other are
    not strangers.

    >>> round(stranger_chance(44, None, 1_000), 5), stranger_chance(0, None, 1_000)
    (0.00077, 1e-06)
    """
    chance = erfc(-deviation(distance, unequal, expected_distance(words)) / sqrt(2)) / 2
    return max(LEAST_CHANCE, chance)


def deviation(distance: Bits, unequal: Bits | None, expected: Bits) -> Bits:
    """Compute the z-score of a distance among the distances of strangers; below 0 is nearer."""
    nearer = distance - expected
    if unequal is None:
        return nearer / _SPREAD
    spread = sqrt((_FINGERPRINT_WEIGHT * _SPREAD) ** 2 + _MINHASH_SPREAD**2)
    return (_FINGERPRINT_WEIGHT * nearer + unequal - _MINHASH_MEAN) / spread


@lru_cache
def expected_distance(words: int) -> float:
    """Return the mean fingerprint distance of two strangers in bits; the shorter has `words` words.

    It is 63 bits up to 4,096 words, 2.5 bits less per doubling, and 49 bits from 199,000 words on.
    """
    return float(expected_distances(np.array(words)))


def expected_distances(words: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return `expected_distance` for many pairs of strangers, (n,)."""
    doublings = np.log2(np.maximum(1, words)) - _MEAN_FALLS_FROM
    return np.asarray(np.clip(_SHORTEST_MEAN - _MEAN_FALLS * doublings, _LONGEST_MEAN, _SHORTEST_MEAN))
