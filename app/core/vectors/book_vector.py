"""The vector of a book: the signs of 1,024 random projections of its word weights (Charikar 2002).

It stands where Reeve (2017) has the mean of word vectors. A word weighs the root of its count times its
rarity, as in tf-idf (Spärck Jones 1972). A word that is not known weighs only where it comes in bursts, as
names do: so books in unknown languages have vectors too. Books of one series share names and subjects.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.text.normal_form import NormalText
from app.core.vectors.weights import RAREST, VectorWeights
from app.core.vectors.word_counts import WordCounts, word_counts

SIGNS = 1024
BYTES = SIGNS // 8

LEAST_WORDS = 50
"""A shorter text has no vector."""

_SCALE = 64
"""Roots are whole multiples of 1/64, so that every machine finds the same signs."""

Vector = NDArray[np.uint8]
"""(128,), a bit a sign."""


def book_vector(text: NormalText, weights: VectorWeights) -> Vector | None:
    """The vector of a book under these weights; None where it has fewer than 50 words or none with weight.

    A text of 600,000 characters takes some milliseconds.
    """
    return vector_of(word_counts(text), weights)


def vector_of(words: WordCounts, weights: VectorWeights) -> Vector | None:
    """The vector of a book whose words are counted; None as for `book_vector`."""
    from app.core.signatures import kernels

    weight = word_weights(words, weights)
    chosen = np.flatnonzero(weight)
    if words.words < LEAST_WORDS or chosen.size == 0:
        return None
    votes = np.empty(SIGNS, dtype=np.int64)
    kernels.vote(words.hashes[chosen], weight[chosen], votes)
    return np.packbits(votes > 0)


def word_weights(words: WordCounts, weights: VectorWeights) -> NDArray[np.int64]:
    """The weight of each word, (different,): 64 times the root of its count, times its rarity."""
    places = np.minimum(np.searchsorted(weights.hashes, words.hashes), weights.hashes.size - 1)
    known = weights.hashes[places] == words.hashes
    rarity = np.where(known, weights.rarity[places], np.where(words.bursting, RAREST, 0))
    # IEEE 754 prescribes the root to the last bit
    roots = np.floor(np.sqrt(words.counts.astype(np.float64)) * _SCALE)
    return np.asarray(roots.astype(np.int64) * rarity)
