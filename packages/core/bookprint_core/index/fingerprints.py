"""128-bit fingerprints: their Hamming distances, and the buckets of their bands for exact answers.

Manku, Jain and Das Sarma (2007) describe tables whose key is a part of the fingerprint. Multi-index hashing
flips bits of the query to find all fingerprints at larger distances (Norouzi, Punjani and Fleet 2012).

128 bits are 8 bands of 16. Two fingerprints that differ in d bits differ in at most d // 8 bits of some band
(pigeonhole). All fingerprints within d therefore have a band key within d // 8 flips of the query's key. The
query has 8 such keys for d ≤ 7, 136 for d ≤ 15 and 1,096 for d ≤ 23. In small tables keys share buckets.

The buckets of these keys contain all entries within d, as does the flat index. Probing the buckets (Lv et al.
2007) and scanning the flat index give the same answer. The cost of probing depends on the distribution of
fingerprints, so it is computed from the present sizes of the query's buckets. A bucket with half the library
is never read: no lookup costs more than one scan of the flat index.
"""

from functools import cache
from itertools import combinations
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from bookprint_core.errors import InvalidInput
from bookprint_core.index.tables import BAND_BUCKETS, BucketKeys, parts

Words = tuple[NDArray[np.uint64], NDArray[np.uint64]]
"""Packed fingerprints in two columns, (n,): their first eight bytes and their last eight bytes."""


def words(packed: NDArray[np.uint8]) -> Words:
    """Return the two columns of the fingerprints in `packed` (n, 16)."""
    columns = np.ascontiguousarray(packed).view(np.uint64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def distances(query: bytes, packed: Words) -> NDArray[np.uint8]:
    """Compute the Hamming distance, 0 to 128, of a 128-bit fingerprint to each of n others, (n,)."""
    high, low = np.frombuffer(query, dtype=np.uint64)
    return np.asarray(np.bitwise_count(packed[0] ^ high) + np.bitwise_count(packed[1] ^ low))


def rows_within(query: bytes, packed: Words, d: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Find the rows within Hamming distance d of a 128-bit fingerprint, ascending, and their distances."""
    from bookprint_core.index import kernels

    high, low = packed
    rows, out = np.empty(high.size, dtype=np.uint32), np.empty(high.size, dtype=np.uint8)
    count = kernels.rows_within(np.frombuffer(query, dtype=np.uint64), high, low, d, rows, out)
    return rows[:count].copy(), out[:count].copy()


NO_DISTANCE = 255
"""Distance of two books if either has no fingerprint."""

BANDS = BAND_BUCKETS.partitions
BAND_BITS = BAND_BUCKETS.key_bits
_KEYS = Struct(f">{BANDS}H")


def band_keys(bits: bytes) -> list[int]:
    """Return the 8 bands of a fingerprint, each as a number of 16 bits, most significant first.

    >>> band_keys(bytes(range(16)))
    [1, 515, 1029, 1543, 2057, 2571, 3085, 3599]
    """
    if len(bits) != BANDS * BAND_BITS // 8:
        raise InvalidInput(
            f"Only 128-bit fingerprints have bands; this one has {8 * len(bits)}.", field="fingerprint"
        )
    return [*_KEYS.unpack(bits)]


@cache
def flip_masks(flips: int) -> NDArray[np.uint32]:
    """Return the masks that flip up to `flips` bits of a band, (masks,); the first mask flips none."""
    return np.array(
        [
            sum(1 << bit for bit in chosen)
            for count in range(min(flips, BAND_BITS) + 1)
            for chosen in combinations(range(BAND_BITS), count)
        ],
        dtype=np.uint32,
    )


def probes(bits: bytes, flips: int) -> BucketKeys:
    """Return all keys within `flips` bits of the keys of the fingerprint's bands, each once.

    >>> [probes(bytes(16), flips).values.size for flips in (0, 1, 2)]
    [8, 136, 1096]
    """
    masks = flip_masks(flips)
    keys = np.array(band_keys(bits), dtype=np.uint32)[:, None] ^ masks
    return BucketKeys(BAND_BUCKETS, np.repeat(np.arange(BANDS, dtype=np.uint32), masks.size), keys.ravel())


KEY_NANOSECONDS = 900
"""Time to request one bucket of many from Redis and to parse its answer."""

RECORD_NANOSECONDS = 30
"""Time to read, transfer and compare one record of a bucket in Redis."""

ROW_NANOSECONDS = 1.3
"""Time to compare one row of the flat index."""


def probe_radius(bits: bytes, d: int, bucket_sizes: NDArray[np.int32], rows: int) -> int | None:
    """Return the flips of each band to probe for distance d; None: scanning the flat index is cheaper.

    `bucket_sizes` (8, 65536) are the numbers of entries with each key of a band; `rows` is the number of rows
    of the flat index.
    """
    flips = d // BANDS
    # With four flips of a band, a probe would read 20,000 of at most 524,288 buckets.
    if flips > 3 or ROW_NANOSECONDS * rows <= KEY_NANOSECONDS * BANDS:
        return None
    size = BAND_BUCKETS.size_for(rows, 0)
    addresses, levels = probes(bits, flips).place(np.full(BANDS, size))
    addresses, first = np.unique(addresses, return_index=True)
    left = ROW_NANOSECONDS * rows - KEY_NANOSECONDS * addresses.size
    if left <= 0:
        return None
    records = 0
    for level in {*levels.tolist()}:
        bands, numbers = parts(addresses[levels[first] == level])
        # The keys of a bucket agree in as many low bits as its number has.
        records += int(bucket_sizes.reshape(BANDS, -1, 1 << level)[bands, :, numbers].sum())
    return flips if RECORD_NANOSECONDS * records < left else None
