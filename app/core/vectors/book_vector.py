"""The vector of a book: 128 small whole numbers, alike for books with alike words.

Latent semantic analysis (Deerwester et al. 1990) of hashed words. A word counts by the logarithm of its count
times its rarity; the sum of the words' learnt rows is the vector. Books of one series share names and
subjects, so their vectors point the same way.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.core.text.normal_form import NormalText
from app.core.vectors.weights import VectorWeights

LEAST_WORDS = 50
"""A shorter text has no vector."""

DIMENSIONS = 128
LONGEST = 127
"""The largest number of every vector, by which it is scaled."""

MOST_COUNTED = 1 << 16

Vector = NDArray[np.int8]
"""(128,), -127 to 127."""


def book_vector(text: NormalText, weights: VectorWeights) -> Vector | None:
    """The vector of a book under these weights; None where it has fewer than 50 words or none with weight.

    A text of 600,000 characters takes some milliseconds.
    """
    from app.core.vectors import kernels

    counts = np.zeros(weights.rarity.size, dtype=np.uint32)
    words = kernels.count_words(text.codes, text.size, text.kinds, weights.bits, counts)
    if words < LEAST_WORDS:
        return None
    cells = np.flatnonzero(counts)
    frequency = _log_counts()[np.minimum(counts[cells], MOST_COUNTED - 1)]
    sums = np.zeros(DIMENSIONS, dtype=np.int64)
    kernels.add_rows(cells, frequency * weights.rarity[cells] >> 8, weights.rows, sums)
    return _scaled(sums)


def _scaled(sums: NDArray[np.int64]) -> Vector | None:
    """The sums times 127 over the largest of them, halves rounded up."""
    largest = np.abs(sums).max()
    if largest == 0:
        return None
    return ((2 * LONGEST * sums + largest) // (2 * largest)).astype(np.int8)


@cache
def _log_counts() -> NDArray[np.int32]:
    """16 · (1 + log2 of a count) in whole numbers, (65,536,); 0 for none."""
    counts = np.arange(1, MOST_COUNTED)
    return np.append(0, np.rint(16 * (1 + np.log2(counts)))).astype(np.int32)
