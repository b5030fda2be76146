"""Fingerprints: distances of many, bands, and the promise that probing misses nothing."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bookprint_core.errors import InvalidInput
from bookprint_core.index.fingerprints import band_keys, distances, probe_radius, probes, rows_within, words
from bookprint_core.index.flat_index import FlatIndex
from bookprint_core.index.records import FLAT_RECORD, Buckets, band_records, entries_near
from bookprint_core.signatures.simhash import hamming

BITS = st.binary(min_size=16, max_size=16)


@given(BITS)
def test_bands_are_the_fingerprint_cut_in_eight(bits: bytes) -> None:
    assert b"".join(key.to_bytes(2, "big") for key in band_keys(bits)) == bits


@given(BITS, st.sets(st.integers(0, 127), max_size=31))
def test_every_fingerprint_within_a_distance_stands_in_a_probed_bucket(
    bits: bytes, flipped: set[int]
) -> None:
    other = (int.from_bytes(bits, "big") ^ sum(1 << bit for bit in flipped)).to_bytes(16, "big")
    probed = probes(bits, len(flipped) // 8)
    keys = zip(probed.partitions.tolist(), probed.values.tolist(), strict=True)
    assert {*keys} & {*enumerate(band_keys(other))}


def test_fingerprint_of_another_length_has_no_bands() -> None:
    with pytest.raises(InvalidInput):
        band_keys(bytes(8))


def test_distance_to_each_row_is_found() -> None:
    rows = np.random.default_rng(1).integers(0, 256, (1000, 16)).astype(np.uint8)
    measured = distances(rows[17].tobytes(), words(rows))
    assert measured.dtype == np.uint8
    assert measured.tolist() == [hamming(rows[17].tobytes(), row.tobytes()) for row in rows]
    assert distances(bytes(16), words(np.empty((0, 16), dtype=np.uint8))).size == 0
    assert distances(bytes(16), words(np.full((1, 16), 255, dtype=np.uint8))).tolist() == [128]


@given(query=BITS, rows=st.lists(BITS, max_size=20), data=st.data())
def test_rows_within_a_distance_are_those_of_the_bits(
    query: bytes, rows: list[bytes], data: st.DataObject
) -> None:
    expected = [hamming(query, row) for row in rows]
    d = data.draw(st.sampled_from([*expected, 0, 64, 128]))
    packed = words(np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, 16))
    near, measured = rows_within(query, packed, d)
    assert list(zip(near.tolist(), measured.tolist(), strict=True)) == [
        (row, distance) for row, distance in enumerate(expected) if distance <= d
    ]


@given(BITS, st.dictionaries(st.integers(0, (1 << 32) - 1), BITS), st.data())
def test_hits_of_buckets_are_each_entry_within_the_distance_once(
    query: bytes, entries: dict[int, bytes], data: st.DataObject
) -> None:
    expected = {entry_id: hamming(query, bits) for entry_id, bits in entries.items()}
    d = data.draw(st.sampled_from([*expected.values(), 0, 64, 128]))
    flat = np.zeros(len(entries), dtype=FLAT_RECORD)
    flat["entry_id"], flat["signed"] = list(entries), 1
    flat["bits"] = np.frombuffer(b"".join(entries.values()), dtype=np.uint8).reshape(-1, 16)
    records = band_records(flat["bits"], flat["entry_id"], [0])
    levels = np.array([16, 16, 16], dtype=np.uint32)
    packed = [each.tobytes() for each in records.packed(np.full(len(entries), 16, dtype=np.uint32))]
    values = [b"".join(data.draw(st.permutations(packed * 2))), None, b"".join(packed)]
    buckets = Buckets(values, np.arange(3, dtype=np.uint32), levels)
    hits = FlatIndex(flat).among(entries_near(buckets, query, d), query, d)
    assert list(zip(hits.distances.tolist(), hits.entry_ids.tolist(), strict=True)) == sorted(
        (distance, entry_id) for entry_id, distance in expected.items() if distance <= d
    )


QUERY = bytes(range(16))


def even(rows: int) -> np.ndarray:
    return np.full((8, 1 << 16), max(rows >> 16, 0), dtype=np.int32)


def test_small_libraries_are_scanned_and_large_ones_probed() -> None:
    assert probe_radius(QUERY, 7, even(1000), 1000) is None
    assert probe_radius(QUERY, 7, even(1_000_000), 1_000_000) == 0
    assert probe_radius(QUERY, 15, even(1_000_000), 1_000_000) == 1
    assert probe_radius(QUERY, 23, even(200_000), 200_000) is None
    assert probe_radius(QUERY, 23, even(10_000_000), 10_000_000) == 2


def test_distances_that_no_probe_covers_are_scanned() -> None:
    for d in (32, 40, 64, 128):
        assert probe_radius(QUERY, d, even(10_000_000), 10_000_000) is None


def test_a_crowded_bucket_is_not_read() -> None:
    sizes = even(1_000_000)
    assert probe_radius(QUERY, 7, sizes, 1_000_000) == 0
    sizes[3, band_keys(QUERY)[3]] = 500_000
    assert probe_radius(QUERY, 7, sizes, 1_000_000) is None
    assert probe_radius(bytes(16), 7, sizes, 1_000_000) == 0


def test_a_neighbouring_crowded_bucket_matters_only_where_it_would_be_read() -> None:
    sizes = even(1_000_000)
    sizes[0, band_keys(QUERY)[0] ^ 1] = 500_000
    assert probe_radius(QUERY, 7, sizes, 1_000_000) == 0
    assert probe_radius(QUERY, 15, sizes, 1_000_000) is None
