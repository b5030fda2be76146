"""The flat index: all entries as arrays in a process, for answers that must read every entry."""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import (
    BAND_BITS,
    BANDS,
    NO_DISTANCE,
    Words,
    distances,
    rows_within,
    words,
)
from bookprint_core.index.records import FLAT_RECORD, IDENTIFIED, NO_SAMPLE, SIGNED, Hits

_SAMPLED = 4096

_NO_RECORDS = np.zeros(0, dtype=FLAT_RECORD)


class FlatIndex:
    """Fingerprint, shingle count and sample level of every entry, by ascending entry id.

    An entry takes 31 bytes. The row of a removed entry stays, unsigned and without shingles, until the index
    is read anew, so a change touches few rows. While a thread writes, no other may read or write.
    """

    def __init__(self, records: NDArray[np.void] = _NO_RECORDS) -> None:
        entry_ids, first = np.unique(records["entry_id"], return_index=True)
        records = records[first]
        self._size = entry_ids.size
        self._entry_ids = entry_ids
        self._high, self._low = words(records["bits"])
        self._shingle_counts = records["shingle_count"].copy()
        self._levels = records["level"].copy()
        self._signed = records["signed"].copy()
        self.bucket_sizes: NDArray[np.int32] = np.zeros((BANDS, 1 << BAND_BITS), dtype=np.int32)
        """Number of entries in each bucket of each band, (8, 65536)."""
        self.unsampled = 0
        """Number of entries with a fingerprint but no sample, without entries that are only identifiers."""
        self._identified = 0
        self._unsampled_ids: NDArray[np.uint64] | None = None  # None: not computed since the last change
        self._count(self._signed.nonzero()[0], 1)

    @property
    def size(self) -> int:
        """Number of rows that a scan reads."""
        return self._size

    @property
    def has_identified(self) -> bool:
        """Whether any entry is only an identifier."""
        return self._identified > 0

    def put(self, record: NDArray[np.void]) -> None:
        """Add a record, or replace the record of its entry."""
        entry_id = record["entry_id"]
        at = int(np.searchsorted(self._entry_ids[: self._size], entry_id))
        if at == self._size or self._entry_ids[at] != entry_id:
            self._open(at)
            self._entry_ids[at] = entry_id
        elif self._signed[at]:
            self._count(np.array([at]), -1)
        self._high[at], self._low[at] = np.frombuffer(record["bits"].tobytes(), dtype=np.uint64)
        self._shingle_counts[at] = record["shingle_count"]
        self._levels[at] = record["level"]
        self._signed[at] = record["signed"]
        if self._signed[at]:
            self._count(np.array([at]), 1)

    def drop(self, entry_id: int) -> None:
        gone = np.zeros(1, dtype=FLAT_RECORD)
        gone["entry_id"] = entry_id
        at = int(np.searchsorted(self._entry_ids[: self._size], gone["entry_id"][0]))
        if at < self._size and self._entry_ids[at] == gone["entry_id"][0]:
            self.put(gone[0])

    def within(self, bits: bytes, d: int) -> Hits:
        """Return all entries at Hamming distance at most d."""
        rows, near = rows_within(bits, self._words(), d)
        signed = self._signed[rows] > 0
        rows, near = rows[signed], near[signed]
        order = np.argsort(near, kind="stable")
        return Hits(self._entry_ids[rows[order]], near[order])

    def identified_within(self, bits: bytes, d: int) -> Hits:
        """Return the entries at Hamming distance at most d that are only identifiers."""
        rows = np.flatnonzero(self._signed[: self._size] == IDENTIFIED)
        near = distances(bits, self._words(rows))
        return Hits(self._entry_ids[rows[near <= d]], near[near <= d]).sorted()

    def unsampled_within(self, bits: bytes, d: int) -> Hits:
        """Return the entries counted as `unsampled` at Hamming distance at most d."""
        if not self.unsampled:
            return Hits.none()
        if self._unsampled_ids is None:
            self._unsampled_ids = self._entry_ids[: self._size][self._are_unsampled(slice(self._size))]
        return self.among(self._unsampled_ids, bits, d)

    def among(self, entry_ids: NDArray[np.uint64], bits: bytes, d: int) -> Hits:
        """Return the given entries, in ascending order, that are at Hamming distance at most d."""
        rows = self.rows(entry_ids)
        near = self.distances(bits, rows)
        return Hits(self._entry_ids[rows[near <= d]], near[near <= d]).sorted()

    def nearest(self, bits: bytes, k: int) -> Hits:
        """Return the k entries nearest to these bits; at equal distances, the lowest ids first."""
        # A part of the index gives an estimate of d; a scan with too small a d is repeated with a larger d.
        part = slice(max(_SAMPLED, self._size // 16))
        high, low = self._words()
        counts = np.bincount(distances(bits, (high[part], low[part])), minlength=129)
        reached = np.cumsum(counts) * (self._size / max(1, high[part].size))
        d = min(128, int(np.searchsorted(reached, 2 * k)))
        hits = self.within(bits, d)
        while hits.size < k and d < 128:
            d = min(128, d + 4)
            hits = self.within(bits, d)
        return Hits(hits.entry_ids[:k], hits.distances[:k])

    def rows(self, entry_ids: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the rows of the entries in the index that have signatures, ascending."""
        at = np.searchsorted(self._entry_ids[: self._size], entry_ids)
        inside = at < self._size
        at = at[inside]
        at = at[self._entry_ids[at] == entry_ids[inside]]
        known = (self._signed[at] > 0) | (self._shingle_counts[at] > 0)
        return np.asarray(at[known], dtype=np.intp)

    def entry_ids(self, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
        return self._entry_ids[rows]

    def distances(self, bits: bytes | None, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Compute the distances of these rows, (n,); 255 if either side has no fingerprint."""
        if bits is None:
            return np.full(rows.size, NO_DISTANCE, dtype=np.uint8)
        return np.where(self._signed[rows] > 0, distances(bits, self._words(rows)), np.uint8(NO_DISTANCE))

    def shingle_counts(self, rows: NDArray[np.intp]) -> NDArray[np.uint32]:
        """Return the numbers of distinct shingles of the books in these rows, (n,); 0 without MinHash."""
        return self._shingle_counts[rows]

    def identified(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether each of these rows is only an identifier, (n,)."""
        return np.asarray(self._signed[rows] == IDENTIFIED)

    def levels(self, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return the levels of the FracMinHashes in these rows, (n,); 255 without FracMinHash."""
        return self._levels[rows]

    def _words(self, rows: NDArray[np.intp] | slice | None = None) -> Words:
        chosen = slice(self._size) if rows is None else rows
        return self._high[chosen], self._low[chosen]

    def _are_unsampled(self, rows: NDArray[np.intp] | slice) -> NDArray[np.bool_]:
        return np.asarray((self._signed[rows] == SIGNED) & (self._levels[rows] == NO_SAMPLE))

    def _count(self, rows: NDArray[np.intp], step: int) -> None:
        self._identified += step * int(self.identified(rows).sum())
        if unsampled := int(self._are_unsampled(rows).sum()):
            self.unsampled += step * unsampled
            self._unsampled_ids = None
        bands = np.stack(self._words(rows), axis=1).view(">u2").astype(np.intp)
        for band, sizes in enumerate(self.bucket_sizes):
            if len(rows) == 1:
                sizes[bands[0, band]] += step
            else:
                sizes += (step * np.bincount(bands[:, band], minlength=sizes.size)).astype(np.int32)

    def _open(self, at: int) -> None:
        """Make room for one row; ids arrive almost in order, so few rows are moved."""
        columns = ("_entry_ids", "_high", "_low", "_shingle_counts", "_levels", "_signed")
        if self._size == self._entry_ids.size:
            room = max(1024, self._size // 8)
            for name in columns:
                column = getattr(self, name)
                setattr(self, name, np.append(column, np.zeros(room, column.dtype)))
        for name in columns:
            column = getattr(self, name)
            column[at + 1 : self._size + 1] = column[at : self._size].copy()
        self._size += 1
