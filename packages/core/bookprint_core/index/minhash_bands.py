"""Bands of MinHash values, which find books by Jaccard similarity (Leskovec et al. 2020, section 3.4).

The values are cut into b bands of r rows. Two books of similarity s agree in all rows of a band with
probability s^r, and in at least one band with probability 1 - (1 - s^r)^b. A book has a posting for the hash
of each band, so a common band proposes the book. `datasketch.MinHashLSH` with equal b and r proposes the same
books.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth 1998, 6.4)
_FACTORS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_HALF = np.uint64(33)


@dataclass(frozen=True, slots=True)
class MinHashBands:
    """Bands of a MinHash signature; band i starts at value i · rows."""

    count: int  # b, from 2
    rows: int  # r, from 1; count · rows is at most the number of values

    @property
    def name(self) -> str:
        """Name of the bands, as a part of the name of an index."""
        return f"{self.count}x{self.rows}"

    def hashes(self, values: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Compute the hash of each band of n signatures (n, permutations): (n, count).

        With m the 64-bit finaliser of MurmurHash3 (Appleby 2011) and i from 1, band i of values v_1 … v_r has
        the hash m(… m(m(i · 0x9E3779B97F4A7C15 ^ v_1) ^ v_2) … ^ v_r) modulo 2^64.
        """
        cut = self._cut(values)
        first = np.arange(1, self.count + 1, dtype=np.uint64) * _STEP
        mixed = np.broadcast_to(first, cut.shape[:2])
        for row in range(self.rows):
            mixed = mixed ^ cut[:, :, row]
            for factor in _FACTORS:
                mixed = (mixed ^ mixed >> _HALF) * factor
            mixed = mixed ^ mixed >> _HALF
        return mixed

    def in_common(self, values: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return whether a signature (permutations,) shares a band with each of others (n, permutations)."""
        equal = self._cut(others) == self._cut(values[None])
        return np.asarray(equal.all(axis=2).any(axis=1))

    def chance(self, similarity: float) -> float:
        """Compute the probability that books of this Jaccard similarity have a band in common.

        >>> [round(MinHashBands(25, 5).chance(s), 3) for s in (0.3, 0.5, 0.7, 0.9)]
        [0.059, 0.548, 0.99, 1.0]
        """
        return float(1 - (1 - similarity**self.rows) ** self.count)

    def _cut(self, values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return values[:, : self.count * self.rows].reshape(-1, self.count, self.rows)
