"""The planner: always an exact way, and never a way dearer than one scan."""

import numpy as np

from app.core.index.fingerprints import band_keys, probe_radius

BITS = bytes(range(16))


def even(rows: int) -> np.ndarray:
    return np.full((8, 1 << 16), max(rows >> 16, 0), dtype=np.int32)


def test_small_libraries_are_scanned_and_large_ones_probed() -> None:
    assert probe_radius(BITS, 7, even(1000), 1000) is None
    assert probe_radius(BITS, 7, even(1_000_000), 1_000_000) == 0
    assert probe_radius(BITS, 15, even(1_000_000), 1_000_000) == 1
    assert probe_radius(BITS, 23, even(200_000), 200_000) is None
    assert probe_radius(BITS, 23, even(10_000_000), 10_000_000) == 2


def test_distances_that_no_probe_covers_are_scanned() -> None:
    for d in (32, 40, 64, 128):
        assert probe_radius(BITS, d, even(10_000_000), 10_000_000) is None


def test_a_crowded_bucket_is_not_read() -> None:
    sizes = even(1_000_000)
    assert probe_radius(BITS, 7, sizes, 1_000_000) == 0
    sizes[3, band_keys(BITS)[3]] = 500_000
    assert probe_radius(BITS, 7, sizes, 1_000_000) is None
    assert probe_radius(bytes(16), 7, sizes, 1_000_000) == 0


def test_a_neighbouring_crowded_bucket_matters_only_where_it_would_be_read() -> None:
    sizes = even(1_000_000)
    sizes[0, band_keys(BITS)[0] ^ 1] = 500_000
    assert probe_radius(BITS, 7, sizes, 1_000_000) == 0
    assert probe_radius(BITS, 15, sizes, 1_000_000) is None
