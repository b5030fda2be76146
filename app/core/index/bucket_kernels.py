"""The compiled kernel that counts the values which entries share with a query."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import U64, Index, compiled

HASH_FACTOR = U64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth 1998, 6.4)


@compiled
def _place_of(entry_id: np.uint64, table: NDArray[np.int32], entry_ids: NDArray[np.uint64]) -> int:
    """The slot of the entry in a hash table with linear probing; it is 0 until the entry is entered."""
    mask = U64(table.size - 1)
    at = Index(entry_id * HASH_FACTOR >> U64(32) & mask)
    while table[at] and entry_ids[table[at] - 1] != entry_id:
        at = Index((at + Index(1)) & mask)
    return at


@compiled
def count_sharing(
    words: NDArray[np.uint16],
    ends: NDArray[np.int64],
    tags: NDArray[np.uint64],
    entry_ids: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> int:
    """Counts for each entry the buckets in which a posting of it bears the bucket's tag.

    `words` (n, 3) are the postings of all buckets one after the other, those of bucket i before `ends[i]`.
    Writes the entries in the order in which they are met, and their counts; there is room for a power of two
    of them. Returns how many were found, or -1 where they are more than there is room for.
    """
    table = np.zeros(2 * entry_ids.size, dtype=np.int32)  # hash table: one more than an entry's place
    seen = np.empty(entry_ids.size, dtype=np.int64)  # the last bucket of each entry
    found = 0
    row = Index(0)
    for position in range(ends.size):
        tag = tags[position]
        end = Index(ends[position])
        while row < end:
            last = U64(words[row, 2])
            if last >> U64(4) == tag:
                entry_id = U64(words[row, 0]) | U64(words[row, 1]) << U64(16) | (last & U64(0xF)) << U64(32)
                at = _place_of(entry_id, table, entry_ids)
                if not table[at]:
                    if found == entry_ids.size:
                        return -1
                    entry_ids[found] = entry_id
                    counts[found] = 1
                    seen[found] = position
                    found += 1
                    table[at] = found
                elif seen[table[at] - 1] != position:  # A retried write can leave a record twice in a bucket.
                    counts[table[at] - 1] += 1
                    seen[table[at] - 1] = position
            row = Index(row + Index(1))
    return found
