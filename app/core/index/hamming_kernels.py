"""Compiled kernels that compare one fingerprint with many."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import BLOCK, U64, compiled, popcount

DISTANCE_SHIFT = U64(56)
"""Hits are sorted as one word each: the distance above so many bits of entry id."""


@compiled
def distances(query: NDArray[np.uint64], packed: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    """Writes the Hamming distance of `query` (2 words) to each row of `packed` (n, 2)."""
    high, low = query[0], query[1]
    for row in range(packed.shape[0]):
        out[row] = popcount(high ^ packed[row, 0]) + popcount(low ^ packed[row, 1])


@compiled
def records_within(
    query: NDArray[np.uint64], records: NDArray[np.uint64], d: int, out: NDArray[np.uint64]
) -> int:
    """Writes which entries of `records` (n, 3), two words and an id each, lie within d bits of `query`.

    Each is written as its distance above the `DISTANCE_SHIFT` bits of its id. `out` has room for all records.
    Returns how many they are.
    """
    found = 0
    for row in range(records.shape[0]):
        distance = popcount(query[0] ^ records[row, 0]) + popcount(query[1] ^ records[row, 1])
        if distance <= U64(d):
            out[found] = distance << DISTANCE_SHIFT | records[row, 2]
            found += 1
    return found


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


@compiled
def tally(
    query: NDArray[np.uint64], high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.int64]
) -> None:
    """Adds to `counts[d]` how many rows of the words `high`, `low` lie exactly d bits from `query`."""
    block = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, high.size, BLOCK):
        end = min(start + BLOCK, high.size)
        distances = block[: end - start]
        _fill_distances(query, high[start:end], low[start:end], distances)
        for row in range(distances.size):
            counts[distances[row]] += 1
