"""Winnow: a linear classifier with weights that are multiplied at mistakes (Littlestone 1988, Winnow2).

Signals become bits: whether each lies above, and whether below, a number of quantiles of the pairs learnt
from. One set of weights decides for each kind; the kind that exceeds its threshold most wins. Spasojević and
Poncin (2011) do not say which Winnow they took, or how signals become bits: both are ours.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray


class Winnow:
    """One against the rest, with bits of signals."""

    def __init__(self, promotion: float = 1.5, rounds: int = 12, cuts: int = 12, seed: int = 0) -> None:
        self._promotion = promotion  # factor of a promotion, and divisor of a demotion; above 1
        self._rounds = rounds  # passes over the pairs
        self._cuts = cuts  # quantiles of each signal
        self._seed = seed  # of the order of the pairs
        self._thresholds = np.zeros((0, 0))
        self._weights = np.zeros((0, 0))
        self._kinds = np.array([], dtype=np.str_)

    def fit(self, signals: NDArray[np.float64], kinds: NDArray[np.str_]) -> Self:
        """Learns from signals (pairs, signals) and the kind of each pair, (pairs,)."""
        self._kinds = np.unique(kinds)
        self._thresholds = np.quantile(signals, np.linspace(0, 1, self._cuts + 2)[1:-1], axis=0)
        bits = self._bits(signals)
        wanted = kinds[:, None] == self._kinds
        self._weights = np.ones((bits.shape[1], self._kinds.size))
        rng = np.random.default_rng(self._seed)
        for _ in range(self._rounds):
            for pair in rng.permutation(len(bits)).tolist():
                self._take(bits[pair], wanted[pair])
        return self

    def predict(self, signals: NDArray[np.float64]) -> NDArray[np.str_]:
        """The kind of each pair, (pairs,)."""
        chosen: NDArray[np.str_] = self._kinds[np.argmax(self._bits(signals) @ self._weights, axis=1)]
        return chosen

    def _take(self, bits: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> None:
        """Promotes the weights of the bits set where a kind was missed, demotes them where it was wrong."""
        accepted = bits @ self._weights >= bits.size
        for kind in np.flatnonzero(accepted != wanted).tolist():
            self._weights[bits, kind] *= self._promotion if wanted[kind] else 1 / self._promotion

    def _bits(self, signals: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Above and not above each threshold, (pairs, 2 · cuts · signals)."""
        above = (signals[:, None, :] > self._thresholds).reshape(len(signals), -1)
        return np.concatenate([above, ~above], axis=1)
