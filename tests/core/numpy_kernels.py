"""The compiled kernels once more in plain numpy, bit for bit: an oracle for the tests.

It uses whole arrays where the compiled kernels have running values.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import Codes, GramLengths
from app.core.relations import kernels
from app.core.signatures import kernels as c
from app.core.signatures.shingle_kernels import PLACE_BITS, RUN, SHINGLE_BASE
from tests.core.numpy_text_kernels import inspect, kinds_of, next_at, normalise

__all__ = ["inspect", "kinds_of", "normalise"]

SPACE = 0x20
FACTORS = np.array(c.FACTORS, dtype=np.uint32)
SLICE = 4096

smith_waterman = kernels.smith_waterman.py_func
trace_path = kernels.trace_path.py_func


def _mix32(h: NDArray[np.uint32]) -> NDArray[np.uint32]:
    h = h ^ (h >> np.uint32(16))
    h = h * np.uint32(0x85EBCA6B)
    h = h ^ (h >> np.uint32(13))
    h = h * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def _mix64(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    h = h ^ (h >> np.uint64(33))
    h = h * np.uint64(0xFF51AFD7ED558CCD)
    h = h ^ (h >> np.uint64(33))
    h = h * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


def _ngrams(
    text: Codes, size: int, kinds: NDArray[np.uint8], lengths: GramLengths
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The hash of the n-gram at each code point, and where it ends."""
    length = np.array(lengths)[kinds] if kinds.size else np.full(size, lengths[0])
    h = np.zeros(size, dtype=np.uint32)
    for k, factor in enumerate(FACTORS[: max(lengths)]):
        h += np.where(k < length, text[k : k + size] * factor, np.uint32(0))
    return _mix32(h), np.arange(size) + length


def count_ngrams(
    text: Codes,
    size: int,
    kinds: NDArray[np.uint8],
    lengths: GramLengths,
    window: int,
    cells: NDArray[np.uint64],
) -> None:
    """Tallies the n-grams of `text[:size]`."""
    hashes, ends = _ngrams(text, size, kinds, lengths)
    positions = np.flatnonzero(ends <= size)
    cell = (hashes[positions] >> np.uint32(32 - c.CELL_BITS)).astype(np.int64)
    order = np.argsort(cell, kind="stable")
    cell, positions = cell[order], positions[order]
    first = np.ones(cell.size, dtype=np.bool_)
    first[1:] = cell[1:] != cell[:-1]
    earlier = np.where(first, -window - 1, np.concatenate(([0], positions[:-1]))[: positions.size])
    near = ((positions - earlier) & ((1 << c.POSITION_BITS) - 1)) <= window
    counts = np.bincount(cell, minlength=cells.size)
    repeats = np.bincount(cell[near], minlength=cells.size)
    tallies = (np.minimum(counts, c.MOST_COUNTED) << 20) | np.minimum(repeats, c.MOST_COUNTED)
    cells[:] = tallies.astype(np.uint64)


def weigh(
    cells: NDArray[np.uint64],
    gap: bool,
    min_count: int,
    window: int,
    characters: int,
    features: NDArray[np.uint32],
    weights: NDArray[np.int64],
) -> int:
    """Writes the cells counted often enough, and their weights; returns how many they are."""
    tallies = ((1 << 20) - 1) & np.array([cells >> np.uint64(20), cells]).astype(np.int64)
    chosen = np.flatnonzero(tallies[0] >= max(min_count, 1))
    count, near = tallies[:, chosen].astype(np.float64)
    weight = count
    if gap:
        x = np.minimum(count * float(window) / float(characters), 64.0) / 256.0
        series = np.ones(count.size)
        for k in range(12):
            series = 1.0 - x / (12.0 - k) * series
        for _ in range(8):
            series = series * series
        q = 1.0 - series
        expected = (count - 1.0) * q
        weight = (near - expected) / np.sqrt(expected * (1.0 - q) + 1.0)
    features[: chosen.size] = chosen
    weights[: chosen.size] = np.floor(weight * float(c.WEIGHT_UNIT) + 0.5).astype(np.int64)
    return int(chosen.size)


