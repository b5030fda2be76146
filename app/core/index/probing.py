"""Probing (Lv et al. 2007) or scanning: the cheaper of two ways to the same answer.

The buckets within d // 8 flips of the query's bands together hold all entries at distance at most d; so does
the flat index. The cost of probing depends on how the library's fingerprints are spread. So it is computed
from the live sizes of the query's buckets. A bucket that holds half the library is thus never read: no
lookup costs more than one scan of the flat index.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.index.bands import BANDS, band_keys, flip_masks, flips_needed

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
