"""The vector of a book: the signs of 1,024 random projections of its word weights (Charikar 2002).

It replaces the mean of word vectors in Reeve (2017). A word's weight is its rarity times the square root of
its count, similar to tf-idf (Spärck Jones 1972). An unknown word has a weight only if it occurs in bursts, as
names do; books in unknown languages therefore have vectors too. Books of one series share names and subjects.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.errors import InvalidInput
from bookprint_core.text.normal_form import NormalText

WINDOW = 800
"""Maximum distance of a near repeat from the previous occurrence, in words."""

_FIRST_SLOTS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """The distinct words of a text in the order of their hashes; equal hashes are one word."""

    hashes: NDArray[np.uint32]  # (distinct,)
    counts: NDArray[np.int64]  # (distinct,)
    bursting: NDArray[np.bool_]  # (distinct,) more near repeats than evenly spread words have
    words: int  # words in total, repeats included


def word_counts(text: NormalText) -> WordCounts:
    """Count the words of a text.

    In scripts without spaces between words, each pair of neighbouring characters is a word.
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
"""Rarity of a word that at most one book in sixty contains, and of unknown words."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorWeights:
    """The rarity of each known word."""

    hashes: NDArray[np.uint32]  # (words,) of the known words, in ascending order
    rarity: NDArray[np.uint8]  # (words,) 0 for a word that every book of a language contains


def pack_weights(weights: VectorWeights) -> bytes:
    """Pack the weights into bytes, little-endian: a head, then each array in the order of its field."""
    return b"".join(
        (
            _HEAD.pack(_MAGIC, weights.hashes.size),
            weights.hashes.astype("<u4").tobytes(),
            weights.rarity.astype("u1").tobytes(),
        )
    )


def unpack_weights(data: bytes) -> VectorWeights:
    """Read the weights that `pack_weights` wrote; raise InvalidInput for other bytes."""
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise InvalidInput("These are not weights of vectors. Install the package again.")
    _, words = _HEAD.unpack_from(data)
    if len(data) != _HEAD.size + 5 * words:
        raise InvalidInput("The weights of vectors are incomplete. Install the package again.")
    return VectorWeights(
        hashes=np.frombuffer(data, "<u4", words, _HEAD.size).astype(np.uint32),
        rarity=np.frombuffer(data, "u1", words, _HEAD.size + 4 * words).copy(),
    )


SIGNS = 1024
BYTES = SIGNS // 8

LEAST_WORDS = 50
"""Minimum number of words of a text with a vector."""

_SCALE = 64  # roots are multiples of 1/64, so that every machine computes equal signs

Vector = NDArray[np.uint8]
"""Signs as bits, (128,)."""


def book_vector(text: NormalText, weights: VectorWeights) -> Vector | None:
    """Compute the vector of a book; None if it has fewer than 50 words, or no word with a weight.

    A text of 600,000 characters takes some milliseconds.
    """
    return vector_of(word_counts(text), weights)


def vector_of(words: WordCounts, weights: VectorWeights) -> Vector | None:
    """Compute the vector of a book from its word counts; None as for `book_vector`."""
    from bookprint_core.signatures import kernels

    weight = word_weights(words, weights)
    chosen = np.flatnonzero(weight)
    if words.words < LEAST_WORDS or chosen.size == 0:
        return None
    votes = np.empty(SIGNS, dtype=np.int64)
    kernels.vote(words.hashes[chosen], weight[chosen], votes)
    return np.packbits(votes > 0)


def word_weights(words: WordCounts, weights: VectorWeights) -> NDArray[np.int64]:
    """Compute the weight of each word, (distinct,): 64 · rarity · square root of its count."""
    places = np.minimum(np.searchsorted(weights.hashes, words.hashes), weights.hashes.size - 1)
    known = weights.hashes[places] == words.hashes
    rarity = np.where(known, weights.rarity[places], np.where(words.bursting, RAREST, 0))
    # IEEE 754 prescribes square roots to the last bit
    roots = np.floor(np.sqrt(words.counts.astype(np.float64)) * _SCALE)
    return np.asarray(roots.astype(np.int64) * rarity)


def cosine(a: Vector, b: Vector) -> float:
    """Estimate the cosine of two vectors, -1 to 1."""
    return float(cosines(a, b[None])[0])


def cosines(vector: Vector, others: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Estimate the cosine of a vector with each row of `others` (n, 128), -1 to 1, (n,).

    Signs of weights at an angle θ differ with probability θ/π (Charikar 2002). The estimate is the cosine of
    π times the share of differing signs. Near 0 its standard error is .05.
    """
    from bookprint_core import vector_kernels

    distances = np.empty(len(others), dtype=np.int64)
    vector_kernels.distances(
        np.ascontiguousarray(vector).view(np.uint64), np.ascontiguousarray(others).view(np.uint64), distances
    )
    return _COSINES[distances]


