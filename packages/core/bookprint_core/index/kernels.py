"""Compiled kernels of the index: the scan of all fingerprints, and the count of shared hashes."""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.jit import BLOCK, U32, U64, Index, compiled, popcount

HASH_FACTOR = U64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth 1998, 6.4)


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
    """Find the rows of `high`, `low` within d bits of the two words of `query`; return their number.

    The rows are written into `rows` and their distances into `out`, with room for all. The scan proceeds by
    blocks: the loop over a block compiles to vector instructions, and most blocks contain no such row.
    """
    block = np.empty(BLOCK, dtype=np.uint64)
    count = 0
    for start in range(0, high.size, BLOCK):
        end = min(start + BLOCK, high.size)
        distances = block[: end - start]
        _fill_distances(query, high[start:end], low[start:end], distances)
        if _least(distances) <= U64(d):
            for row in range(distances.size):
                if distances[row] <= U64(d):
                    rows[count] = start + row
                    out[count] = distances[row]
                    count += 1
    return count


@compiled
def _place_of(entry_id: np.uint64, table: NDArray[np.int32], entry_ids: NDArray[np.uint64]) -> int:
    """Return the slot of the entry in a hash table with linear probing; a slot is 0 until it is filled."""
    mask = U64(table.size - 1)
    at = Index(entry_id * HASH_FACTOR >> U64(32) & mask)
    while table[at] and entry_ids[table[at] - 1] != entry_id:
        at = Index((at + Index(1)) & mask)
    return at


@compiled
def count_sharing(
    words: NDArray[np.uint32],
    ends: NDArray[np.int64],
    tags: NDArray[np.uint32],
    id_bits: NDArray[np.uint32],
    entry_ids: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> int:
    """Count the entries with a posting that has the tag of its bucket; return -1 if the room is too small.

    `words` are the postings of all buckets in sequence; the postings of bucket i end at `ends[i]`. A posting
    is an entry id of `id_bits[i]` bits with a tag above it, compared with `tags[i]`. The entries are written
    into `entry_ids` in order of occurrence, and the number of such buckets of each entry into `counts`. The
    size of both arrays is a power of two.
    """
    table = np.zeros(2 * entry_ids.size, dtype=np.int32)  # hash table of places in `entry_ids`, each plus 1
    seen = np.empty(entry_ids.size, dtype=np.int64)  # last bucket of each entry
    count = 0
    row = Index(0)
    for position in range(ends.size):
        tag, bits = U32(tags[position]), U32(id_bits[position])
        mask = U32((U32(1) << bits) - U32(1))
        end = Index(ends[position])
        while row < end:
            if words[row] >> bits == tag:
                entry_id = U64(words[row] & mask)
                at = _place_of(entry_id, table, entry_ids)
                if not table[at]:
                    if count == entry_ids.size:
                        return -1
                    entry_ids[count] = entry_id
                    counts[count] = 1
                    seen[count] = position
                    count += 1
                    table[at] = count
                elif seen[table[at] - 1] != position:  # A retried write can leave a record twice in a bucket.
                    counts[table[at] - 1] += 1
                    seen[table[at] - 1] = position
            row = Index(row + Index(1))
    return count
