"""Whole buckets hold exactly what adding entry by entry puts there."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bookprint_core.index.records import (
    ENTRIES_PER_SEGMENT,
    FLAT_RECORD,
    Buckets,
    EntryColumns,
    PackedBuckets,
    SharedHashes,
    entries_sharing,
    filled_buckets,
    flat_segments,
)
from bookprint_core.index.tables import POSTINGS, BucketKeys, Records, hash_keys, posting_records

SIZES = np.full(POSTINGS.partitions, 300)


def columns(n: int) -> EntryColumns:
    rng = np.random.default_rng(n)
    made = EntryColumns.empty(np.sort(rng.permutation(5 * n)[:n]).astype(np.uint64))
    made.bits[:] = rng.integers(0, 3, (n, 16))
    made.signed[:] = rng.random(n) < 0.9
    made.shingle_counts[:] = rng.integers(0, 99, n)
    return made


def by_address(filled: PackedBuckets) -> dict[int, bytes]:
    return dict(zip(filled.addresses.tolist(), filled.data(), strict=True))


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
    ids = np.repeat(np.arange(100, 150, dtype=np.uint64), 128)
    packed = filled_buckets(posting_records(hashes.ravel(), ids), SIZES)
    query = hash_keys(hashes[3])
    addresses, levels = query.place(SIZES)
    buckets = Buckets([by_address(packed).get(address) for address in addresses.tolist()], addresses, levels)
    shared = entries_sharing(buckets, query)
    assert counted(shared) == {103: 128, 107: 40}
    assert shared.at_least(1).tolist() == [103, 107]
    assert shared.at_least(41).tolist() == [103]
    assert shared.counts_of(np.array([1, 103, 105, 107, 109], dtype=np.uint64)).tolist() == [0, 128, 0, 40, 0]


def counted(shared: SharedHashes) -> dict[int, int]:
    assert np.unique(shared.entry_ids).size == shared.entry_ids.size
    return dict(zip(shared.entry_ids.tolist(), shared.counts.tolist(), strict=True))


def each_alone(*ids_of_hashes: NDArray[np.uint64]) -> tuple[Buckets, BucketKeys]:
    """A bucket for each hash, with these entries and some of another hash."""
    count = len(ids_of_hashes)
    keys = BucketKeys(
        POSTINGS, np.zeros(count, dtype=np.uint32), np.arange(count, dtype=np.uint32) << np.uint32(24)
    )
    levels = np.arange(count, dtype=np.uint32) % 3 + np.uint32(22)
    values = []
    for place, ids in enumerate(ids_of_hashes):
        others = BucketKeys(POSTINGS, *np.array([[0], [5 << 24]], dtype=np.uint32).repeat(50, axis=1))
        mine = BucketKeys(
            POSTINGS, *(column[[place]].repeat(ids.size) for column in (keys.partitions, keys.values))
        )
        records = Records(others, np.arange(50, dtype=np.uint64)).joined(Records(mine, ids))
        values.append(records.packed(np.full(50 + ids.size, levels[place])).tobytes())
    return Buckets(values, np.arange(count, dtype=np.uint32), levels), keys


def test_a_record_twice_in_a_bucket_counts_once() -> None:
    nine = np.array([9], dtype=np.uint64)
    assert counted(entries_sharing(*each_alone(nine.repeat(3), nine))) == {9: 2}


@pytest.mark.parametrize(("span", "size"), [(40, 30), (1 << 26, 30), (4_500, 4_000), (1 << 26, 4_000)])
def test_entries_are_counted_however_many_they_are(span: int, size: int) -> None:
    rng = np.random.default_rng(span)
    samples = [rng.choice(span, size, replace=False).astype(np.uint64) for _ in range(5)]
    samples[0] = np.concatenate([samples[0], samples[0][:3]])
    expected, times = np.unique(np.concatenate([np.unique(ids) for ids in samples]), return_counts=True)
    absent = expected[:100] + np.uint64(1 << 28)
    shared = entries_sharing(*each_alone(*samples))
    asked = rng.permutation(np.concatenate([expected, absent]))
    counts = dict(zip(asked.tolist(), shared.counts_of(asked).tolist(), strict=True))
    assert counted(shared) == dict(zip(expected.tolist(), times.tolist(), strict=True))
    assert shared.at_least(2).tolist() == expected[times > 1].tolist()
    assert counts == counted(shared) | dict.fromkeys(absent.tolist(), 0)
