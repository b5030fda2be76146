"""The compiled scan of all fingerprints for those near a query."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import BLOCK, U64, compiled, popcount


@compiled
def _fill_distances(
    query: NDArray[np.uint64], high: NDArray[np.uint64], low: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None:
    for row in range(out.size):
        out[row] = popcount(query[0] ^ high[row]) + popcount(query[1] ^ low[row])


@compiled
def _least(distances: NDArray[np.uint64]) -> np.uint64:
    least = U64(255)
    for row in range(distances.size):
        least = min(least, distances[row])
    return least


@compiled
def rows_within(
    query: NDArray[np.uint64],
    high: NDArray[np.uint64],
    low: NDArray[np.uint64],
    d: int,
    rows: NDArray[np.uint32],
    out: NDArray[np.uint8],
) -> int:
    """Writes which rows of the words `high`, `low` lie within d bits of `query`, and their distances.

    `rows` and `out` have room for all rows. Returns how many they are. Block by block, because the plain loop
    over a block is one that the compiler turns into vector instructions, and most blocks hold no such row.
    """
    block = np.empty(BLOCK, dtype=np.uint64)
    found = 0
    for start in range(0, high.size, BLOCK):
        end = min(start + BLOCK, high.size)
        distances = block[: end - start]
        _fill_distances(query, high[start:end], low[start:end], distances)
        if _least(distances) <= U64(d):
            for row in range(distances.size):
                if distances[row] <= U64(d):
                    rows[found] = start + row
                    out[found] = distances[row]
                    found += 1
    return found
