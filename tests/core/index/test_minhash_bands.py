"""MinHash bands propose the books that datasketch proposes, as often as the formula says."""

import numpy as np
import pytest
from datasketch import MinHash, MinHashLSH
from numpy.typing import NDArray

from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.records import posted_hashes
from bookprint_core.matching.search import alike
from bookprint_core.model import Entry, MinHashSignature
from bookprint_core.recipe import DEFAULT_MINHASH
from tests.factories import BANDS, an_entry, similar_values

Values = NDArray[np.uint32]


def random_values(rng: np.random.Generator, n: int) -> Values:
    return rng.integers(0, 1 << 32, (n, 128), dtype=np.uint32)


def test_hashes_are_those_of_the_golden_vectors() -> None:
    values = np.arange(128, dtype=np.uint32)[None] * np.uint32(0x01000193)
    hashes = BANDS.hashes(values)
    assert hashes.shape == (1, 25)
    assert [f"{each:016x}" for each in hashes[0, [0, 1, 24]].tolist()] == [
        "84da2fad74f2b605",
        "e027af644b6be511",
        "b735ef146455be32",
    ]
    of_one_row = MinHashBands(128, 1).hashes(values)[0, [0, 127]].tolist()
    assert [f"{each:016x}" for each in of_one_row] == ["9ca066f1a4ab2eea", "cfeb5d93b389f41b"]


@pytest.mark.parametrize("bits", [range(8), range(12, 20), range(56, 64)])
def test_bits_are_uniform_even_of_values_that_hardly_differ(bits: range) -> None:
    values = np.zeros((2_000, 128), dtype=np.uint32)
    values[:, ::5] = np.arange(2_000, dtype=np.uint32)[:, None]
    hashes = BANDS.hashes(values)
    assert np.unique(hashes).size == hashes.size
    counts = np.bincount((hashes >> np.uint64(bits.start) & np.uint64(255)).ravel().astype(np.intp))
    expected = hashes.size / 256
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert counts.size == 256
    assert chi_square < 255 + 5 * np.sqrt(2 * 255)


@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.7, 0.9])
def test_the_found_share_is_that_of_the_formula(similarity: float) -> None:
    rng = np.random.default_rng(7)
    query, n = random_values(rng, 1)[0], 4_000
    others = similar_values(rng, query, similarity, n)
    chance = BANDS.chance(similarity)
    found = int(BANDS.in_common(query, others).sum())
    assert abs(found - n * chance) <= 4 * np.sqrt(n * chance * (1 - chance)) + 1
    assert (
        BANDS.in_common(query, others) == (BANDS.hashes(others) == BANDS.hashes(query[None])).any(1)
    ).all()


@pytest.mark.parametrize("bands", [BANDS, MinHashBands(9, 13)])
def test_datasketch_with_these_bands_proposes_the_same_books(bands: MinHashBands) -> None:
    rng = np.random.default_rng(11)
    lsh = MinHashLSH(num_perm=128, params=(bands.count, bands.rows))
    queries = random_values(rng, 20)
    library = np.concatenate([similar_values(rng, query, rng.uniform(0.2, 1), 10) for query in queries])
    for place, values in enumerate(library):
        lsh.insert(place, MinHash(num_perm=128, hashvalues=values, scheme="affine32"))
    for query in queries:
        proposed = lsh.query(MinHash(num_perm=128, hashvalues=query, scheme="affine32"))
        assert np.flatnonzero(bands.in_common(query, library)).tolist() == sorted(proposed)


def test_books_are_alike_with_a_band_in_common_and_enough_equal_values() -> None:
    query = random_values(np.random.default_rng(3), 1)[0]
    others = np.tile(query, (4, 1))
    others[0, 5:] += np.uint32(1)  # one band
    others[1, ::5] += np.uint32(1)  # no band, and most values
    others[2, 64:] += np.uint32(1)
    ids = np.array([10, 11, 12, 13], dtype=np.uint64)
    minhash = MinHashSignature(DEFAULT_MINHASH, query, 1000)
    for jaccard, expected in ((0.5, [13, 12]), (0.501, [13]), (0.03, [13, 12, 10])):
        hits = alike(minhash, BANDS, ids, others, jaccard)
        assert hits.entry_ids.tolist() == expected
        assert hits.distances.tolist() == [0, 64, 123][: len(expected)]


def test_a_book_is_posted_by_what_it_has() -> None:
    entry = an_entry(np.random.default_rng(1), 7)
    assert entry.sample is not None
    assert entry.minhash is not None
    of_bands = BANDS.hashes(entry.minhash.values[None])[0].tolist()
    of_sample = entry.sample.hashes.tolist()
    for minhash, sample, expected in (
        (entry.minhash, entry.sample, of_sample + of_bands),
        (entry.minhash, None, of_bands),
        (None, entry.sample, of_sample),
        (None, None, []),
    ):
        assert posted_hashes(Entry(7, entry.fingerprint, minhash, sample), BANDS).tolist() == expected
