"""All pairs of a set of fingerprints within a Hamming distance, by brute force and by bands.

Both compare every pair of texts once. The join by bands is complete if the pigeonhole bound holds: one of B
bands differs in at most d // B bits. Otherwise, as with 24-bit bands at d = 7 in Vladimir et al. (2015), it
loses pairs.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import flip_masks
from bookprint_core.jit import U64, compiled, popcount

Words = NDArray[np.uint64]
Counts = NDArray[np.int32]
Numbers = NDArray[np.int64]
BITS = 128
R = TypeVar("R")
_AT_ONCE = 1024
_ROWS = 2048
_FLIPS = 3
MASKED_BITS = 16
"""Maximum bits of a band that can be probed with flips."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of rows, i < j, in the order of i, then j."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    distances: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Banding:
    """A division of fingerprints into bands, and the bits by which a probed bucket may differ."""

    bands: int
    bits: int  # of one band
    flips: int

    @property
    def name(self) -> str:
        """Return the name for tables."""
        flips = f", {self.flips} flip{'s' * (self.flips != 1)}"
        return f"{self.bands} bands of {self.bits}{flips if self.bits <= MASKED_BITS else ''}"

    def keys(self, words: Words) -> NDArray[np.uint32]:
        """Return the bands of each fingerprint, (bands, n); remaining bits belong to no band."""
        bits = np.unpackbits(words.view(np.uint8), axis=1)[:, : self.bands * self.bits]
        weights = (np.uint64(1) << np.arange(self.bits, dtype=np.uint64)[::-1]).astype(np.uint32)
        keys = bits.reshape(len(words), self.bands, self.bits).astype(np.uint32) @ weights
        return np.ascontiguousarray(keys.T, dtype=np.uint32)


PAPER_24 = Banding(5, 24, 0)
PAPER_32 = Banding(4, 32, 0)
OURS = tuple(Banding(8, 16, flips) for flips in range(_FLIPS))


def brute_pairs(words: Words, d: int) -> Pairs:
    """Find every pair at Hamming distance <= d by comparing all, on all cores; words (n, 2)."""
    high, low = words[:, 0].copy(), words[:, 1].copy()
    return _collect(len(words), lambda first, last, *out: _brute(high, low, first, last, d, *out))


def banded_pairs(words: Words, d: int, banding: Banding) -> Pairs:
    """Find every pair at distance <= d with a common band within the banding's flips; words (n, 2)."""
    high, low = words[:, 0].copy(), words[:, 1].copy()
    keys = banding.keys(words)
    masks = np.zeros(1, dtype=np.uint32)
    if banding.bits <= MASKED_BITS:
        width = 1 << banding.bits
        masks = flip_masks(banding.flips)
    else:  # too wide for a table of all values: number the occurring values
        ranks = [np.unique(band, return_inverse=True)[1] for band in keys]
        keys = np.stack(ranks).astype(np.uint32)
        width = int(keys.max()) + 1
    order = np.argsort(keys, axis=1, kind="stable").astype(np.int32)
    ends = np.stack([np.cumsum(np.bincount(band, minlength=width)) for band in keys])
    starts = np.concatenate([np.zeros((banding.bands, 1), np.int64), ends], axis=1).astype(np.int32)
    # Rows of a bucket are adjacent, as are their words.
    sorted_high, sorted_low = high[order], low[order]

    def join(first: int, last: int, *out: Any) -> int:
        tables = (keys, order, starts, sorted_high, sorted_low, masks)
        return _banded(high, low, *tables, banding.flips, first, last, d, *out)

    return _collect(len(words), join)


def _collect(rows: int, join: Callable[..., int]) -> Pairs:
    """Collect the pairs of all blocks of rows; the arrays for `join` grow until they suffice."""

    def block(first: int) -> Pairs:
        room = 1 << 16
        while True:
            left, right = np.empty(room, np.int32), np.empty(room, np.int32)
            distances = np.empty(room, np.uint8)
            count = join(first, min(first + _ROWS, rows), left, right, distances)
            if count <= room:
                break
            room = count
        return _sorted(Pairs(left[:count], right[:count], distances[:count]))

    blocks = _parallel(block, range(0, rows, _ROWS))
    columns = ([getattr(each, name) for each in blocks] for name in Pairs.__slots__)
    return Pairs(*(np.concatenate(column) for column in columns))


