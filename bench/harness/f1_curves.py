"""F1 of a fingerprint as a finder of near-duplicates, for every Hamming distance d.

Every text is a query against all others. At d, a query finds the texts at most d bits away. Precision is the
share of versions among the found texts; recall is the share of versions found. F1 is their harmonic mean (0
if no version is found). The curve is the mean over all queries with versions.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]


def distances_from(words: Words, row: int) -> Numbers:
    """Return the Hamming distances of one row to every row."""
    distances: Numbers = np.bitwise_count(words ^ words[row]).sum(axis=1, dtype=np.int64)
    return distances


@dataclass(frozen=True, slots=True)
class Curve:
    """Means over all queries by d: arrays of bits + 1 values from 0 to 1."""

    f1: NDArray[np.float64]
    precision: NDArray[np.float64]  # an empty answer counts as precise
    recall: NDArray[np.float64]
    pairs_f1: NDArray[np.float64]  # over all pairs instead of queries

    @property
    def best(self) -> int:
        """Return the d of the highest F1."""
        return int(np.argmax(self.f1))


def curve(words: Words, books: Numbers) -> Curve:
    """Return the curve of fingerprints (texts, words); versions have one number in `books`."""
    bits = words.shape[1] * 64
    pairs = np.zeros((len(words), bits + 1))
    right = np.zeros((len(words), bits + 1))
    for query in range(len(words)):
        distances = distances_from(words, query)
        others = np.arange(len(words)) != query
        pairs[query] = np.bincount(distances[others], minlength=bits + 1).cumsum()
        right[query] = np.bincount(distances[others & (books == books[query])], minlength=bits + 1).cumsum()
    return curve_of(pairs, right, right[:, -1])


def curve_of(
    pairs: NDArray[np.float64], right: NDArray[np.float64], wanted: NDArray[np.float64] | Numbers
) -> Curve:
    """Return the curve of counts of found texts and found versions by query and d, (queries, bits + 1) each,
    and of the wanted versions of each query, (queries,).
    """
    asked = wanted > 0
    pairs, right, wanted = pairs[asked], right[asked], wanted[asked, None]
    return Curve(
        f1=(2 * right / (pairs + wanted)).mean(axis=0),
        precision=np.where(pairs > 0, right / np.maximum(pairs, 1), 1.0).mean(axis=0),
        recall=(right / wanted).mean(axis=0),
        pairs_f1=2 * right.sum(axis=0) / (pairs.sum(axis=0) + wanted.sum()),
    )


@dataclass(frozen=True, slots=True)
class Fitted:
    """A distance chosen on one half of the works, and its F1 on the other half."""

    d: int
    f1: float
    pairs_f1: float


def fit(words: Words, books: Numbers, works: Numbers, seed: int) -> list[Fitted]:
    """Fit d on each half of the works; return its F1 on the other half."""
    names = np.unique(works)
    first = np.isin(works, np.random.default_rng(seed).permutation(names)[: names.size // 2])
    a, b = (curve(words[half], books[half]) for half in (first, ~first))
    return [
        Fitted(fitted.best, float(other.f1[fitted.best]), float(other.pairs_f1[fitted.best]))
        for fitted, other in ((a, b), (b, a))
    ]
