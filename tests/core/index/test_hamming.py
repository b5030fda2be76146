"""Distances of one fingerprint to many, and the entries of buckets that lie near it."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from app.core.index.fingerprints import distances, rows_within, words
from app.core.index.records import hits_within
from app.core.signatures.simhash import hamming
from tests.core.kernel_sets import KERNELS, using

BITS = st.binary(min_size=16, max_size=16)


def test_distance_to_each_row_is_found() -> None:
    rows = np.random.default_rng(1).integers(0, 256, (1000, 16)).astype(np.uint8)
    measured = distances(rows[17].tobytes(), words(rows))
    assert measured.dtype == np.uint8
    assert measured.tolist() == [hamming(rows[17].tobytes(), row.tobytes()) for row in rows]
    assert distances(bytes(16), words(np.empty((0, 16), dtype=np.uint8))).size == 0
    assert distances(bytes(16), words(np.full((1, 16), 255, dtype=np.uint8))).tolist() == [128]


def test_rows_taken_from_a_wider_array_are_read_rightly() -> None:
    records = np.random.default_rng(2).integers(0, 256, (50, 24)).astype(np.uint8)
    measured = distances(bytes(16), words(records[:, :16]))
    assert measured.tolist() == [hamming(bytes(16), row[:16].tobytes()) for row in records]


@pytest.mark.parametrize("name", KERNELS)
@given(query=BITS, rows=st.lists(BITS, max_size=20), data=st.data())
@settings(deadline=None)  # the first one compiles
def test_rows_within_a_distance_are_those_of_the_bits(
    name: str, query: bytes, rows: list[bytes], data: st.DataObject
) -> None:
    expected = [hamming(query, row) for row in rows]
    d = data.draw(st.sampled_from([*expected, 0, 64, 128]))
    packed = words(np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, 16))
    with using(name):
        near, measured = rows_within(query, packed, d)
    assert list(zip(near.tolist(), measured.tolist(), strict=True)) == [
        (row, distance) for row, distance in enumerate(expected) if distance <= d
    ]


@given(BITS, st.dictionaries(st.integers(0, (1 << 64) - 1), BITS), st.data())
def test_hits_of_buckets_are_each_entry_within_the_distance_once(
    query: bytes, entries: dict[int, bytes], data: st.DataObject
) -> None:
    expected = {entry_id: hamming(query, bits) for entry_id, bits in entries.items()}
    d = data.draw(st.sampled_from([*expected.values(), 0, 64, 128]))
    records = [bits + entry_id.to_bytes(8, "little") for entry_id, bits in entries.items()]
    buckets = [b"".join(data.draw(st.permutations(records * 2))), None, b"".join(records)]
    hits = hits_within(buckets, query, d)
    assert list(zip(hits.distances.tolist(), hits.entry_ids.tolist(), strict=True)) == sorted(
        (distance, entry_id) for entry_id, distance in expected.items() if distance <= d
    )
