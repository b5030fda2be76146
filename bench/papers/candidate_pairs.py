"""The evidence of all candidate pairs of a signed set, as the finders of the index would propose them."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.index.records import POSTING_CAP
from app.core.jit import U64, compiled, popcount
from bench.data.paper_sets import SignedSet
from bench.papers.all_pairs_join import brute_pairs

_ROWS = 512
_NO_DISTANCE = 255


@dataclass(frozen=True, slots=True, eq=False)
class Kin:
    """Candidates of every text, both ways round: by query, then by candidate."""

    query: NDArray[np.int64]
    other: NDArray[np.int64]
    distance: NDArray[np.uint8]  # 255 where either has no fingerprint
    equal: NDArray[np.int64]  # equal MinHash values
    shared: NDArray[np.int64]  # hashes that both samples have


def kin(texts: SignedSet, reach: int, least: int) -> Kin:
    """Pairs within `reach` bits, or with `least` equal MinHash values or shared hashes of their samples."""
    rows = np.flatnonzero(texts.has_gap)
    near = brute_pairs(texts.gap[rows], reach)
    numbers = texts.minhash.astype(np.uint64) | np.arange(128, dtype=np.uint64) << np.uint64(32)
    signed = texts.shingle_counts > 0
    minhash_ends = np.cumsum(np.where(signed, 128, 0))
    found = [
        (rows[near.left], rows[near.right]),
        _sharing(numbers[signed].ravel(), minhash_ends, least),
        _sharing(texts.sample, texts.sample_ends, least),
    ]
    left, right = (np.concatenate(column).astype(np.int64) for column in zip(*found, strict=True))
    pairs = np.unique(left * texts.size + right)
    return _both_ways(texts, pairs // texts.size, pairs % texts.size)


def _sharing(
    values: NDArray[np.uint64], ends: NDArray[np.int64], least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of rows i < j that have so many values in common; row i's values end at `ends[i]`."""
    if values.size == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    names = np.unique(values, return_inverse=True)[1]
    owners = np.searchsorted(ends, np.arange(values.size), side="right")
    order = np.argsort(names, kind="stable")
    postings = owners[order].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(names))])
    begins = np.concatenate([[0], ends])

    def block(first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        last = min(first + _ROWS, ends.size)
        room = 1 << 15
        while True:
            left, right = np.empty(room, np.int64), np.empty(room, np.int64)
            found = _count_shared(
                begins, names, starts, postings, first, last, least, POSTING_CAP, left, right
            )
            if found <= room:
                return left[:found], right[:found]
            room = found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        blocks = list(pool.map(block, range(0, ends.size, _ROWS)))
    left, right = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return left, right


def _both_ways(texts: SignedSet, left: NDArray[np.int64], right: NDArray[np.int64]) -> Kin:
    distance = np.empty(left.size, np.uint8)
    equal, shared = np.empty(left.size, np.int64), np.empty(left.size, np.int64)
    begins = np.concatenate([[0], texts.sample_ends])
    _compare(texts.gap, texts.minhash, texts.sample, begins, left, right, distance, equal, shared)
    distance[~(texts.has_gap[left] & texts.has_gap[right])] = _NO_DISTANCE
    equal[(texts.shingle_counts[left] == 0) | (texts.shingle_counts[right] == 0)] = 0
    query, other = np.concatenate([left, right]), np.concatenate([right, left])
    order = np.lexsort((other, query))
    columns = (np.concatenate([each, each])[order] for each in (distance, equal, shared))
    return Kin(query[order], other[order], *columns)


@compiled
def _count_shared(
    begins: NDArray[np.int64],
    names: NDArray[np.int64],
    starts: NDArray[np.int64],
    postings: NDArray[np.int32],
    first: int,
    last: int,
    least: int,
    cap: int,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> int:
    counts = np.zeros(begins.size, dtype=np.int32)
    touched = np.empty(begins.size, dtype=np.int32)
    found = 0
    for i in range(first, last):
        met = 0
        for at in range(begins[i], begins[i + 1]):
            name = names[at]
            if starts[name + 1] - starts[name] > cap:
                continue
            for place in range(starts[name], starts[name + 1]):
                j = postings[place]
                if j > i:
                    if counts[j] == 0:
                        touched[met] = j
                        met += 1
                    counts[j] += 1
        for place in range(met):
            j = touched[place]
            if counts[j] >= least:
                if found < left.size:
                    left[found], right[found] = i, j
                found += 1
            counts[j] = 0
    return found


@compiled
def _compare(
    words: NDArray[np.uint64],
    minhash: NDArray[np.uint32],
    sample: NDArray[np.uint64],
    begins: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    distance: NDArray[np.uint8],
    equal: NDArray[np.int64],
    shared: NDArray[np.int64],
) -> None:
    for pair in range(left.size):
        i, j = left[pair], right[pair]
        apart = U64(0)
        for word in range(words.shape[1]):
            apart += popcount(words[i, word] ^ words[j, word])
        distance[pair] = apart
        same = 0
        for place in range(minhash.shape[1]):
            same += minhash[i, place] == minhash[j, place]
        equal[pair] = same
        # Both samples are ascending.
        a, b, both = begins[i], begins[j], 0
        while a < begins[i + 1] and b < begins[j + 1]:
            if sample[a] == sample[b]:
                both += 1
                a += 1
                b += 1
            elif sample[a] < sample[b]:
                a += 1
            else:
                b += 1
        shared[pair] = both