def _sorted(pairs: Pairs) -> Pairs:
    order = np.lexsort((pairs.right, pairs.left))
    return Pairs(pairs.left[order], pairs.right[order], pairs.distances[order])


def _parallel(work: Callable[[int], R], firsts: range) -> list[R]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, firsts))


def same(a: Pairs, b: Pairs) -> bool:
    """Return whether both contain equal pairs at equal distances."""
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in Pairs.__slots__)


def tallies(
    words: Words, books: Numbers, queries: Numbers, banding: Banding | None = None
) -> tuple[Counts, Counts]:
    """Count found and correctly found texts by flips, query row and exact distance, (flips, queries, 129).

    By brute force the first axis has length 1. By bands it has up to three entries; entry f counts the pairs
    whose most similar band differs in f bits.
    """
    places = 1 if banding is None or banding.bits > MASKED_BITS else _FLIPS
    keys = np.zeros((len(words), 1), np.uint32) if banding is None else banding.keys(words).T.copy()
    high, low = words[:, 0].copy(), words[:, 1].copy()
    shape = (places, queries.size, BITS + 1)
    found, right = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)

    def count(first: int) -> None:
        last = min(first + _ROWS, queries.size)
        _tally(high, low, keys, books, queries[first:last], found[:, first:last], right[:, first:last])

    _parallel(count, range(0, queries.size, _ROWS))
    return found, right


@compiled
def _tally(
    high: Words,
    low: Words,
    keys: NDArray[np.uint32],
    books: Numbers,
    queries: Numbers,
    found: Counts,
    right: Counts,
) -> None:
    places = U64(found.shape[0])
    for q in range(queries.size):
        i = queries[q]
        for j in range(high.size):
            if j == i:
                continue
            flips = U64(BITS)
            for band in range(keys.shape[1]):
                flips = min(flips, popcount(U64(keys[i, band] ^ keys[j, band])))
            if flips < places:
                apart = popcount(high[i] ^ high[j]) + popcount(low[i] ^ low[j])
                found[flips, q, apart] += 1
                right[flips, q, apart] += books[j] == books[i]


@compiled
def _brute(
    high: Words,
    low: Words,
    first: int,
    last: int,
    d: int,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    distances: NDArray[np.uint8],
) -> int:
    count = 0
    limit = U64(d)
    near = np.empty(_AT_ONCE, dtype=np.uint64)
    for i in range(first, last):
        h, w = high[i], low[i]
        for start in range(i + 1, high.size, _AT_ONCE):
            some_high, some_low = high[start : start + _AT_ONCE], low[start : start + _AT_ONCE]
            least = U64(BITS)
            for k in range(some_high.size):
                near[k] = popcount(h ^ some_high[k]) + popcount(w ^ some_low[k])
            for k in range(some_high.size):
                least = min(least, near[k])
            if least > limit:
                continue
            for k in range(some_high.size):
                if near[k] <= limit:
                    if count < left.size:
                        left[count], right[count], distances[count] = i, start + k, near[k]
                    count += 1
    return count


@compiled
def _banded(
    high: Words,
    low: Words,
    keys: NDArray[np.uint32],
    order: NDArray[np.int32],
    starts: NDArray[np.int32],
    sorted_high: Words,
    sorted_low: Words,
    masks: NDArray[np.uint32],
    flips: int,
    first: int,
    last: int,
    d: int,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    distances: NDArray[np.uint8],
) -> int:
    count = 0
    for i in range(first, last):
        for band in range(keys.shape[0]):
            for mask in masks:
                key = keys[band, i] ^ mask
                for at in range(starts[band, key], starts[band, key + 1]):
                    apart = popcount(high[i] ^ sorted_high[band, at])
                    apart += popcount(low[i] ^ sorted_low[band, at])
                    j = order[band, at]
                    if apart > U64(d) or j <= i:
                        continue
                    # A pair counts at its first common band.
                    earlier = 0
                    while popcount(U64(keys[earlier, i] ^ keys[earlier, j])) > U64(flips):
                        earlier += 1
                    if earlier < band:
                        continue
                    if count < left.size:
                        left[count], right[count], distances[count] = i, j, apart
                    count += 1
    return count
