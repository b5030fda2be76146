"""Simulated books by the million: fingerprints, MinHash values and samples.

A work is a set of shingles and a set of grams, whose hashes are the points of Poisson processes. A book of
the work has each of them with some probability, and adds its own. MinHash values and samples of the book
follow by the recipes: minima of its shingles, and the least hashes of its grams. Two books of one work
therefore share values according to their Jaccard similarity, and unrelated books as rarely as 32 bits allow.
One book in ten contains the same notice of some three hundred shingles. Fingerprints and lengths of works
come from `fingerprint_model`, with one journal per batch. The distance of a work's further books to its first
follows the effect of errors on real books; parts and collections are farther away.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.data.fingerprint_model import BITS, LibraryModel
from bookprint_core.model import Fingerprint, MinHashSignature, Sketch
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_SAMPLE, sample_recipe
from bookprint_core.signatures.fracminhash import fracminhash

BATCH = 20_000
VALUES = 128
_SEED = 20261121

_TAIL = 3.0  # Zipf's exponent of the number of a work's books: 83 % have one
_NOTICE_SHARE, _NOTICE_SHINGLES = 0.1, 300  # share of books with the notice; its shingles
_MOST_BOOKS = 60  # maximum books of one work
_WORDS = np.array([1_000, 3_000, 10_000, 30_000, 100_000, 200_000])
_BITS_LOST = np.array([25, 24, 20, 16, 14, 9])
"""Median bits by which 5 % errors change a fingerprint of this many words (decision 2)."""
_MEAN_ERRORS, _MOST_ERRORS = 0.015, 0.06  # mean and highest character error rate of a copy
_LENGTHS = np.array([[28.0], [10.0]])
"""Characters of a shingle, with spaces, and of a gram that errors change: folding hides many errors."""
_GRAMS_PER_SHINGLE = 3.6  # mean of 99 books of the corpus
_PARTS = 0.04  # share of parts and collections among a work's further books
_MINIMA = 6  # least hashes of a work that are stored per MinHash value
_DEEP = 352  # least hashes of a work that are stored for the sample

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Books:
    """A batch of simulated books."""

    works: NDArray[np.int64]  # (n,), equal for books of one work
    fingerprints: NDArray[np.uint8]  # (n, 16)
    shingle_counts: NDArray[np.int64]  # (n,)
    word_counts: NDArray[np.int64]
    character_counts: NDArray[np.int64]
    minhash: NDArray[np.uint32]  # (n, 128)
    grams: NDArray[np.uint64]  # (n, 352), ascending: the least hashes of each book's grams

    def __len__(self) -> int:
        return len(self.works)

    def sketch(self, row: int) -> Sketch:
        """Return one of the books as a sketch of the product."""
        return Sketch(
            fingerprint=Fingerprint(DEFAULT_FINGERPRINT, self.fingerprints[row].tobytes()),
            minhash=MinHashSignature(DEFAULT_MINHASH, self.minhash[row], int(self.shingle_counts[row])),
            pages=None,
            word_count=int(self.word_counts[row]),
            character_count=int(self.character_counts[row]),
            page_count=None,
            sample=fracminhash(self.grams[row], sample_recipe(DEFAULT_SAMPLE)),
        )


def simulate(n: int, *, seed: int = _SEED, numbers: Iterable[int] | None = None) -> Iterator[Books]:
    """Yield n books in batches, or only the batches with these numbers."""
    model = LibraryModel.load()
    notice = _Notice.draw(np.random.default_rng([seed, 0]), _NOTICE_SHINGLES)
    for number in range(-(-n // BATCH)) if numbers is None else numbers:
        rng = np.random.Generator(np.random.SFC64([seed, 1, number]))
        start = number * BATCH
        yield _batch(model, notice, rng, start, min(BATCH, n - start))


@dataclass(frozen=True, slots=True, eq=False)
class _Notice:
    """A text in many books: the least hash of its shingles per value, and the hashes of its grams."""

    minima: Floats  # (128,), 0 to 2**32
    grams: Floats  # ascending, 0 to 2**64

    @classmethod
    def draw(cls, rng: np.random.Generator, shingles: int) -> "_Notice":
        grams = np.sort(rng.random(round(shingles * _GRAMS_PER_SHINGLE))) * 2.0**64
        return cls(rng.standard_exponential(VALUES) * 2.0**32 / shingles, grams)


def _batch(model: LibraryModel, notice: _Notice, rng: np.random.Generator, start: int, n: int) -> Books:
    books_of = np.minimum(rng.zipf(_TAIL, n), _MOST_BOOKS)
    work = np.repeat(np.arange(n), books_of)[:n]
    first = np.concatenate([[True], work[1:] != work[:-1]])
    shuffled = rng.permutation(n)
    work, first = work[shuffled], first[shuffled]

    errors = np.minimum(rng.exponential(_MEAN_ERRORS, n), _MOST_ERRORS)
    kept = np.where(first, 1.0, (1 - errors) ** _LENGTHS)  # share of the work's shingles and grams, (2, n)
    added = 1 - kept  # a book's own shingles and grams, relative to the work's
    odd = ~first & (rng.random(n) < _PARTS)
    is_part = odd & (rng.random(n) < 0.5)
    share = rng.uniform(0.05, 0.8, n)
    kept[:, odd] = np.where(is_part, share, 1.0)[odd]
    added[:, odd] = np.where(is_part, 0.02, 1 / share - 1)[odd]

    drawn = model.draw(rng, int(work.max()) + 1)
    whole = drawn.shingle_counts
    counts = np.maximum(whole[work] * (kept[0] + added[0]), 1)
    words = np.ceil(counts * model.words_per_shingle).astype(np.int64)
    # At 1, 3 and 10 % the square root is within three bits of the measured medians.
    flips = rng.poisson(np.interp(np.log(words), np.log(_WORDS), _BITS_LOST) * np.sqrt(errors / 0.05))
    flips[odd] = rng.integers(10, 50, odd.sum())
    flips[first] = 0
    fingerprints = drawn.fingerprints[work] ^ _flips(rng, flips)
    has_notice = rng.random(n) < _NOTICE_SHARE
    carried = np.where(has_notice[:, None], notice.minima, np.inf)
    minhash = _minhash(rng, work, whole, kept[0], added[0], carried)
    grams = _grams(rng, work, _GRAMS_PER_SHINGLE * whole, kept[1], added[1], has_notice, notice)
    return Books(
        works=start + work,
        fingerprints=fingerprints,
        shingle_counts=counts.astype(np.int64),
        word_counts=words,
        character_counts=np.ceil(words * model.characters_per_word).astype(np.int64),
        minhash=minhash,
        grams=grams,
    )


def _flips(rng: np.random.Generator, flips: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return masks with this many random bits set, (n, 16)."""
    bits = np.zeros((len(flips), BITS), dtype=np.uint8)
    flipped = np.flatnonzero(flips)
    order = rng.random((flipped.size, BITS), dtype=np.float32).argsort(axis=1)
    bits[flipped] = order < flips[flipped, None]
    return np.packbits(bits, axis=1)


