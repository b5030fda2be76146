"""128-bit fingerprints: their Hamming distances, and the buckets of their bands that give an exact answer.

Tables of fingerprints by some of their bits are those of Manku, Jain and Das Sarma (2007). Flipping bits of
the query to stay exact at larger distances is multi-index hashing (Norouzi, Punjani and Fleet 2012).

128 bits are 8 bands of 16. Two fingerprints that differ in d bits differ in at most d // 8 bits of some band
(pigeonhole). So all fingerprints within d are in the buckets within d // 8 flips of each band of the query.
These are 8 buckets for d ≤ 7, 136 for d ≤ 15, 1,096 for d ≤ 23.

Those buckets together hold all entries at distance at most d, and so does the flat index. To probe them (Lv
et al. 2007) or to scan it are two ways to the same answer. The cost of probing depends on how the library's
fingerprints are spread, so it is computed from the live sizes of the query's buckets. A bucket that holds
half the library is thus never read: no lookup costs more than one scan of the flat index.
"""

from functools import cache
from itertools import combinations
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from bookprint_core.errors import InvalidInput

Words = tuple[NDArray[np.uint64], NDArray[np.uint64]]
"""Packed fingerprints in two columns, (n,) each: the first eight bytes of each one, and the last eight."""


def words(packed: NDArray[np.uint8]) -> Words:
    """The two columns of the fingerprints in `packed` (n, 16)."""
    columns = np.ascontiguousarray(packed).view(np.uint64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def distances(query: bytes, packed: Words) -> NDArray[np.uint8]:
    """The Hamming distance, 0 to 128, of a 128-bit fingerprint to each of n others, (n,)."""
    high, low = np.frombuffer(query, dtype=np.uint64)
    return np.asarray(np.bitwise_count(packed[0] ^ high) + np.bitwise_count(packed[1] ^ low))


def rows_within(query: bytes, packed: Words, d: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The rows at Hamming distance at most d from a 128-bit fingerprint, ascending, and their distances."""
    from bookprint_core.index import kernels

    high, low = packed
    rows, out = np.empty(high.size, dtype=np.uint32), np.empty(high.size, dtype=np.uint8)
    count = kernels.rows_within(np.frombuffer(query, dtype=np.uint64), high, low, d, rows, out)
    return rows[:count].copy(), out[:count].copy()


NO_DISTANCE = 255
"""Distance where either book has no fingerprint."""

BANDS = 8
BAND_BITS = 16
_KEYS = Struct(f">{BANDS}H")


def band_keys(bits: bytes) -> list[int]:
    """The 8 bands of a fingerprint, each as a number of 16 bits, most significant first.

    >>> band_keys(bytes(range(16)))
    [1, 515, 1029, 1543, 2057, 2571, 3085, 3599]
    """
    if len(bits) != BANDS * BAND_BITS // 8:
        raise InvalidInput(
            f"Only 128-bit fingerprints have bands; this one has {8 * len(bits)}.", field="fingerprint"
        )
    return [*_KEYS.unpack(bits)]


def flips_needed(d: int) -> int:
    """The most bits that differ in the most similar band of two fingerprints at distance d.

    >>> [flips_needed(d) for d in (0, 7, 8, 15, 16, 23)]
    [0, 0, 1, 1, 2, 2]
    """
    return d // BANDS


@cache
def flip_masks(flips: int) -> NDArray[np.uint32]:
    """The masks that flip up to `flips` bits of a band, (masks,); the first flips none."""
    return np.array(
        [
            sum(1 << bit for bit in chosen)
            for count in range(min(flips, BAND_BITS) + 1)
            for chosen in combinations(range(BAND_BITS), count)
        ],
        dtype=np.uint32,
    )


def probes(bits: bytes, flips: int) -> NDArray[np.uint32]:
    """The addresses of all buckets within `flips` bits of the fingerprint's bands, each once.

    >>> [probes(bytes(16), flips).size for flips in (0, 1, 2)]
    [8, 136, 1096]
    """
    keys = np.array(band_keys(bits), dtype=np.uint32)
    bands = np.arange(BANDS, dtype=np.uint32) << np.uint32(BAND_BITS)
    return np.asarray(bands[:, None] | (keys[:, None] ^ flip_masks(flips)), dtype=np.uint32).ravel()


KEY_NANOSECONDS = 900
"""To ask Redis for one bucket of many and take its answer in."""

RECORD_NANOSECONDS = 30
"""To read one record of a bucket in Redis, carry it over and compare it."""

ROW_NANOSECONDS = 1.3
"""To compare one row of the flat index."""

MOST_FLIPS = 3
"""Beyond three flips a probe reads 20,000 of all 524,288 buckets."""


def probe_radius(bits: bytes, d: int, bucket_sizes: NDArray[np.int32], rows: int) -> int | None:
    """The flips of each band to probe for distance d; None: scanning the flat index is cheaper.

    `bucket_sizes` (8, 65536) are the entries of every bucket, `rows` those of the flat index.
    """
    flips = flips_needed(d)
    if flips > MOST_FLIPS:
        return None
    masks = flip_masks(flips)
    left = ROW_NANOSECONDS * rows - KEY_NANOSECONDS * BANDS * masks.size
    if left <= 0:
        return None
    buckets = np.array(band_keys(bits), dtype=np.uint32)[:, None] ^ masks
    records = int(bucket_sizes[np.arange(BANDS)[:, None], buckets].sum())
    return flips if RECORD_NANOSECONDS * records < left else None
