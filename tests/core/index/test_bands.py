"""Bands, and the promise that probing misses nothing."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from app.core.errors import InvalidInput
from app.core.index.fingerprints import BAND_BITS, band_keys, flips_needed, probes

BITS = st.binary(min_size=16, max_size=16)


def pairs(addresses: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """The band of each bucket, and its number in the band."""
    return [divmod(address, 1 << BAND_BITS) for address in addresses.tolist()]


@given(BITS)
def test_bands_are_the_fingerprint_cut_in_eight(bits: bytes) -> None:
    assert b"".join(key.to_bytes(2, "big") for key in band_keys(bits)) == bits


@given(BITS, st.sets(st.integers(0, 127), max_size=31))
def test_every_fingerprint_within_a_distance_stands_in_a_probed_bucket(
    bits: bytes, flipped: set[int]
) -> None:
    other = (int.from_bytes(bits, "big") ^ sum(1 << bit for bit in flipped)).to_bytes(16, "big")
    probed = set(pairs(probes(bits, flips_needed(len(flipped)))))
    assert any(key in probed for key in enumerate(band_keys(other)))


@pytest.mark.parametrize(("flips", "buckets"), [(0, 8), (1, 136), (2, 1096), (3, 5576)])
def test_probed_buckets_are_distinct(flips: int, buckets: int) -> None:
    keys = pairs(probes(bytes(range(16)), flips))
    assert len(keys) == len(set(keys)) == buckets
    assert all(0 <= bucket < 1 << BAND_BITS for _, bucket in keys)


def test_flips_grow_by_one_for_every_eight_bits() -> None:
    assert [flips_needed(d) for d in (0, 7, 8, 15, 16, 23, 24, 128)] == [0, 0, 1, 1, 2, 2, 3, 16]


def test_fingerprint_of_another_length_has_no_bands() -> None:
    with pytest.raises(InvalidInput):
        band_keys(bytes(8))
