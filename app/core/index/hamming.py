"""Hamming distances of one 128-bit fingerprint to many."""

import numpy as np
from numpy.typing import NDArray

Words = tuple[NDArray[np.uint64], NDArray[np.uint64]]
"""Packed fingerprints in two columns, (n,) each: the first eight bytes of each one, and the last eight."""


def words(packed: NDArray[np.uint8]) -> Words:
    """The two columns of the fingerprints in `packed` (n, 16)."""
    columns = np.ascontiguousarray(packed).view(np.uint64)
    return columns[:, 0].copy(), columns[:, 1].copy()


def distances(query: bytes, packed: Words) -> NDArray[np.uint8]:
    """The Hamming distance, 0 to 128, of a 128-bit fingerprint to each of n others, (n,)."""
    high, low = np.frombuffer(query, dtype=np.uint64)
    return np.asarray(np.bitwise_count(packed[0] ^ high) + np.bitwise_count(packed[1] ^ low))


def rows_within(query: bytes, packed: Words, d: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The rows at Hamming distance at most d from a 128-bit fingerprint, ascending, and their distances."""
    from app.core.index import kernels

    high, low = packed
    rows, out = np.empty(high.size, dtype=np.uint32), np.empty(high.size, dtype=np.uint8)
    count = kernels.rows_within(np.frombuffer(query, dtype=np.uint64), high, low, d, rows, out)
    return rows[:count].copy(), out[:count].copy()
