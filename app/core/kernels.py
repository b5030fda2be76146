"""The inner loops, compiled by numba; `kernels_numpy` computes the same bits without it.

Everything here works on arrays of code points (uint8, uint16 or uint32) and writes into arrays that the
caller made. Integer arithmetic wraps around on purpose; each 32-bit step is cast, because numba widens.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba  # type: ignore[import-untyped]
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types  # type: ignore[import-untyped]
from numba.extending import intrinsic  # type: ignore[import-untyped]
from numpy.typing import NDArray

from app.core import constants as c
from app.core import unicode_table as u

P = ParamSpec("P")
R = TypeVar("R")
Codes = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]

U32, U64 = np.uint32, np.uint64
BLOCK = 256


def _compiled(function: Callable[P, R]) -> Callable[P, R]:
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True)(function))


def _inlined(function: Callable[P, R]) -> Callable[P, R]:
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True, inline="always")(function))


@intrinsic  # type: ignore[untyped-decorator]
def _popcount(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@_inlined
def _mix32(h: np.uint32) -> np.uint32:
    """The 32-bit finaliser of MurmurHash3."""
    h = U32(h ^ U32(h >> U32(16)))
    h = U32(h * U32(0x85EBCA6B))
    h = U32(h ^ U32(h >> U32(13)))
    h = U32(h * U32(0xC2B2AE35))
    return U32(h ^ U32(h >> U32(16)))


@_inlined
def _mix64(h: np.uint64) -> np.uint64:
    """The 64-bit finaliser of MurmurHash3."""
    h = U64(h ^ (h >> U64(33)))
    h = U64(h * U64(0xFF51AFD7ED558CCD))
    h = U64(h ^ (h >> U64(33)))
    h = U64(h * U64(0xC4CEB9FE1A85EC53))
    return U64(h ^ (h >> U64(33)))


@_compiled
def inspect(codes: Codes, traits: NDArray[np.uint8]) -> tuple[int, int]:
    """All traits that occur, or-ed, and all code points, or-ed."""
    seen = np.uint8(0)
    bits = U32(0)
    for i in range(codes.size):
        seen |= traits[codes[i]]
        bits |= U32(codes[i])
    return int(seen), int(bits)


@_inlined
def _after_hyphen(codes: Codes, i: int, table: NDArray[np.uint32]) -> int:
    """Where the word split by a hyphen just before `i` goes on, or -1 if it was no end-of-line hyphen."""
    lines = 0
    pages = 0
    n = codes.size
    while i < n:
        entry = table[codes[i]]
        if entry & U32(u.BREAK):
            if codes[i] == 0x0C:
                pages += 1
            elif not (codes[i] == 0x0A and codes[i - 1] == 0x0D):
                lines += 1
        elif not entry & U32(u.BLANK):
            break
        i += 1
    if i < n and lines <= 1 and pages <= 1 and lines + pages > 0 and table[codes[i]] & U32(u.LOWER):
        return i
    return -1


@_compiled
def normalise(
    codes: Codes,
    table: NDArray[np.uint32],
    traits: NDArray[np.uint8],
    expansions: NDArray[np.uint32],
    out: NDArray[np.uint16] | NDArray[np.uint32],
    page_starts: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Writes the normal form of `codes` into `out`, and where each page starts in it.

    Returns the length, the flags seen (or-ed) and a status: 0 well, 1 `out` is too small, 2 the text must be put
    into NFKC first, because a character that NFKC changes stands beside one that may combine with it.
    """
    n = codes.size
    i = 0
    j = 0
    page = 0
    seen = U32(0)
    before = U32(1)  # 1: the last thing written is a separator, or nothing is written yet
    dense = False  # the last letter is of a dense script
    page_starts[0] = 0
    while i < n:
        entry = table[codes[i]]
        seen |= entry
        i += 1
        if not entry & U32(u.SPECIAL):
            out[j] = entry & U32(u.CODE)
            separator = U32(entry >> U32(21)) & U32(1)
            j += 1 - np.int64(separator & before)
            dense = dense and separator != U32(0)
            before = separator
            continue
        action = entry & U32(u.ACTION)
        if action == U32(u.LETTER_ACTION):
            first, last = -1, 0
        elif action == U32(u.EXPAND):
            first = np.int64(entry & U32(u.CODE))
            last = first + np.int64(expansions[first])
            if i < n and traits[codes[i]] & np.uint8(u.NFC_SUSPECT):
                return j, int(seen), 2
            if j + (last - first) + (n - i) >= out.size:
                return j, int(seen), 1
        elif action == U32(u.MARK):
            if before == U32(0):
                out[j] = entry & U32(u.CODE)
                j += 1
            continue
        elif action == U32(u.HYPHEN) or action == U32(u.SOFT_HYPHEN):
            if before == U32(0) and table[out[j - 1]] & U32(u.LETTER):
                after = _after_hyphen(codes, i, table)
                if after >= 0:
                    while i < after:
                        if codes[i] == 0x0C:
                            page += 1
                            page_starts[page] = j
                        i += 1
                    continue
            if action == U32(u.HYPHEN) and before == U32(0):
                out[j] = 0x20
                j += 1
                before = U32(1)
            continue
        elif action == U32(u.PAGE):
            if before == U32(0):
                out[j] = 0x20
                j += 1
                before = U32(1)
            page += 1
            page_starts[page] = j
            continue
        elif action == U32(u.NEEDS_NFKC):
            return j, int(seen), 2
        else:
            continue
        while first < last:
            first += 1
            if first > 0:
                entry = expansions[first]
                seen |= entry
            if entry & U32(u.SEPARATOR):
                if before == U32(0):
                    out[j] = 0x20
                    j += 1
                    before = U32(1)
                continue
            is_dense = U32(entry & U32(u.KIND)) == U32(1 << u.KIND_SHIFT)
            if entry & U32(u.ACTION) == U32(u.MARK):
                if before == U32(0):
                    out[j] = entry & U32(u.CODE)
                    j += 1
                continue
            if is_dense and dense and before != U32(0):
                k = page
                while k > 0 and page_starts[k] == j:
                    page_starts[k] = j - 1
                    k -= 1
                j -= 1
            out[j] = entry & U32(u.CODE)
            j += 1
            before = U32(0)
            dense = is_dense
    if j > 0 and before != U32(0):
        j -= 1
        while page > 0 and page_starts[page] > j:
            page_starts[page] = j
            page -= 1
    return j, int(seen), 0


