"""Compiled kernels that turn n-grams and shingles into signatures.

The constants belong to version 1 of each recipe. Kernels write into arrays of the caller. A text is padded
with 8 zeros, because an n-gram may be read past its end. `kinds` contains the kind of script of each code
point; it is empty for a text of alphabets alone.
"""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.jit import BLOCK, I64, U32, U64, Codes, Index, compiled, mix32, mix64
from bookprint_core.recipe import GramLengths

FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D)
"""Factors of n-gram hashes: code points x_0, x_1, … hash to mix32(Σ x_k · FACTORS[k] mod 2^32)."""

CELL_BITS = 18
"""Number of top bits of an n-gram's hash that form its cell; n-grams of a cell are one feature."""

MOST_COUNTED = (1 << 19) - 1
"""Highest count of a cell; further occurrences are not counted."""

POSITION_BITS = 24
"""Bits of a position: distances between occurrences are computed modulo 2^24 code points."""

SIGN_STEP = 0xD1B54A32D192ED03
"""Step of signs: bits 64w … 64w + 63 of a cell's sign are mix64((cell + 1) · SIGN_STEP + w), top first."""

WEIGHT_UNIT = 1024
"""Precision of votes: weights are rounded to multiples of 1 / WEIGHT_UNIT, half up."""

F0, F1, F2, F3, F4, F5 = (U32(factor) for factor in FACTORS)
CELL_SHIFT = U32(32 - CELL_BITS)
POSITION_SHIFT = U64(64 - POSITION_BITS)
COUNT_SHIFT = U64(20)
COUNT_LIMIT = U64(MOST_COUNTED)
TALLY = U64((1 << 20) - 1)
TALLIES = U64((1 << 40) - 1)
ONE_MORE = 1 << 20
NEXT_POSITION = U64(1 << 40)
UNIT = float(WEIGHT_UNIT)
HALF = U64(0xFFFFFFFF)


@compiled
def _hash_plain(text: Codes, length: int, hashes: NDArray[np.uint32]) -> None:
    """Hash the n-grams of one length that start at the first code points of `text`."""
    f1 = F1 if length > 1 else U32(0)
    f2 = F2 if length > 2 else U32(0)
    f3 = F3 if length > 3 else U32(0)
    f5 = F5 if length > 5 else U32(0)
    if length <= 4:
        for k in range(hashes.size):
            h = U32(U32(U32(text[k]) * F0) + U32(U32(text[k + 1]) * f1))
            h = U32(h + U32(U32(U32(text[k + 2]) * f2) + U32(U32(text[k + 3]) * f3)))
            hashes[k] = mix32(h)
        return
    for k in range(hashes.size):
        h = U32(U32(U32(text[k]) * F0) + U32(U32(text[k + 1]) * F1))
        h = U32(h + U32(U32(U32(text[k + 2]) * F2) + U32(U32(text[k + 3]) * F3)))
        h = U32(h + U32(U32(U32(text[k + 4]) * F4) + U32(U32(text[k + 5]) * f5)))
        hashes[k] = mix32(h)


@compiled
def _hash_mixed(
    text: Codes, kinds: NDArray[np.uint8], lengths: GramLengths, hashes: NDArray[np.uint32]
) -> None:
    for k in range(hashes.size):
        length = lengths[kinds[k]]
        h = U32(U32(text[k]) * F0)
        if length > 1:
            h = U32(h + U32(U32(text[k + 1]) * F1))
        if length > 2:
            h = U32(h + U32(U32(text[k + 2]) * F2))
        if length > 3:
            h = U32(h + U32(U32(text[k + 3]) * F3))
        if length > 4:
            h = U32(h + U32(U32(text[k + 4]) * F4))
        if length > 5:
            h = U32(h + U32(U32(text[k + 5]) * F5))
        hashes[k] = mix32(h)


@compiled
def _hash_block(
    text: Codes,
    kinds: NDArray[np.uint8],
    lengths: GramLengths,
    start: int,
    end: int,
    hashes: NDArray[np.uint32],
    positions: NDArray[np.int64],
) -> int:
    """Hash the n-grams that start in `text[start : start + BLOCK]` and end by `end`; return their number."""
    if kinds.size == 0:
        count = min(BLOCK, end - lengths[0] + 1 - start)
        if count <= 0:
            return 0
        _hash_plain(text[start : start + count + 8], lengths[0], hashes[:count])
        return count
    count = min(BLOCK, end - start)
    _hash_mixed(text[start : start + count + 8], kinds[start : start + count], lengths, hashes[:count])
    fitting = 0
    for k in range(count):
        if start + k + lengths[kinds[start + k]] <= end:
            hashes[fitting] = hashes[k]
            positions[fitting] = start + k
            fitting += 1
    return fitting


