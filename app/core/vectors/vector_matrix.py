"""The vectors of all entries as a matrix in this process, to be compared with one vector each.

A scan runs in a thread of its own while entries come and go. So rows are only added behind the last one, and
the row of an entry that has left merely loses its number until the matrix is enlarged.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.vectors.book_vector import BYTES, Vector
from app.core.vectors.similarity import cosines

_LEFT = 0
"""In place of the number of an entry that has left; entries are numbered from 1."""

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
        """Rows."""
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
