"""Whole buckets hold exactly what adding entry by entry puts there."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import band_keys
from bookprint_core.index.records import (
    ENTRIES_PER_SEGMENT,
    FLAT_RECORD,
    EntryColumns,
    PackedBuckets,
    SharedHashes,
    band_buckets,
    entries_sharing,
    flat_segments,
    in_lists,
    pack_bands,
    pack_postings,
    packed_buckets,
    record_ids,
    sample_posting,
)


def columns(n: int) -> EntryColumns:
    rng = np.random.default_rng(n)
    made = EntryColumns.empty(np.sort(rng.permutation(5 * n)[:n]).astype(np.uint64))
    made.bits[:] = rng.integers(0, 3, (n, 16))
    made.signed[:] = rng.random(n) < 0.9
    made.shingle_counts[:] = rng.integers(0, 99, n)
    return made


def by_address(filled: PackedBuckets) -> dict[int, bytes]:
    return dict(zip(filled.addresses.tolist(), filled.data(), strict=True))


def record_of(bits: NDArray[np.uint8], entry_id: int) -> bytes:
    return pack_bands(bits, np.array([entry_id], dtype=np.uint64)).tobytes()


def test_bands_are_grouped_as_entries_are_added() -> None:
    made = columns(700)
    for band in (0, 3, 7):
        expected: dict[int, bytes] = {}
        for entry_id, bits, signed in zip(made.entry_ids.tolist(), made.bits, made.signed, strict=True):
            if signed:
                bucket = band << 16 | band_keys(bits.tobytes())[band]
                expected[bucket] = expected.get(bucket, b"") + record_of(bits, entry_id)
        buckets = band_buckets(made, band)
        assert by_address(buckets) == expected


def test_segments_of_the_flat_index_hold_every_entry_once() -> None:
    made = columns(700)
    segments = flat_segments(made)
    records = segments.records.view(FLAT_RECORD)
    assert records["entry_id"].tolist() == made.entry_ids.tolist()
    assert (records["bits"] == made.bits).all()
    for segment, data in by_address(segments).items():
        ids = np.frombuffer(data, dtype=FLAT_RECORD)["entry_id"]
        assert (ids // ENTRIES_PER_SEGMENT == segment).all()


def test_postings_made_in_bulk_are_counted_as_shared() -> None:
    rng = np.random.default_rng(1)
    hashes = rng.integers(0, 1 << 64, (50, 128), dtype=np.uint64)
    hashes[7, :40] = hashes[3, :40]
    posting = sample_posting(hashes.ravel())
    ids = np.repeat(np.arange(100, 150, dtype=np.uint64), 128)
    buckets = by_address(packed_buckets(in_lists(posting.addresses, ids), pack_postings(posting.tags, ids)))
    query = sample_posting(hashes[3])
    shared = entries_sharing([buckets.get(int(address)) for address in query.addresses], query.tags)
    assert counted(shared) == {103: 128, 107: 40}
    assert shared.at_least(1).tolist() == [103, 107]
    assert shared.at_least(41).tolist() == [103]
    assert shared.counts_of(np.array([1, 103, 105, 107, 109], dtype=np.uint64)).tolist() == [0, 128, 0, 40, 0]


def counted(shared: SharedHashes) -> dict[int, int]:
    assert np.unique(shared.entry_ids).size == shared.entry_ids.size
    return dict(zip(shared.entry_ids.tolist(), shared.counts.tolist(), strict=True))


def test_a_record_twice_in_a_bucket_counts_once() -> None:
    record = pack_postings(np.array([5], dtype=np.uint32), np.array([9], dtype=np.uint64)).tobytes()
    shared = entries_sharing([record * 3, record], np.array([5, 5], dtype=np.uint32))
    assert counted(shared) == {9: 2}
    assert record_ids(record + record, len(record), 7).tolist() == [9, 9]
    assert record_ids(record, len(record), 3 << 20).tolist() == [(3 << 24) + 9]


@pytest.mark.parametrize(("span", "size"), [(40, 30), (10**9, 30), (4_500, 4_000), (10**9, 4_000)])
def test_entries_are_counted_however_many_they_are(span: int, size: int) -> None:
    rng = np.random.default_rng(span)
    samples = [
        rng.choice(span, size, replace=False).astype(np.uint64) + np.uint64(3 << 24) for _ in range(20)
    ]
    samples[0] = np.concatenate([samples[0], samples[0][:3]])
    tags = np.arange(20, dtype=np.uint32)
    others = pack_postings(np.full(50, 200, dtype=np.uint32), np.arange(50, dtype=np.uint64)).tobytes()
    lists = 1 + int(max(ids.max() for ids in samples)) // 2**24
    buckets = [
        others + pack_postings(np.full(chosen.size, tag), chosen).tobytes()
        for number in range(lists)
        for ids, tag in zip(samples, tags, strict=True)
        for chosen in [ids[ids >> np.uint64(24) == number]]
    ]
    expected, times = np.unique(np.concatenate([np.unique(ids) for ids in samples]), return_counts=True)
    absent = expected[:100] + np.uint64(1 << 31)
    shared = entries_sharing(buckets, tags)
    asked = rng.permutation(np.concatenate([expected, absent]))
    counts = dict(zip(asked.tolist(), shared.counts_of(asked).tolist(), strict=True))
    assert counted(shared) == dict(zip(expected.tolist(), times.tolist(), strict=True))
    assert shared.at_least(2).tolist() == expected[times > 1].tolist()
    assert counts == counted(shared) | dict.fromkeys(absent.tolist(), 0)


@pytest.mark.parametrize("entry_id", [2**32, 2**40])
def test_an_entry_without_room_for_its_id_is_refused(entry_id: int) -> None:
    entry_ids = np.array([1, entry_id], dtype=np.uint64)
    with pytest.raises(OverflowError):
        in_lists(np.zeros(2, dtype=np.uint32), entry_ids)
    with pytest.raises(OverflowError):
        pack_bands(np.zeros((2, 16), dtype=np.uint8), entry_ids)