@compiled
def _enter(cells: NDArray[np.uint64], cell: np.uint32, position: np.uint64, reach: np.uint64) -> None:
    value = cells[cell]
    # tallies above 0 borrow 1 from the distance, hence < for ≤
    near = I64(U64(U64(position - value) >> POSITION_SHIFT) < reach)
    cells[cell] = U64(U64(position | U64(value & TALLIES)) + U64(ONE_MORE + near))


@compiled
def _tally(
    hashes: NDArray[np.uint32], positions: NDArray[np.int64], window: int, cells: NDArray[np.uint64]
) -> None:
    """Tally n-grams at their positions."""
    for k in range(hashes.size):
        position = U64(U64(positions[k] + window) << POSITION_SHIFT)
        _enter(cells, hashes[k] >> CELL_SHIFT, position, U64(window))


@compiled
def _tally_in_row(hashes: NDArray[np.uint32], start: int, window: int, cells: NDArray[np.uint64]) -> None:
    """Tally n-grams at `start`, `start` + 1, …"""
    position = U64(U64(start + window) << POSITION_SHIFT)
    for k in range(hashes.size):
        _enter(cells, hashes[k] >> CELL_SHIFT, position, U64(window))
        position = U64(position + NEXT_POSITION)


@compiled
def _clamp(cells: NDArray[np.uint64]) -> None:
    for cell in range(cells.size):
        value = cells[cell]
        count = min(U64((value >> COUNT_SHIFT) & TALLY), COUNT_LIMIT)
        near = min(U64(value & TALLY), COUNT_LIMIT)
        cells[cell] = U64(U64(value & ~TALLIES) | U64(count << COUNT_SHIFT) | near)


@compiled
def count_ngrams(
    text: Codes,
    size: int,
    kinds: NDArray[np.uint8],
    lengths: GramLengths,
    window: int,
    cells: NDArray[np.uint64],
) -> None:
    """Tally the n-grams of `text[:size]` in one pass.

    A cell contains its last position plus `window` (24 bits), its count (20) and its near repeats (20). Zero
    at first represents a last position of −`window` − 1. Tallies have one bit to spare, so they
    are rarely clamped.
    """
    hashes = np.empty(BLOCK, dtype=np.uint32)
    positions = np.empty(BLOCK, dtype=np.int64)
    room = 2 * MOST_COUNTED
    for start in range(0, size, BLOCK):
        if room < BLOCK:
            _clamp(cells)
            room = MOST_COUNTED
        room -= BLOCK
        count = _hash_block(text, kinds, lengths, start, size, hashes, positions)
        if kinds.size == 0:
            _tally_in_row(hashes[:count], start, window, cells)
        else:
            _tally(hashes[:count], positions, window, cells)


@compiled
def excess(count: float, near: float, reach: float) -> float:
    """Compute the excess of near repeats over evenly spread occurrences, in standard deviations.

    `reach` is the number of occurrences expected within the window. The exponential is computed so that all
    IEEE machines round equally.
    """
    x = min(reach, 64.0) / 256.0
    series = 1.0
    for k in range(12):
        series = 1.0 - x / (12.0 - k) * series
    for _ in range(8):
        series = series * series
    q = 1.0 - series
    expected = (count - 1.0) * q
    return float((near - expected) / np.sqrt(expected * (1.0 - q) + 1.0))


@compiled
def _gap_weights(
    tallies: NDArray[np.uint64], window: float, characters: float, weights: NDArray[np.int64]
) -> None:
    """Write the `gap` weights of the module `simhash`."""
    for f in range(tallies.size):
        count = float(I64(min(U64((tallies[f] >> COUNT_SHIFT) & TALLY), COUNT_LIMIT)))
        near = float(I64(min(U64(tallies[f] & TALLY), COUNT_LIMIT)))
        weights[f] = I64(np.floor(excess(count, near, count * window / characters) * UNIT + 0.5))


@compiled
def weigh(
    cells: NDArray[np.uint64],
    gap: bool,
    min_count: int,
    window: int,
    characters: int,
    features: NDArray[np.uint32],
    weights: NDArray[np.int64],
) -> int:
    """Write the cells counted at least `min_count` times, and their weights in units of 1/1024.

    Returns the number of these cells; `features` has room for one more than all cells.
    """
    one = Index(1)
    chosen = Index(0)
    least = U64(max(min_count, 1))
    for cell in range(cells.size):
        features[chosen] = cell
        chosen = Index(chosen + (one if U64((cells[cell] >> COUNT_SHIFT) & TALLY) >= least else Index(0)))
    count = I64(chosen)
    tallies = np.empty(count, dtype=np.uint64)
    for f in range(count):
        tallies[f] = cells[features[f]]
    if gap:
        _gap_weights(tallies, float(window), float(characters), weights)
    else:
        for f in range(count):
            weights[f] = I64(min(U64((tallies[f] >> COUNT_SHIFT) & TALLY), COUNT_LIMIT)) * WEIGHT_UNIT
    return count


