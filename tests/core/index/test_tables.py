"""Tables that grow: where a key's bucket is, and that a bucket is divided by one bit of its records."""

import numpy as np
import pytest

from bookprint_core.index.records import FULL, POSTING_CAP, band_records, capped, filled_buckets
from bookprint_core.index.tables import (
    BAND_BUCKETS,
    POSTINGS,
    TABLES,
    BucketTable,
    Records,
    posting_records,
    records_in,
)

IDS = np.arange(1, 2001, dtype=np.uint64) * np.uint64(4)


def some_records(table: BucketTable) -> Records:
    rng = np.random.default_rng(7)
    if table is POSTINGS:
        return posting_records(rng.integers(0, 1 << 64, IDS.size, dtype=np.uint64), IDS)
    return band_records(rng.integers(0, 256, (IDS.size, 16), dtype=np.uint8), IDS, [3])


def buckets(records: Records, size: int) -> dict[int, bytes]:
    packed = filled_buckets(records, np.full(records.keys.table.partitions, size))
    return dict(zip(packed.addresses.tolist(), packed.data(), strict=True))


def bits_of(number: int, size: int) -> int:
    """The bits that fix a bucket's number: one more where its like beyond the last whole level is there."""
    level = size.bit_length() - 1
    return level + (number >= 1 << level or number + (1 << level) < size)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 64, 255, 256, 257, 1000])
def test_a_key_leads_to_the_bucket_with_its_low_bits(size: int) -> None:
    keys = np.arange(5000, dtype=np.uint32)
    numbers, levels = POSTINGS.place(keys, np.full(keys.size, size))
    assert {*numbers.tolist()} == {*range(size)}
    assert levels.tolist() == [bits_of(number, size) for number in numbers.tolist()]
    assert (numbers == keys % (1 << levels.astype(np.int64))).all()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("size", [256, 300, 511, 512])
def test_a_bucket_is_divided_by_one_bit_of_its_words(table: BucketTable, size: int) -> None:
    before, after = (buckets(some_records(table), each) for each in (size, size + 1))
    level = size.bit_length() - 1
    bit = np.uint32(1 << int(table.id_bits(np.array(level, dtype=np.uint32))))
    divided = {address for address in before if address & 0xFFFFFF == size - (1 << level)}
    assert divided
    for address in divided:
        records = np.frombuffer(before[address], dtype=table.record).copy()
        moves = records["word"] & bit > 0
        records["word"] &= ~bit
        assert after.pop(address, b"") == records[~moves].tobytes()
        assert after.pop(address + (1 << level), b"") == records[moves].tobytes()
    assert after == {address: data for address, data in before.items() if address not in divided}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("size", [512, 700, 1 << 16])
def test_records_are_read_back_from_their_buckets(table: BucketTable, size: int) -> None:
    records = some_records(table)
    found = [records_in(table, address, size, data) for address, data in buckets(records, size).items()]
    expected = zip(records.keys.partitions, records.keys.values, records.entry_ids, strict=True)
    assert sorted(
        row
        for each in found
        for row in zip(each.keys.partitions, each.keys.values, each.entry_ids, strict=True)
    ) == sorted(expected)


def test_a_table_has_room_for_its_entries_and_for_the_largest_id() -> None:
    assert POSTINGS.size_for(0, 0) == 256
    assert POSTINGS.size_for(1_000_000, 1_000_000) * 16 == 2_000_000
    assert BAND_BUCKETS.size_for(10_000_000, 10_000_000) == 1 << 16
    for table in TABLES:
        for largest in (1, 2**13 - 1, 2**13, 2**20, 2**29 - 1):
            size = table.size_for(1, largest)
            assert largest < 1 << int(table.id_bits(np.array(size.bit_length() - 1, dtype=np.uint32)))
    with pytest.raises(OverflowError, match=r"below 2\^29"):
        POSTINGS.size_for(1, 2**29)


def test_a_hash_keeps_so_many_postings_and_a_mark() -> None:
    ids = np.arange(1, POSTING_CAP + 3, dtype=np.uint64)
    hashes = np.array([5, 5 + (1 << 16), 9], dtype=np.uint64)
    counts = [POSTING_CAP + 2, POSTING_CAP, 3]
    postings = [posting_records(np.full(n, each), ids[:n]) for each, n in zip(hashes, counts, strict=True)]
    kept = capped(postings[0].joined(postings[1]).joined(postings[2]))
    pairs = list(zip(kept.keys.values.tolist(), kept.entry_ids.tolist(), strict=True))
    expected = [
        (int(hash_) >> 4, entry_id)
        for hash_, n in zip(hashes, counts, strict=True)
        for entry_id in ids[: min(n, POSTING_CAP)].tolist()
    ]
    assert pairs == [*expected, (0, FULL)]
