"""Precision and recall of fingerprints alone, for near-duplicates that are known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.model import Fingerprint


@dataclass(frozen=True, slots=True)
class Fit:
    """The threshold with the best F1: pairs at a Hamming distance <= d are called near-duplicates."""

    d: int  # 0 to 128
    precision: float  # 0 to 1
    recall: float  # 0 to 1
    unrelated_median: float  # bits between two books of different works

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def best_threshold(fingerprints: Sequence[Fingerprint], works: Sequence[int]) -> Fit:
    """The best threshold over all pairs; books of one work are near-duplicates, all others are not.

    Needs at least one pair of each sort, and 128-bit fingerprints of one recipe.
    """
    bits = np.array([np.frombuffer(each.bits, dtype=np.uint64) for each in fingerprints])
    left, right = np.triu_indices(len(bits), k=1)
    distances = np.bitwise_count(bits[left] ^ bits[right]).sum(axis=1)
    same = np.asarray(works)[left] == np.asarray(works)[right]
    true = np.cumsum(np.bincount(distances[same], minlength=129))
    false = np.cumsum(np.bincount(distances[~same], minlength=129))
    f1 = 2 * true / (true + false + true[-1])
    d = int(np.argmax(f1))
    return Fit(
        d=d,
        precision=float(true[d] / (true[d] + false[d])),
        recall=float(true[d] / true[-1]),
        unrelated_median=float(np.median(distances[~same])),
    )