@compiled
def vote(features: NDArray[np.uint32], weights: NDArray[np.int64], votes: NDArray[np.int64]) -> None:
    """Write into `votes[j]` the sum of the weights of cells whose sign has bit j, minus that of other cells.

    Weights are added up for each of the 256 values of a byte of the sign, and at the end for each bit.
    """
    words = (votes.size + 63) // 64
    ballots = np.zeros((8 * words, 256), dtype=np.int64)
    for w in range(words):
        eight = ballots[8 * w : 8 * w + 8]
        for f in range(features.size):
            sign = mix64(U64(U64(U64(features[f]) + U64(1)) * U64(SIGN_STEP)) + U64(w))
            for b in range(8):
                eight[b, (sign >> U64(56 - 8 * b)) & U64(0xFF)] += weights[f]
    for b in range(votes.size // 8):
        for bit in range(8):
            total = I64(0)
            for value in range(256):
                total += ballots[b, value] if (value >> (7 - bit)) & 1 else -ballots[b, value]
            votes[8 * b + bit] = total


@compiled
def repeated(hashes: NDArray[np.uint64], bits: NDArray[np.uint8], out: NDArray[np.uint64]) -> int:
    """Write all hashes that occur more than once, and a few others by chance; return their number.

    The bit of a repeated hash is already set; another hash may have set it. The size of `bits` in bytes is a
    power of two; `out` has room for one more than all hashes.
    """
    one = Index(1)
    shift = U64(64)
    size = bits.size * 8
    while size > 1:
        shift = U64(shift - U64(1))
        size >>= 1
    bits[:] = 0
    repeats = Index(0)
    for k in range(hashes.size):
        place = hashes[k] >> shift
        byte, bit = place >> U64(3), np.uint8(1 << (place & U64(7)))
        before = bits[byte]
        out[repeats] = hashes[k]
        repeats = Index(repeats + (one if before & bit else Index(0)))
        bits[byte] = before | bit
    bits[:] = 0
    for k in range(repeats):
        place = out[k] >> shift
        bits[place >> U64(3)] |= np.uint8(1 << (place & U64(7)))
    count = Index(0)
    for k in range(hashes.size):
        place = hashes[k] >> shift
        out[count] = hashes[k]
        if bits[place >> U64(3)] & np.uint8(1 << (place & U64(7))):
            count = Index(count + one)
    return I64(count)


@compiled
def minhash(
    hashes: NDArray[np.uint64], a: NDArray[np.uint32], b: NDArray[np.uint32], values: NDArray[np.uint32]
) -> None:
    """Lower `values[p]` to the least a[p]·mix32(h) + b[p] mod 2^32 over the low 32 bits h of `hashes`.

    The number of permutations is a multiple of 4; each pass of the loop computes four.
    """
    block = np.empty(BLOCK, dtype=np.uint32)
    for start in range(0, hashes.size, BLOCK):
        taken = hashes[start : min(start + BLOCK, hashes.size)]
        mixed = block[: taken.size]
        for k in range(taken.size):
            mixed[k] = mix32(U32(taken[k] & HALF))
        for p in range(0, values.size, 4):
            a0, a1, a2, a3 = a[p], a[p + 1], a[p + 2], a[p + 3]
            b0, b1, b2, b3 = b[p], b[p + 1], b[p + 2], b[p + 3]
            v0, v1, v2, v3 = values[p], values[p + 1], values[p + 2], values[p + 3]
            for k in range(mixed.size):
                h = mixed[k]
                v0 = min(v0, U32(U32(a0 * h) + b0))
                v1 = min(v1, U32(U32(a1 * h) + b1))
                v2 = min(v2, U32(U32(a2 * h) + b2))
                v3 = min(v3, U32(U32(a3 * h) + b3))
            values[p], values[p + 1], values[p + 2], values[p + 3] = v0, v1, v2, v3


@compiled
def one_permutation_minhash(
    text: Codes,
    kinds: NDArray[np.uint8],
    lengths: GramLengths,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    signatures: NDArray[np.uint8],
) -> None:
    """Write the one-permutation MinHash of each slice `text[starts[p]:ends[p]]`."""
    hashes = np.empty(BLOCK, dtype=np.uint32)
    positions = np.empty(BLOCK, dtype=np.int64)
    least = np.empty(128, dtype=np.uint64)
    for page in range(starts.size):
        least[:] = U64(1 << 32)
        for start in range(starts[page], ends[page], BLOCK):
            count = _hash_block(text, kinds, lengths, start, ends[page], hashes, positions)
            for k in range(count):
                h = hashes[k]
                place = h >> U32(25)
                least[place] = min(least[place], U64(h))
        for place in range(128):
            value = I64(least[place])
            filled = value < (1 << 32)
            signatures[page, place] = 1 + ((value & 0xFFFF) * 255 >> 16) if filled else 0
