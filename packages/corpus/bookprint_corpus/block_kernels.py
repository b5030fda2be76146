"""Compiled kernels for the join of two blocks.

All fingerprints are compared. With vector instructions this is faster than probing bands, and equally fast in
every library. A tile of fingerprints stays in the first-level cache for a group of queries.
"""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import NO_DISTANCE
from bookprint_core.index.kernels import HASH_FACTOR, rows_within
from bookprint_core.jit import BLOCK, I64, U32, U64, Index, compiled, popcount
from bookprint_corpus.blocks import (
    AskedBlock,
    Fingerprints,
    FoundPairs,
    HashLists,
    IndexedBlock,
    PostingLists,
)

GROUP = 64
"""Number of queries that are compared with a tile of fingerprints before the next tile."""


@compiled
def _bucket_of(value: int, shift: int) -> int:
    return Index(U64(value) * HASH_FACTOR >> U64(shift))


@compiled
def post(entered: HashLists, lists: PostingLists) -> None:
    """Fill posting lists by counting sort. `starts` must contain zeros and one place more than is used."""
    starts, records, shift = lists
    values, ends = entered
    first = Index(0)
    for row in range(ends.size):
        end = Index(ends[row])
        for at in range(first, end):
            bucket = _bucket_of(values[at], shift)
            starts[bucket + Index(2)] = U32(starts[bucket + Index(2)] + U32(1))
        first = end
    total = U32(0)
    for bucket in range(starts.size):
        total = U32(total + starts[bucket])
        starts[bucket] = total
    first = Index(0)
    for row in range(ends.size):
        end = Index(ends[row])
        for at in range(first, end):
            bucket = _bucket_of(values[at], shift)
            place = starts[bucket + Index(1)]
            records[place] = U64(U32(values[at])) << U64(32) | U64(row)
            starts[bucket + Index(1)] = U32(place + U32(1))
        first = end


@compiled
def _count_sharing(
    asked: HashLists,
    query: int,
    lists: PostingLists,
    counts: NDArray[np.uint16],
    met: NDArray[np.uint32],
    bounds: NDArray[np.uint32],
) -> int:
    """Count common hashes per book in `counts` (initially 0), write rows to `met`, return their number."""
    starts, records, shift = lists
    first = Index(asked.ends[query - 1]) if query else Index(0)
    size = Index(Index(asked.ends[query]) - first)
    for place in range(size):  # a separate loop, so that the processor runs many reads in parallel
        bucket = _bucket_of(asked.values[first + place], shift)
        bounds[place, 0] = starts[bucket]
        bounds[place, 1] = starts[bucket + Index(1)]
    number = Index(0)
    for place in range(size):
        value = U32(asked.values[first + place])
        for at in range(Index(bounds[place, 0]), Index(bounds[place, 1])):
            row = Index(U32(records[at]))
            is_equal = U32(records[at] >> U64(32)) == value
            met[number] = row
            number = Index(number + Index(is_equal & (counts[row] == 0)))
            counts[row] = np.uint16(counts[row] + is_equal)
    return number


@compiled
def _least_distance(
    high: np.uint64, low: np.uint64, highs: NDArray[np.uint64], lows: NDArray[np.uint64]
) -> np.uint64:
    least = U64(NO_DISTANCE)
    for row in range(highs.size):
        least = min(least, popcount(high ^ highs[row]) + popcount(low ^ lows[row]))
    return least


@compiled
def _near(
    asked: Fingerprints,
    first: int,
    others: Fingerprints,
    d: int,
    rows: NDArray[np.uint32],
    distances: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> None:
    """Write rows within d bits of each query from `first` on, their distances and their counts."""
    query = np.empty(2, dtype=np.uint64)
    counts[:] = 0
    for start in range(0, others.high.size, BLOCK):
        highs, lows = others.high[start : start + BLOCK], others.low[start : start + BLOCK]
        for line in range(min(counts.size, asked.high.size - first)):
            high, low = asked.high[first + line], asked.low[first + line]
            if asked.signed[first + line] and _least_distance(high, low, highs, lows) <= U64(d):
                query[0], query[1] = high, low
                at = counts[line]
                found = rows_within(query, highs, lows, d, rows[line, at:], distances[line, at:])
                for place in range(at, at + found):
                    rows[line, place] += U32(start)
                counts[line] += found


@compiled
def _distance(asked: Fingerprints, query: int, others: Fingerprints, other: int) -> int:
    if not (asked.signed[query] and others.signed[other]):
        return NO_DISTANCE
    high = asked.high[query] ^ others.high[other]
    return I64(popcount(high) + popcount(asked.low[query] ^ others.low[other]))


@compiled
def _most_values(asked: HashLists) -> int:
    most = 0
    first = 0
    for row in range(asked.ends.size):
        most = max(most, asked.ends[row] - first)
        first = asked.ends[row]
    return most


@compiled
def _write(
    asked: AskedBlock,
    query: int,
    others: IndexedBlock,
    other: int,
    shared: NDArray[np.uint16],
    pairs: FoundPairs,
    count: int,
) -> int:
    """Write a pair, unless both books are the same. Return the new number of pairs."""
    if asked.book_ids[query] == others.book_ids[other]:
        return count
    pairs.queries[count] = query
    pairs.others[count] = other
    pairs.distances[count] = _distance(asked.fingerprints, query, others.fingerprints, other)
    pairs.shared[count] = shared[other]
    return count + 1


@compiled
def find_pairs(
    asked: AskedBlock, others: IndexedBlock, first: int, d: int, least: int, pairs: FoundPairs
) -> tuple[int, int]:
    """Write the pairs of queries from `first` on that are within d bits or share at least `least` hashes.

    Returns the next query and the number of pairs. The kernel stops before a query if fewer places are left
    than there are other books.
    """
    size = others.fingerprints.high.size
    near_rows, near_distances = np.empty((GROUP, size), dtype=U32), np.empty((GROUP, size), dtype=np.uint8)
    near_counts = np.empty(GROUP, dtype=np.int64)
    shared, met = np.zeros(size, dtype=np.uint16), np.empty(size + 1, dtype=U32)
    bounds = np.empty((_most_values(asked.sample), 2), dtype=U32)
    count = 0
    for query in range(first, asked.fingerprints.high.size):
        if count + size > pairs.queries.size:
            return query, count
        line = (query - first) % GROUP
        if line == 0:
            _near(asked.fingerprints, query, others.fingerprints, d, near_rows, near_distances, near_counts)
        met_count = _count_sharing(asked.sample, query, others.sample, shared, met, bounds)
        for place in range(near_counts[line]):
            other = near_rows[line, place]
            if others.fingerprints.signed[other]:
                count = _write(asked, query, others, other, shared, pairs, count)
        for place in range(met_count):
            other = met[place]
            if (
                shared[other] >= least
                and _distance(asked.fingerprints, query, others.fingerprints, other) > d
            ):
                count = _write(asked, query, others, other, shared, pairs, count)
        for place in range(met_count):
            shared[met[place]] = 0
    return asked.fingerprints.high.size, count
