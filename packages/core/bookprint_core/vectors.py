"""The vector of a book: the signs of 1,024 random projections of its word weights (Charikar 2002).

It stands where Reeve (2017) has the mean of word vectors. A word weighs the root of its count times its
rarity, as in tf-idf (Spärck Jones 1972). A word that is not known weighs only where it comes in bursts, as
names do: so books in unknown languages have vectors too. Books of one series share names and subjects.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.errors import InvalidInput
from bookprint_core.text.normal_form import NormalText

WINDOW = 800
"""Words between two occurrences up to which the second is a near repeat."""

_FIRST_SLOTS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """The different words of a text in the order of their hashes; equal hashes are one word."""

    hashes: NDArray[np.uint32]  # (different,)
    counts: NDArray[np.int64]  # (different,)
    bursting: NDArray[np.bool_]  # (different,) more near repeats than evenly spread words have
    words: int  # in all


def word_counts(text: NormalText) -> WordCounts:
    """The counts of a text's words.

    In scripts that put no spaces between words, each pair of neighbouring characters is a word.
    """
    from bookprint_core import vector_kernels

    slots = np.zeros((_FIRST_SLOTS, 4), dtype=np.int64)
    while True:
        words, different = vector_kernels.count_words(text.codes, text.size, text.kinds, WINDOW, slots)
        if 2 * different < len(slots):
            break
        slots = np.zeros((4 * len(slots), 4), dtype=np.int64)
    rows = slots[slots[:, 1] > 0]
    rows = rows[np.argsort(rows[:, 0])]
    bursting = np.empty(len(rows), dtype=np.bool_)
    vector_kernels.bursts(rows[:, 1].copy(), rows[:, 2].copy(), WINDOW, max(words, 1), bursting)
    return WordCounts(rows[:, 0].astype(np.uint32), rows[:, 1].copy(), bursting, words)


_HEAD = struct.Struct("<4sI")
_MAGIC = b"BPV2"

RAREST = 255
"""The rarity of a word that at most one book in sixty has, and of words that are not known."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorWeights:
    """How rare each known word is."""

    hashes: NDArray[np.uint32]  # (words,) of the known words, in ascending order
    rarity: NDArray[np.uint8]  # (words,) 0 for a word that every book of a language has


def pack_weights(weights: VectorWeights) -> bytes:
    """The weights as bytes, little-endian: a head, then each array in the order of its field."""
    return b"".join(
        (
            _HEAD.pack(_MAGIC, weights.hashes.size),
            weights.hashes.astype("<u4").tobytes(),
            weights.rarity.astype("u1").tobytes(),
        )
    )


def unpack_weights(data: bytes) -> VectorWeights:
    """The weights that `pack_weights` wrote; raises InvalidInput for other bytes."""
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise InvalidInput("These are no weights of vectors. Install the package again.")
    _, words = _HEAD.unpack_from(data)
    if len(data) != _HEAD.size + 5 * words:
        raise InvalidInput("The weights of vectors are cut short. Install the package again.")
    return VectorWeights(
        hashes=np.frombuffer(data, "<u4", words, _HEAD.size).astype(np.uint32),
        rarity=np.frombuffer(data, "u1", words, _HEAD.size + 4 * words).copy(),
    )


SIGNS = 1024
BYTES = SIGNS // 8

LEAST_WORDS = 50
"""A shorter text has no vector."""

_SCALE = 64  # roots are whole multiples of 1/64, so that every machine finds the same signs

Vector = NDArray[np.uint8]
"""(128,), a bit a sign."""


def book_vector(text: NormalText, weights: VectorWeights) -> Vector | None:
    """The vector of a book under these weights; None where it has fewer than 50 words or none with weight.

    A text of 600,000 characters takes some milliseconds.
    """
    return vector_of(word_counts(text), weights)


def vector_of(words: WordCounts, weights: VectorWeights) -> Vector | None:
    """The vector of a book whose words are counted; None as for `book_vector`."""
    from bookprint_core.signatures import kernels

    weight = word_weights(words, weights)
    chosen = np.flatnonzero(weight)
    if words.words < LEAST_WORDS or chosen.size == 0:
        return None
    votes = np.empty(SIGNS, dtype=np.int64)
    kernels.vote(words.hashes[chosen], weight[chosen], votes)
    return np.packbits(votes > 0)