@_compiled
def kinds_of(text: Codes, table: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> None:
    """Writes the kind of script of each code point of a normalised text; a mark has that of what it follows."""
    last = np.uint8(0)
    for i in range(text.size):
        entry = table[text[i]]
        if not (entry & U32(u.SPECIAL) and entry & U32(u.ACTION) == U32(u.MARK)):
            last = np.uint8((entry >> U32(u.KIND_SHIFT)) & U32(3))
        kinds[i] = last


@_inlined
def _hash_plain(text: Codes, start: int, count: int, length: int, hashes: NDArray[np.uint32]) -> None:
    """Hashes of the n-grams that start at `start`, `start` + 1, …, for texts of alphabets alone."""
    if length == 4:
        for k in range(count):
            i = start + k
            h = U32(U32(text[i]) * U32(c.FACTOR_0)) + U32(U32(text[i + 1]) * U32(c.FACTOR_1))
            h = U32(h) + U32(U32(text[i + 2]) * U32(c.FACTOR_2)) + U32(U32(text[i + 3]) * U32(c.FACTOR_3))
            hashes[k] = _mix32(U32(h))
    elif length == 6:
        for k in range(count):
            i = start + k
            h = U32(U32(text[i]) * U32(c.FACTOR_0)) + U32(U32(text[i + 1]) * U32(c.FACTOR_1))
            h = U32(h) + U32(U32(text[i + 2]) * U32(c.FACTOR_2)) + U32(U32(text[i + 3]) * U32(c.FACTOR_3))
            h = U32(h) + U32(U32(text[i + 4]) * U32(c.FACTOR_4)) + U32(U32(text[i + 5]) * U32(c.FACTOR_5))
            hashes[k] = _mix32(U32(h))
    else:
        factors = (c.FACTOR_0, c.FACTOR_1, c.FACTOR_2, c.FACTOR_3, c.FACTOR_4, c.FACTOR_5)
        for k in range(count):
            h = U32(0)
            for m in range(length):
                h = U32(h + U32(U32(text[start + k + m]) * U32(factors[m])))
            hashes[k] = _mix32(h)


@_inlined
def _hash_mixed(
    text: Codes,
    kinds: NDArray[np.uint8],
    lengths: tuple[int, int, int, int],
    start: int,
    hashes: NDArray[np.uint32],
    count: int,
) -> None:
    """The same where the length of an n-gram hangs on the kind of its first code point."""
    factors = (c.FACTOR_0, c.FACTOR_1, c.FACTOR_2, c.FACTOR_3, c.FACTOR_4, c.FACTOR_5)
    for k in range(count):
        i = start + k
        h = U32(0)
        for m in range(lengths[kinds[i]]):
            h = U32(h + U32(U32(text[i + m]) * U32(factors[m])))
        hashes[k] = _mix32(h)


@_inlined
def _see(cell: np.uint64, position: np.uint64, window: np.uint64) -> np.uint64:
    """A cell after one more occurrence at `position`: last position 26 bits, count 19, near repeats 19."""
    gap = U64(position - (cell >> U64(38))) & U64((1 << 26) - 1)
    near = U64(1) if gap <= window else U64(0)
    count = (cell >> U64(19)) & U64(c.COUNT_LIMIT)
    repeats = cell & U64(c.COUNT_LIMIT)
    count = min(U64(count + U64(1)), U64(c.COUNT_LIMIT))
    repeats = min(U64(repeats + near), U64(c.COUNT_LIMIT))
    return U64((position & U64((1 << 26) - 1)) << U64(38)) | U64(count << U64(19)) | repeats


@_compiled
def count_ngrams(
    text: Codes,
    size: int,
    kinds: NDArray[np.uint8],
    lengths: tuple[int, int, int, int],
    window: int,
    cells: NDArray[np.uint64],
) -> int:
    """One pass over the n-grams of `text[:size]` (padded with 8 zeros): count and near repeats of each cell.

    `kinds` is empty for a text of alphabets alone. Returns the number of n-grams.
    """
    hashes = np.empty(BLOCK, dtype=np.uint32)
    shift = U32(32 - c.CELL_BITS)
    plain = kinds.size == 0
    # an offset of window + 1 keeps the zero of an empty cell out of the window
    offset = window + 1
    total = 0
    last = size - lengths[0] + 1 if plain else size
    for start in range(0, last, BLOCK):
        count = min(BLOCK, last - start)
        if plain:
            _hash_plain(text, start, count, lengths[0], hashes)
        else:
            _hash_mixed(text, kinds, lengths, start, hashes, count)
        for k in range(count):
            if not plain and start + k + lengths[kinds[start + k]] > size:
                continue
            cell = hashes[k] >> shift
            cells[cell] = _see(cells[cell], U64(start + k + offset), U64(window))
            total += 1
    return total


@_inlined
def _exp_minus(x: float) -> float:
    """exp(-x) for 0 <= x <= 64, from operations that every IEEE machine rounds alike."""
    y = x / 256.0
    term = 1.0
    total = 1.0
    for k in range(1, 12):
        term = term * (-y) / k
        total = total + term
    for _ in range(8):
        total = total * total
    return total


@_compiled
def weigh(
    cells: NDArray[np.uint64],
    gap: bool,
    min_count: int,
    window: int,
    characters: int,
    features: NDArray[np.uint32],
    weights: NDArray[np.int64],
) -> int:
    """Writes the cells that have a say and their weights, in units of 1/1024; returns how many there are."""
    found = 0
    for cell in range(cells.size):
        value = cells[cell]
        count = np.int64((value >> U64(19)) & U64(c.COUNT_LIMIT))
        if count < min_count or count == 0:
            continue
        weight = float(count)
        if gap:
            near = np.int64(value & U64(c.COUNT_LIMIT))
            q = 1.0 - _exp_minus(min(float(count) * float(window) / float(characters), 64.0))
            expected = float(count - 1) * q
            weight = (float(near) - expected) / np.sqrt(expected * (1.0 - q) + 1.0)
        quantised = np.int64(np.floor(weight * 1024.0 + 0.5))
        if quantised != 0:
            features[found] = cell
            weights[found] = quantised
            found += 1
    return found


@_compiled
def vote(features: NDArray[np.uint32], weights: NDArray[np.int64], votes: NDArray[np.int64]) -> None:
    """Adds each weight to `votes[j]` where bit j of the cell's sign is 1, else subtracts it."""
    ones = np.zeros(votes.size, dtype=np.int64)
    total = np.int64(0)
    for f in range(features.size):
        weight = weights[f]
        total += weight
        for word in range(votes.size // 32):
            sign = U32(
                _mix64(U64((U64(features[f]) + U64(1)) * U64(c.SIGN_STEP) + U64(word))) & U64(0xFFFFFFFF)
            )
            for j in range(32):
                ones[word * 32 + j] += weight * np.int64(U32(sign >> U32(31 - j)) & U32(1))
    for j in range(votes.size):
        votes[j] += 2 * ones[j] - total


@_inlined
def _power(base: np.uint64, exponent: int) -> np.uint64:
    result = U64(1)
    while exponent > 0:
        if exponent & 1:
            result = U64(result * base)
        base = U64(base * base)
        exponent >>= 1
    return result


@_compiled
def shingle(
    text: Codes,
    size: int,
    kinds: NDArray[np.uint8],
    weights: tuple[int, int, int],
    hashes: NDArray[np.uint64],
    window_weight: int,
    windows: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Writes the hash of the shingle at each token, and where each window of tokens starts.

    `weights` are those of a shingle, a word and an unspaced character. `kinds` is empty for a text of alphabets
    alone. Returns the numbers of tokens, shingles and windows.
    """
    plain = kinds.size == 0
    base = U64(c.SHINGLE_BASE)
    powers = np.empty(512, dtype=np.uint64)
    powers[0] = 1
    for k in range(1, 512):
        powers[k] = U64(powers[k - 1] * base)
    starts = np.empty(16, dtype=np.int64)  # of the tokens whose shingle is not complete yet
    before = np.empty(16, dtype=np.uint64)  # the running hash just before each of them
    heavy = np.empty(16, dtype=np.int64)
    running = U64(0)
    tokens = 0
    oldest = 0
    weight = 0
    shingles = 0
    window_count = 0
    window_left = 0
    i = 0
    while i < size:
        if text[i] == 0x20:
            running = U64(running * base + U64(0x20))
            i += 1
            continue
        slot = tokens & 15
        starts[slot] = i
        before[slot] = running
        single = not plain and (kinds[i] == 1 or kinds[i] == 3)
        running = U64(running * base + U64(text[i]))
        i += 1
        if not single:
            while i < size and text[i] != 0x20 and (plain or kinds[i] == 0 or kinds[i] == 2):
                running = U64(running * base + U64(text[i]))
                i += 1
        heavy[slot] = weights[2] if single else weights[1]
        weight += heavy[slot]
        tokens += 1
        if window_left <= 0:
            windows[window_count] = starts[slot]
            window_count += 1
            window_left = window_weight
        window_left -= heavy[slot]
        while weight >= weights[0]:
            slot = oldest & 15
            length = i - starts[slot]
            power = powers[length] if length < 512 else _power(base, length)
            hashes[shingles] = _mix64(U64(running - U64(before[slot] * power)))
            shingles += 1
            weight -= heavy[slot]
            oldest += 1
    return tokens, shingles, window_count


@_compiled
def count_distinct(hashes: NDArray[np.uint64], table: NDArray[np.uint64]) -> int:
    """How many different values there are; `table` is all zeros, a power of two long, and longer than `hashes`."""
    mask = U64(table.size - 1)
    distinct = 0
    zero = 0
    for k in range(hashes.size):
        value = hashes[k]
        if value == U64(0):
            zero = 1
            continue
        slot = value >> U64(20) & mask
        while table[slot] != U64(0) and table[slot] != value:
            slot = U64(slot + U64(1)) & mask
        if table[slot] == U64(0):
            table[slot] = value
            distinct += 1
    return distinct + zero


@_compiled
def minhash(
    hashes: NDArray[np.uint64], a: NDArray[np.uint32], b: NDArray[np.uint32], values: NDArray[np.uint32]
) -> None:
    """Lowers `values[p]` to the least a[p]·mix32(h) + b[p] mod 2^32 over the low 32 bits h of `hashes`."""
    block = np.empty(BLOCK, dtype=np.uint32)
    for start in range(0, hashes.size, BLOCK):
        count = min(BLOCK, hashes.size - start)
        for k in range(count):
            block[k] = _mix32(U32(hashes[start + k] & U64(0xFFFFFFFF)))
        for p in range(values.size):
            least = values[p]
            for k in range(count):
                least = min(least, U32(U32(a[p] * block[k]) + b[p]))
            values[p] = least


@_compiled
def sign_pages(
    text: Codes,
    kinds: NDArray[np.uint8],
    lengths: tuple[int, int, int, int],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    signatures: NDArray[np.uint8],
) -> None:
    """Writes the one-permutation MinHash of each slice `text[starts[p]:ends[p]]` (text padded with 8 zeros)."""
    hashes = np.empty(BLOCK, dtype=np.uint32)
    least = np.empty(128, dtype=np.uint32)
    plain = kinds.size == 0
    for page in range(starts.size):
        least[:] = U32(0xFFFFFFFF)
        filled = np.zeros(128, dtype=np.uint8)
        end = int(ends[page])
        last = end - lengths[0] + 1 if plain else end
        for start in range(int(starts[page]), last, BLOCK):
            count = min(BLOCK, last - start)
            if plain:
                _hash_plain(text, start, count, lengths[0], hashes)
            else:
                _hash_mixed(text, kinds, lengths, start, hashes, count)
            for k in range(count):
                if not plain and start + k + lengths[kinds[start + k]] > end:
                    continue
                h = hashes[k]
                slot = h >> U32(25)
                filled[slot] = 1
                least[slot] = min(least[slot], h)
        for slot in range(128):
            value = U32(U32(U32(least[slot] & U32(0xFFFF)) * U32(255)) >> U32(16)) + U32(1)
            signatures[page, slot] = value if filled[slot] else U32(0)


@_compiled
def distances(query: NDArray[np.uint64], packed: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    """Writes the Hamming distance of `query` (2 words) to each row of `packed` (n, 2)."""
    high, low = query[0], query[1]
    for row in range(packed.shape[0]):
        out[row] = _popcount(high ^ packed[row, 0]) + _popcount(low ^ packed[row, 1])
