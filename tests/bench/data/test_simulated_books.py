import numpy as np
import pytest

from bench.data.fingerprint_model import LibraryModel
from bench.data.simulated_books import SAMPLE_SIZE, Books, simulate


@pytest.fixture(scope="module")
def books() -> Books:
    [batch] = simulate(4_000, seed=1)
    return batch


def _neighbours(books: Books) -> list[tuple[int, int]]:
    order = np.argsort(books.works, kind="stable")
    same = np.flatnonzero(books.works[order][1:] == books.works[order][:-1])
    return list(zip(order[same].tolist(), order[same + 1].tolist(), strict=True))


def test_the_same_seed_gives_the_same_books(books: Books) -> None:
    [again] = simulate(4_000, seed=1)
    assert np.array_equal(again.fingerprints, books.fingerprints)
    assert np.array_equal(again.minhash, books.minhash)


def test_a_sample_holds_every_hash_below_its_level_and_no_more_than_fit(books: Books) -> None:
    for row in range(200):
        sample = books.sketch(row).sample
        assert sample is not None
        hashes = sample.hashes.tolist()
        assert len(hashes) <= SAMPLE_SIZE
        assert sorted(set(hashes)) == hashes
        assert hashes[-1] < 1 << sample.level


def test_samples_are_as_large_as_those_of_real_books(books: Books) -> None:
    assert books.sizes is not None
    assert 85 < books.sizes.mean() < 97


def test_equal_values_and_shared_hashes_tell_the_same_similarity(books: Books) -> None:
    assert books.minhash is not None
    assert books.samples is not None
    assert books.sizes is not None
    assert books.levels is not None
    equal, shared = [], []
    for this, other in _neighbours(books)[:300]:
        equal.append((books.minhash[this] == books.minhash[other]).mean())
        limit = 1 << int(min(books.levels[this], books.levels[other]))
        below = [
            {int(each) for each in books.samples[row][: books.sizes[row]] if int(each) < limit}
            for row in (this, other)
        ]
        shared.append(len(below[0] & below[1]) / max(1, len(below[0] | below[1])))
    assert np.corrcoef(equal, shared)[0, 1] > 0.95
    assert abs(np.mean(equal) - np.mean(shared)) < 0.03


def test_unrelated_books_share_hardly_any_value(books: Books) -> None:
    assert books.minhash is not None
    unrelated = books.works[:2_000] != books.works[2_000:]
    equal = (books.minhash[:2_000] == books.minhash[2_000:]).sum(axis=1)[unrelated]
    assert (equal >= 3).mean() < 0.001


def test_a_library_is_more_skewed_than_uniform_fingerprints() -> None:
    bands = LibraryModel.load().draw(np.random.default_rng(2), 1_500).fingerprints.view(np.uint16)
    distances, sharing = [], 0
    for row in range(len(bands) - 1):
        differing = bands[row + 1 :] ^ bands[row]
        distances += np.bitwise_count(differing).sum(axis=1).tolist()
        sharing += int((differing == 0).any(axis=1).sum())
    assert 58 < np.mean(distances) < 63
    assert sharing / len(distances) > 3 * (1 - (1 - 1 / 65_536) ** 8)