def word_weights(words: WordCounts, weights: VectorWeights) -> NDArray[np.int64]:
    """The weight of each word, (different,): 64 times the root of its count, times its rarity."""
    places = np.minimum(np.searchsorted(weights.hashes, words.hashes), weights.hashes.size - 1)
    known = weights.hashes[places] == words.hashes
    rarity = np.where(known, weights.rarity[places], np.where(words.bursting, RAREST, 0))
    # IEEE 754 prescribes the root to the last bit
    roots = np.floor(np.sqrt(words.counts.astype(np.float64)) * _SCALE)
    return np.asarray(roots.astype(np.int64) * rarity)


def cosine(a: Vector, b: Vector) -> float:
    """The estimated cosine of two vectors, -1 to 1."""
    return float(cosines(a, b[None])[0])


def cosines(vector: Vector, others: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The estimated cosine of a vector with each row of `others` (n, 128), -1 to 1, (n,).

    Signs differ with probability θ/π for weights at an angle θ (Charikar 2002), so the cosine is that of π
    times the share of signs that differ. Near 0 its standard error is .05.
    """
    from bookprint_core import vector_kernels

    distances = np.empty(len(others), dtype=np.int64)
    vector_kernels.distances(
        np.ascontiguousarray(vector).view(np.uint64), np.ascontiguousarray(others).view(np.uint64), distances
    )
    return _COSINES[distances]


_COSINES = np.cos(np.pi * np.arange(SIGNS + 1) / SIGNS).astype(np.float32)


_LEFT = 0  # in place of the number of an entry that has left; entries are numbered from 1

_LEAST_ROOM = 1024
_NO_COSINE = np.float32(-2)


@dataclass(frozen=True, slots=True, eq=False)
class SimilarEntries:
    """Entries and how alike their vectors are to one, the most alike first."""

    entry_ids: NDArray[np.uint64]  # (n,)
    similarities: NDArray[np.float32]  # (n,) estimated cosines, -1 to 1


@dataclass(frozen=True, slots=True, eq=False)
class EntryVectors:
    """Vectors, each with its entry."""

    entry_ids: NDArray[np.uint64]  # (n,)
    vectors: NDArray[np.uint8]  # (n, 128)

    @property
    def size(self) -> int:
        return self.entry_ids.size

    def most_similar(self, vector: Vector, k: int) -> SimilarEntries:
        """The k entries most alike to a vector; of several that are equally so, the lowest first."""
        present = self.entry_ids != _LEFT
        k = min(k, int(np.count_nonzero(present)))
        values = np.where(present, cosines(vector, self.vectors), _NO_COSINE)
        least = np.partition(values, values.size - k)[values.size - k] if k else np.float32(np.inf)
        rows = np.flatnonzero(values >= least)
        rows = rows[np.lexsort((self.entry_ids[rows], -values[rows]))[:k]]
        return SimilarEntries(self.entry_ids[rows], values[rows])


class VectorMatrix:
    """The vectors of entries, 136 bytes each, while some are added and others leave; one writer."""

    def __init__(self) -> None:
        self._size = 0
        self._entry_ids = np.zeros(0, dtype=np.uint64)
        self._vectors = np.zeros((0, BYTES), dtype=np.uint8)

    def rows(self) -> EntryVectors:
        """The rows at present, which can be read in any thread while the matrix changes."""
        return EntryVectors(self._entry_ids[: self._size], self._vectors[: self._size])

    def add(self, new: EntryVectors) -> None:
        """Add those of these entries that are not here."""
        if not new.size:
            return
        known = self._entry_ids[: self._size]
        is_new = ~np.isin(new.entry_ids, known[np.isin(known, new.entry_ids)])
        count = int(np.count_nonzero(is_new))
        if self._size + count > self._entry_ids.size:
            self._enlarge(count)
        rows = slice(self._size, self._size + count)
        self._entry_ids[rows], self._vectors[rows] = new.entry_ids[is_new], new.vectors[is_new]
        self._size += count

    def remove(self, entry_ids: NDArray[np.uint64]) -> None:
        """Remove entries; others are passed over."""
        known = self._entry_ids[: self._size]
        known[np.isin(known, entry_ids)] = _LEFT

    def _enlarge(self, count: int) -> None:
        """Make room for more rows, in place of those of entries that have left, too."""
        rows = np.flatnonzero(self._entry_ids[: self._size] != _LEFT)
        room = rows.size + count
        room += max(_LEAST_ROOM, room // 8)
        entry_ids = np.zeros(room, dtype=np.uint64)
        vectors = np.zeros((room, BYTES), dtype=np.uint8)
        entry_ids[: rows.size], vectors[: rows.size] = self._entry_ids[rows], self._vectors[rows]
        self._entry_ids, self._vectors, self._size = entry_ids, vectors, rows.size