def vote(features: NDArray[np.uint32], weights: NDArray[np.int64], votes: NDArray[np.int64]) -> None:
    """Writes into `votes[j]` the weights of all cells whose sign has bit j, less those of all others."""
    words = np.arange((votes.size + 63) // 64, dtype=np.uint64)
    votes[:] = -weights.sum()
    for start in range(0, features.size, SLICE):
        cells = features[start : start + SLICE, None].astype(np.uint64)
        signs = _mix64((cells + np.uint64(1)) * np.uint64(c.SIGN_STEP) + words)
        bits = np.unpackbits(signs.astype(">u8").view(np.uint8), axis=1)[:, : votes.size]
        votes += 2 * (weights[start : start + SLICE, None] * bits).sum(axis=0)


def shingle_words(
    text: Codes,
    size: int,
    per_shingle: int,
    hashes: NDArray[np.uint64],
    per_window: int,
    windows: NDArray[np.int64],
    met: NDArray[np.uint8],
) -> tuple[int, int, int]:
    """Writes the hashes of all runs of words of a text of alphabets alone, and where windows start."""
    kinds = np.zeros(size, dtype=np.uint8)
    return shingle_tokens(text, size, kinds, (per_shingle, 1, 1), hashes, per_window, windows, met)


def shingle_tokens(
    text: Codes,
    size: int,
    kinds: NDArray[np.uint8],
    weights: tuple[int, int, int],
    hashes: NDArray[np.uint64],
    window_weight: int,
    windows: NDArray[np.int64],
    met: NDArray[np.uint8],
) -> tuple[int, int, int]:
    """Writes the hash of the shingle at each token, and where each window of tokens starts; counts words."""
    space = text[:size] == SPACE
    single = (kinds & 1).astype(np.bool_)
    before = np.concatenate(([True], (space | single)[:-1]))[:size]
    starts = np.flatnonzero(~space & (before | single))
    stop = np.minimum(next_at(space)[starts], next_at(single)[starts])
    ends = np.where(single[starts], starts + 1, stop) if size else starts

    total = np.cumsum(np.where(single[starts], weights[2], weights[1]))
    lighter = np.concatenate(([0], total))[: total.size]
    last = np.searchsorted(total, lighter + weights[0])
    complete = last < total.size
    first, last = starts[complete], ends[last[complete]]
    # Σ x_j·B^(e-1-j) = B^(e-1) · Σ x_j·B^(-j), and B has an inverse because it is odd
    inverse = np.full(size + 1, pow(SHINGLE_BASE, -1, 1 << 64), dtype=np.uint64)
    power = np.full(size + 1, SHINGLE_BASE, dtype=np.uint64)
    inverse[0] = power[0] = 1
    np.multiply.accumulate(inverse, out=inverse)
    np.multiply.accumulate(power, out=power)
    sums = np.concatenate(([np.uint64(0)], np.cumsum(text[:size] * inverse[:size])))
    hashes[: first.size] = _mix64((sums[last] - sums[first]) * power[last - 1])

    alone = single[starts]
    second_last = np.concatenate(([-9, -9], starts[:-2]))[: starts.size]
    is_run = alone & (second_last == starts - (RUN - 1))
    counted = ~alone | is_run
    word_ends, word_starts = ends[counted], np.where(is_run, starts - (RUN - 1), starts)[counted]
    words = (sums[word_ends] - sums[word_starts]) * power[word_ends - 1]
    words ^= words >> np.uint64(32)
    places = words * np.uint64(SHINGLE_BASE) >> np.uint64(64 - PLACE_BITS)
    met[:] = np.minimum(np.bincount(places.astype(np.int64), minlength=met.size), 2)

    count = 0
    token = 0
    while token < starts.size:
        windows[count] = starts[token]
        count += 1
        token = int(np.searchsorted(total, lighter[token] + window_weight)) + 1
    return int(starts.size), int(first.size), count


def repeated(hashes: NDArray[np.uint64], bits: NDArray[np.uint8], out: NDArray[np.uint64]) -> int:
    """Writes all hashes that occur more than once; returns how many."""
    values, counts = np.unique(hashes, return_counts=True)
    chosen = hashes[np.isin(hashes, values[counts > 1])]
    out[: chosen.size] = chosen
    return int(chosen.size)


def minhash(
    hashes: NDArray[np.uint64], a: NDArray[np.uint32], b: NDArray[np.uint32], values: NDArray[np.uint32]
) -> None:
    """Lowers `values[p]` to the least a[p]·mix32(h) + b[p] mod 2^32 over the low 32 bits h of `hashes`."""
    if hashes.size == 0:
        return
    mixed = _mix32(hashes.astype(np.uint32))
    for p in range(values.size):
        values[p] = min(values[p], (mixed * a[p] + b[p]).min())


def one_permutation_minhash(
    text: Codes,
    kinds: NDArray[np.uint8],
    lengths: GramLengths,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    signatures: NDArray[np.uint8],
) -> None:
    """Writes the one-permutation MinHash of each slice `text[starts[p]:ends[p]]`."""
    hashes, stops = _ngrams(text, text.size - 8, kinds, lengths)
    for page, (start, end) in enumerate(zip(starts, ends, strict=True)):
        inside = np.sort(hashes[start:end][stops[start:end] <= end])
        places, firsts = np.unique(inside >> np.uint32(25), return_index=True)
        signatures[page] = 0
        signatures[page, places] = 1 + (
            (inside[firsts] & np.uint32(0xFFFF)) * np.uint32(255) >> np.uint32(16)
        )


def _distances(
    query: NDArray[np.uint64], high: NDArray[np.uint64], low: NDArray[np.uint64]
) -> NDArray[np.uint8]:
    out = np.empty(high.size, dtype=np.uint8)
    np.add(np.bitwise_count(high ^ query[0]), np.bitwise_count(low ^ query[1]), out=out)
    return out


def rows_within(
    query: NDArray[np.uint64],
    high: NDArray[np.uint64],
    low: NDArray[np.uint64],
    d: int,
    rows: NDArray[np.uint32],
    out: NDArray[np.uint8],
) -> int:
    """Writes which rows of the words `high`, `low` lie within d bits of `query`, and their distances."""
    measured = _distances(query, high, low)
    near = np.flatnonzero(measured <= d)
    rows[: near.size] = near
    out[: near.size] = measured[near]
    return near.size


def count_sharing(
    postings: NDArray[np.uint32],
    ends: NDArray[np.int64],
    tags: NDArray[np.uint32],
    entry_ids: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> int:
    """Counts for each entry the buckets in which a posting of it bears the bucket's tag; they ascend."""
    positions = np.repeat(np.arange(ends.size, dtype=np.uint64), np.diff(ends, prepend=0))
    bearing = np.flatnonzero(postings >> np.uint32(24) == tags[positions % np.uint64(tags.size)])
    lists = positions[bearing] // np.uint64(tags.size)
    ids = (postings[bearing] & np.uint32(0xFFFFFF)).astype(np.uint64) | lists << np.uint64(24)
    in_each = np.unique(positions[bearing] << np.uint64(32) | ids)
    distinct, times = np.unique(in_each & np.uint64((1 << 32) - 1), return_counts=True)
    if distinct.size > entry_ids.size:
        return -1
    entry_ids[: distinct.size], counts[: distinct.size] = distinct, times
    return int(distinct.size)


def page_similarities(
    left: NDArray[np.uint8], right: NDArray[np.uint8], least: int, out: NDArray[np.uint8]
) -> None:
    """Writes how alike each two pages are, 0 to 255: 255 · equal bins / bins filled in both."""
    for row, page in zip(out, left, strict=True):
        filled = (page != 0) & (right != 0)
        common = filled.sum(axis=1)
        equal = (filled & (page == right)).sum(axis=1)
        row[:] = np.where(common >= least, equal * 255 // np.maximum(common, 1), 0)


def compare_neighbours(pages: NDArray[np.uint8], equal: NDArray[np.uint8], common: NDArray[np.uint8]) -> None:
    """Writes how many bins each page and the one `row + 1` before it fill equally, and how many in common."""
    for row in range(min(len(equal), len(pages) - 1)):
        page, before = pages[row + 1 :], pages[: -row - 1]
        filled = (page != 0) & (before != 0)
        common[row, row + 1 :] = filled.sum(axis=1)
        equal[row, row + 1 :] = (filled & (page == before)).sum(axis=1)
