"""The flat index against a plain list of entries."""

import numpy as np
import pytest

from bookprint_core.index.flat_index import FlatIndex
from bookprint_core.index.records import FLAT_RECORD, IDENTIFIED, NO_SAMPLE, SIGNED


def records(rng: np.random.Generator, entry_ids: list[int]) -> np.ndarray:
    made = np.zeros(len(entry_ids), dtype=FLAT_RECORD)
    made["entry_id"] = entry_ids
    made["bits"] = rng.integers(0, 256, (len(entry_ids), 16))
    made["bits"][:, 2:] = made["bits"][0, 2:]
    made["signed"] = 1
    made["shingle_count"] = rng.integers(1, 1000, len(entry_ids))
    made["level"] = 57
    return made


def brute_force(made: np.ndarray, bits: bytes, d: int) -> list[tuple[int, int]]:
    query = int.from_bytes(bits, "big")
    distances = [
        ((int.from_bytes(record["bits"].tobytes(), "big") ^ query).bit_count(), int(record["entry_id"]))
        for record in made
        if record["signed"]
    ]
    return sorted((distance, entry_id) for distance, entry_id in distances if distance <= d)


def pairs(hits: object) -> list[tuple[int, int]]:
    return list(zip(hits.distances.tolist(), hits.entry_ids.tolist(), strict=True))


@pytest.fixture
def made() -> np.ndarray:
    rng = np.random.default_rng(3)
    entries = records(rng, rng.permutation(5000)[:2000].tolist())
    entries["signed"][::50] = 0
    entries["bits"][::50] = 0
    return entries


def test_a_scan_finds_what_brute_force_finds(made: np.ndarray) -> None:
    flat_index = FlatIndex(made)
    for query in made[[1, 7, 1999]]:
        for d in (0, 2, 5, 8, 16, 128):
            assert pairs(flat_index.within(query["bits"].tobytes(), d)) == brute_force(
                made, query["bits"].tobytes(), d
            )


def test_the_nearest_are_the_first_of_all(made: np.ndarray) -> None:
    flat_index = FlatIndex(made)
    bits = made[7]["bits"].tobytes()
    expected = brute_force(made, bits, 128)
    for k in (1, 2, 17, 500, 1960, 5000):
        assert pairs(flat_index.nearest(bits, k)) == expected[:k]


def test_entries_put_one_by_one_in_any_order_make_the_same_index(made: np.ndarray) -> None:
    whole, grown = FlatIndex(made), FlatIndex()
    for record in made:
        grown.put(record)
        grown.put(record)
    bits = made[1]["bits"].tobytes()
    assert pairs(grown.within(bits, 128)) == pairs(whole.within(bits, 128))
    assert grown.size == whole.size == len(made)
    assert (grown.bucket_sizes == whole.bucket_sizes).all()


def test_bucket_sizes_count_the_entries_of_each_band(made: np.ndarray) -> None:
    flat_index = FlatIndex(made)
    signed = made[made["signed"] == 1]
    bands = np.ascontiguousarray(signed["bits"]).view(">u2")
    for band in range(8):
        assert (flat_index.bucket_sizes[band] == np.bincount(bands[:, band], minlength=65536)).all()
    for record in made[:500]:
        flat_index.drop(int(record["entry_id"]))
    assert flat_index.bucket_sizes.sum() == 8 * made[500:]["signed"].sum()


def test_what_is_dropped_is_found_no_more_and_can_come_back(made: np.ndarray) -> None:
    flat_index = FlatIndex(made)
    gone = made[7]
    bits, entry_id = gone["bits"].tobytes(), int(gone["entry_id"])
    flat_index.drop(entry_id)
    flat_index.drop(entry_id)
    flat_index.drop(999_999)
    assert entry_id not in flat_index.within(bits, 128).entry_ids
    assert flat_index.rows(np.array([entry_id], dtype=np.uint64)).size == 0
    flat_index.put(gone)
    assert entry_id in flat_index.within(bits, 0).entry_ids


def test_entries_without_a_sample_are_known_as_they_come_and_go(made: np.ndarray) -> None:
    made["level"][::7] = NO_SAMPLE
    made["signed"][3::70] = IDENTIFIED
    bits = made[7]["bits"].tobytes()
    whole, grown = FlatIndex(made), FlatIndex()
    for record in made:
        grown.put(record)
        grown.unsampled_within(bits, 9)
    for record in made[:1000]:
        whole.drop(int(record["entry_id"]))
        grown.drop(int(record["entry_id"]))
    rest = made[1000:]
    unsampled = rest[(rest["signed"] == SIGNED) & (rest["level"] == NO_SAMPLE)]
    assert unsampled.size > 100
    for flat_index in (whole, grown):
        assert flat_index.unsampled == unsampled.size
        assert pairs(flat_index.unsampled_within(bits, 9)) == brute_force(unsampled, bits, 9) != []
        assert flat_index.has_identified
        for record in rest[rest["signed"] == IDENTIFIED]:
            flat_index.drop(int(record["entry_id"]))
        assert not flat_index.has_identified


def test_rows_are_found_by_entry_id(made: np.ndarray) -> None:
    flat_index = FlatIndex(made)
    asked = np.array([int(made[3]["entry_id"]), 10**9, int(made[50]["entry_id"])], dtype=np.uint64)
    rows = flat_index.rows(np.sort(asked))
    assert set(flat_index.entry_ids(rows).tolist()) == {int(made[3]["entry_id"]), int(made[50]["entry_id"])}
    by_id = {int(record["entry_id"]): record for record in made}
    for row, entry_id in zip(rows, flat_index.entry_ids(rows).tolist(), strict=True):
        record = by_id[entry_id]
        assert flat_index.shingle_counts(rows)[rows == row] == record["shingle_count"]
        assert flat_index.levels(rows)[rows == row] == record["level"]
        expected = 255 if not record["signed"] else 0
        assert flat_index.distances(record["bits"].tobytes(), rows)[rows == row] == expected
    assert (flat_index.distances(None, rows) == 255).all()


def test_an_empty_flat_index_answers_nothing() -> None:
    flat_index = FlatIndex()
    assert flat_index.within(bytes(16), 128).size == 0
    assert flat_index.nearest(bytes(16), 3).size == 0
    assert flat_index.rows(np.array([1], dtype=np.uint64)).size == 0
    assert NO_SAMPLE == 255