_COSINES = np.cos(np.pi * np.arange(SIGNS + 1) / SIGNS).astype(np.float32)


_LEFT = 0  # replaces the number of a removed entry; entries are numbered from 1

_LEAST_ROOM = 1024
_NO_COSINE = np.float32(-2)


@dataclass(frozen=True, slots=True, eq=False)
class SimilarEntries:
    """Entries and the similarities of their vectors to a given vector, the most similar first."""

    entry_ids: NDArray[np.uint64]  # (n,)
    similarities: NDArray[np.float32]  # (n,) estimated cosines, -1 to 1


@dataclass(frozen=True, slots=True, eq=False)
class EntryVectors:
    """Vectors with the numbers of their entries."""

    entry_ids: NDArray[np.uint64]  # (n,)
    vectors: NDArray[np.uint8]  # (n, 128)

    @property
    def size(self) -> int:
        return self.entry_ids.size

    def most_similar(self, vector: Vector, k: int) -> SimilarEntries:
        """Return the k entries most similar to a vector; equally similar entries in ascending order."""
        present = self.entry_ids != _LEFT
        k = min(k, int(np.count_nonzero(present)))
        values = np.where(present, cosines(vector, self.vectors), _NO_COSINE)
        least = np.partition(values, values.size - k)[values.size - k] if k else np.float32(np.inf)
        rows = np.flatnonzero(values >= least)
        rows = rows[np.lexsort((self.entry_ids[rows], -values[rows]))[:k]]
        return SimilarEntries(self.entry_ids[rows], values[rows])


class VectorMatrix:
    """The vectors of entries, 136 bytes each, for one thread that adds and removes entries."""

    def __init__(self) -> None:
        self._size = 0
        self._entry_ids = np.zeros(0, dtype=np.uint64)
        self._vectors = np.zeros((0, BYTES), dtype=np.uint8)

    def rows(self) -> EntryVectors:
        """Return the present rows, which any thread may read while the matrix changes."""
        return EntryVectors(self._entry_ids[: self._size], self._vectors[: self._size])

    def add(self, new: EntryVectors) -> None:
        """Add the entries that the matrix does not contain yet."""
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
        """Remove entries; unknown entries are ignored."""
        known = self._entry_ids[: self._size]
        known[np.isin(known, entry_ids)] = _LEFT

    def _enlarge(self, count: int) -> None:
        """Make room for more rows, and drop the rows of removed entries."""
        rows = np.flatnonzero(self._entry_ids[: self._size] != _LEFT)
        room = rows.size + count
        room += max(_LEAST_ROOM, room // 8)
        entry_ids = np.zeros(room, dtype=np.uint64)
        vectors = np.zeros((room, BYTES), dtype=np.uint8)
        entry_ids[: rows.size], vectors[: rows.size] = self._entry_ids[rows], self._vectors[rows]
        self._entry_ids, self._vectors, self._size = entry_ids, vectors, rows.size
