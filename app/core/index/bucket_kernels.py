"""Compiled kernels that fill buckets of the band index, and read them."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import U8, U64, Index, compiled

LINE_END = np.frombuffer(b"\r\n", dtype=np.uint8)
DOLLAR = U8(ord("$"))
ZERO = U8(ord("0"))
COLON = U8(ord(":"))
MOST_DIGITS = 20
HASH_FACTOR = U64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth 1998, 6.4)


@compiled
def _write_number(number: int, out: NDArray[np.uint8], at: int) -> int:
    digits = 1
    rest = number // 10
    while rest:
        digits += 1
        rest //= 10
    for i in range(digits):
        out[at + digits - 1 - i] = ZERO + U8(number % 10)
        number //= 10
    return at + digits


@compiled
def _write(data: NDArray[np.uint8], out: NDArray[np.uint8], at: int) -> int:
    there = out[at : at + data.size]
    for i in range(data.size):
        there[i] = data[i]
    return at + data.size


@compiled
def _write_string(
    beginning: NDArray[np.uint8], rest: NDArray[np.uint8], out: NDArray[np.uint8], at: int
) -> int:
    out[at] = DOLLAR
    at = _write_number(beginning.size + rest.size, out, at + 1)
    at = _write(LINE_END, out, at)
    at = _write(beginning, out, at)
    at = _write(rest, out, at)
    return _write(LINE_END, out, at)


@compiled
def write_keys(
    prefix: NDArray[np.uint8],
    lists: NDArray[np.uint32],
    buckets: NDArray[np.uint32],
    out: NDArray[np.uint8],
) -> int:
    """Writes a string of the Redis protocol for each bucket: `prefix`, its list, a colon and the bucket.

    `out` has room for the prefix and 40 bytes for each. Returns how many bytes were written.
    """
    at = 0
    name = np.empty(2 * MOST_DIGITS + 1, dtype=np.uint8)
    for i in range(buckets.size):
        end = _write_number(lists[i], name, 0)
        name[end] = COLON
        end = _write_number(buckets[i], name, end + 1)
        at = _write_string(prefix, name[:end], out, at)
    return at


@compiled
def write_strings(
    prefix: NDArray[np.uint8],
    numbers: NDArray[np.int64],
    bounds: NDArray[np.int64],
    most: int,
    data: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Writes two strings of the Redis protocol for each number: `prefix` with it, and its part of the data.

    The part of number i are the bytes from `bounds[i]` to `bounds[i + 1]`, of which the first `most` are
    written. `out` has room for the data and, for each number, for the prefix and 64 bytes. Returns how
    many bytes were written.
    """
    at = 0
    digits = np.empty(MOST_DIGITS, dtype=np.uint8)
    for i in range(numbers.size):
        count = _write_number(numbers[i], digits, 0)
        at = _write_string(prefix, digits[:count], out, at)
        part = data[bounds[i] : bounds[i] + min(bounds[i + 1] - bounds[i], most)]
        at = _write_string(part, digits[:0], out, at)
    return at


@compiled
def count_probed(sizes: NDArray[np.int32], keys: NDArray[np.uint32], masks: NDArray[np.uint32]) -> int:
    """How many records those buckets hold together whose numbers differ from a band's key by a mask.

    `sizes` (bands, 65536) tells how many each bucket holds, `keys` (bands,) the number to begin with.
    """
    records = 0
    for band in range(keys.size):
        for mask in masks:
            records += sizes[band, keys[band] ^ mask]
    return records


@compiled
def _place_of(entry_id: np.uint64, table: NDArray[np.int32], entry_ids: NDArray[np.uint64]) -> int:
    """Where the table leads to the entry, or is 0 as long as it does not."""
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
