"""Bands of a 128-bit fingerprint, and the buckets that give an exact answer.

Tables of fingerprints by some of their bits are those of Manku, Jain and Das Sarma (2007). Flipping bits of
the query to stay exact at larger distances is multi-index hashing (Norouzi, Punjani and Fleet 2012).

128 bits are 8 bands of 16. Two fingerprints that differ in d bits differ in at most d // 8 bits of some band
(pigeonhole). So all fingerprints within d are in the buckets within d // 8 flips of each band of the query.
These are 8 buckets for d ≤ 7, 136 for d ≤ 15, 1,096 for d ≤ 23.
"""

from functools import cache
from itertools import combinations
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from app.core.errors import InvalidInput

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