def _minhash(
    rng: np.random.Generator,
    work: NDArray[np.int64],
    whole: Floats,
    kept: Floats,
    added: Floats,
    notice: Floats,
) -> NDArray[np.uint32]:
    """Return per value the least hash of a book's shingles: the work's, its own and the notice's."""
    least = rng.standard_exponential((whole.size, VALUES, _MINIMA)).cumsum(axis=2)
    least *= (2.0**32 / whole)[:, None, None]
    n = len(work)
    values = least[work, :, 0]
    changed = np.flatnonzero(kept < 1)
    follows = rng.random((changed.size, VALUES, _MINIMA), dtype=np.float32) < kept[changed, None, None]
    # If a book has none of the stored hashes, its next hash is drawn behind the last.
    behind = least[work[changed], :, -1] + 2.0**32 / (whole[work[changed]] * kept[changed])[:, None]
    least_there = np.where(follows, least[work[changed]], np.inf).min(axis=2)
    values[changed] = np.where(np.isfinite(least_there), least_there, behind * (1 + rng.random(behind.shape)))
    with np.errstate(divide="ignore"):
        own = rng.standard_exponential((n, VALUES)) * (2.0**32 / (whole[work] * added))[:, None]
    values = np.minimum(np.minimum(values, own), notice)
    whole_numbers: NDArray[np.uint32] = np.minimum(values, 2.0**32 - 1).astype(np.uint32)
    return whole_numbers


def _grams(
    rng: np.random.Generator,
    work: NDArray[np.int64],
    whole: Floats,
    kept: Floats,
    added: Floats,
    has_notice: NDArray[np.bool_],
    notice: _Notice,
) -> NDArray[np.uint64]:
    """Return the least hashes of each book's grams; a work has `whole` grams."""
    least = rng.standard_exponential((whole.size, _DEEP)).cumsum(axis=1) * (2.0**64 / whole)[:, None]
    # A float has fewer bits than a hash. The lowest bits do not affect the order, but choose buckets.
    least = least.clip(max=2.0**64 - 2.0**12)
    hashes = least.astype(np.uint64) ^ rng.integers(0, 1 << 12, least.shape, dtype=np.uint64)
    lowest = hashes[work]
    changed = np.flatnonzero(added > 0)
    lost = np.uint64(2**64 - 1)
    part = np.where(rng.random((changed.size, _DEEP)) < kept[changed, None], lowest[changed], lost)
    own = rng.standard_exponential((changed.size, _DEEP)).cumsum(axis=1)
    own *= (2.0**64 / (whole[work[changed]] * added[changed]))[:, None]
    # Behind the stored hashes, a book's hashes of the work are drawn like its own.
    last = least[work[changed], -1:]
    own = np.where(own < last, own, last + (own - last) * (added / (kept + added))[changed, None])
    own = own.clip(max=2.0**64 - 2.0**12)
    drawn = own.astype(np.uint64) ^ rng.integers(0, 1 << 12, own.shape, dtype=np.uint64)
    lowest[changed] = np.sort(np.concatenate([part, drawn], axis=1), axis=1)[:, :_DEEP]
    carried = np.flatnonzero(has_notice)
    hashes_of_notice = notice.grams[:_DEEP].astype(np.uint64)
    notices = np.broadcast_to(hashes_of_notice, (carried.size, hashes_of_notice.size))
    lowest[carried] = np.sort(np.concatenate([lowest[carried], notices], axis=1), axis=1)[:, :_DEEP]
    lowest.sort(axis=1)
    return lowest
