"""Compiled kernels that hash the shingles and grams of a normal form, into arrays of the caller."""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.jit import I64, U8, U32, U64, Codes, Index, compiled, mix64

SHINGLE_BASE = 0x9E3779B97F4A7C15
"""Base of shingle hashes: x_1 … x_m hashes to mix64(Σ x_k · SHINGLE_BASE^(m-k) mod 2^64)."""

SPACE = 0x20
BASE = U64(SHINGLE_BASE)
FIRST = U64(-SPACE * pow(SHINGLE_BASE, -1, 1 << 64) % (1 << 64))
"""Running hash that a space turns into 0, so that the first word of a text has a space before it."""

PLACE_BITS = 18
"""Top bits of a word's hash by which it is counted; the counts fit into the second-level cache."""

PLACE_SHIFT = U64(64 - PLACE_BITS)
RUN = 3
"""Number of characters that replace a word in scripts without spaces."""

BASE_SQUARED = U64(SHINGLE_BASE * SHINGLE_BASE % (1 << 64))
PART = 1 << 15
"""Number of code points whose words are hashed at once; their ends fit into the second-level cache."""


@compiled
def _power(exponent: int) -> np.uint64:
    power = U64(1)
    square = BASE
    while exponent > 0:
        if exponent & 1:
            power = U64(power * square)
        square = U64(square * square)
        exponent >>= 1
    return power


@compiled
def _powers(count: int) -> NDArray[np.uint64]:
    powers = np.empty(count, dtype=np.uint64)
    power = U64(1)
    for k in range(count):
        powers[k] = power
        power = U64(power * BASE)
    return powers


@compiled
def _word_ends(
    text: Codes, start: int, stop: int, running: np.uint64, ends: NDArray[np.int64], sums: NDArray[np.uint64]
) -> tuple[int, np.uint64]:
    """Write the place of each space of `text[start:stop]` and the running hash before it.

    Returns the number of spaces and the running hash at `stop`. Two code points per pass halve the chain of
    products.
    """
    one, two = Index(1), Index(2)
    i, n = Index(start), Index(stop)
    even = Index(n - (Index(n - i) & one))
    k = Index(0)
    while i < even:
        x, y = text[i], text[i + one]
        ends[k] = i
        sums[k] = running
        k = Index(k + Index(x == SPACE))
        ends[k] = i + one
        sums[k] = U64(U64(running * BASE) + U64(x))
        k = Index(k + Index(y == SPACE))
        running = U64(U64(running * BASE_SQUARED) + U64(U64(U64(x) * BASE) + U64(y)))
        i = Index(i + two)
    if i < n:
        ends[k] = i
        sums[k] = running
        k = Index(k + Index(text[i] == SPACE))
        running = U64(U64(running * BASE) + U64(text[i]))
    return I64(k), running


@compiled
def _meet(word: np.uint64, met: NDArray[np.uint8]) -> None:
    """Count a word by its hash: 0, 1, or 2 for more."""
    place = U64(U64(word ^ (word >> U64(32))) * BASE) >> PLACE_SHIFT
    count = met[place]
    met[place] = count + U8(count < U8(2))


@compiled
def _meet_words(
    ends: NDArray[np.int64], sums: NDArray[np.uint64], powers: NDArray[np.uint64], met: NDArray[np.uint8]
) -> None:
    """Count each word between two of these spaces; `sums` are the running hashes before the spaces."""
    one = Index(1)
    before = U64(U64(sums[0] * BASE) + U64(SPACE))
    for k in range(Index(ends.size - 1)):
        length = Index(ends[k + one] - ends[k]) - one
        power = powers[length] if length < Index(512) else _power(I64(length))
        _meet(U64(sums[k + one] - U64(before * power)), met)
        before = U64(U64(sums[k + one] * BASE) + U64(SPACE))


@compiled
def shingle_words(
    text: Codes,
    size: int,
    per_shingle: int,
    hashes: NDArray[np.uint64],
    per_window: int,
    windows: NDArray[np.int64],
    met: NDArray[np.uint8],
) -> tuple[int, int, int]:
    """Write the hashes of all runs of `per_shingle` words of a text of alphabets, and the starts of windows.

    Counts the words in `met`, zeros at first. Returns the numbers of words, shingles and windows.
    """
    powers = _powers(I64(512))
    # the ends of the last words of the previous part precede the ends of this part
    ends = np.empty(PART + per_shingle + 2, dtype=np.int64)
    sums = np.empty(PART + per_shingle + 2, dtype=np.uint64)
    ends[0] = -1
    sums[0] = FIRST
    kept = 1
    words = 0
    shingles = 0
    window_count = 0
    running = U64(0)
    for start in range(0, size, PART):
        stop = min(start + PART, size)
        spaces, running = _word_ends(text, start, stop, running, ends[kept:], sums[kept:])
        if stop == size:
            ends[kept + spaces] = size
            sums[kept + spaces] = running
            spaces += 1
        known = kept + spaces
        for k in range(kept + window_count * per_window - words, known, per_window):
            windows[window_count] = ends[k - 1] + 1
            window_count += 1
        _meet_words(ends[kept - 1 : known], sums[kept - 1 : known], powers, met)
        for k in range(known - per_shingle):
            # `ends[k]` is the space before the shingle
            before = U64(U64(sums[k] * BASE) + U64(SPACE))
            length = ends[k + per_shingle] - ends[k] - 1
            power = powers[length] if length < 512 else _power(length)
            hashes[shingles + k] = mix64(U64(sums[k + per_shingle] - U64(before * power)))
        words += spaces
        shingles += max(known - per_shingle, 0)
        kept = min(known, per_shingle)
        for k in range(kept):
            ends[k] = ends[known - kept + k]
            sums[k] = sums[known - kept + k]
    return words, shingles, window_count


@compiled
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
    """Write the hashes of the shingles of a text of any scripts, and the starts of windows.

    `weights` contains the weights of a shingle, a word and an unspaced character. A shingle has at most 16
    tokens. Counts words and runs of unspaced characters in `met`, zeros at first. Returns the numbers of
    tokens, shingles and windows.
    """
    powers = _powers(I64(512))
    starts = np.empty(16, dtype=np.int64)  # of the tokens whose shingle is not complete yet
    before = np.empty(16, dtype=np.uint64)  # the running hash before each of these tokens
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
        if text[i] == SPACE:
            running = U64(U64(running * BASE) + U64(SPACE))
            i += 1
            continue
        slot = tokens & 15
        starts[slot] = i
        before[slot] = running
        single = kinds[i] & 1  # kinds with odd numbers have no spaces between words
        running = U64(U64(running * BASE) + U64(text[i]))
        i += 1
        while single == 0 and i < size and text[i] != SPACE and kinds[i] & 1 == 0:
            running = U64(U64(running * BASE) + U64(text[i]))
            i += 1
        first = (tokens - RUN + 1) & 15 if single else slot
        if not single or (tokens >= RUN - 1 and starts[first] == i - RUN):
            length = i - starts[first]
            power = powers[length] if length < 512 else _power(length)
            _meet(U64(running - U64(before[first] * power)), met)
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
            power = powers[length] if length < 512 else _power(length)
            hashes[shingles] = mix64(U64(running - U64(before[slot] * power)))
            shingles += 1
            weight -= heavy[slot]
            oldest += 1
    return tokens, shingles, window_count


ARABIC, AFTER_ARABIC, FIRST_DENSE = 0x600, 0x700, 0x2E80
LOW_HALF = U64(0xFFFFFFFF)


@compiled
def _weight(symbol: np.uint32, weights: tuple[int, int, int, int]) -> int:
    """Return the weight of a symbol: Arabic; Han, Kana, Hangul or similar; or any other letter."""
    if ARABIC <= symbol < AFTER_ARABIC:
        return weights[2]
    if (FIRST_DENSE <= symbol < 0xD7B0) or (0xF900 <= symbol < 0xFB00) or symbol >= 0x20000:
        return weights[3]
    return weights[1]


@compiled
def _fold(text: Codes, size: int, table: NDArray[np.uint64], symbols: Codes) -> tuple[int, bool]:
    """Write the symbols of a text without immediate repeats.

    Returns the number of symbols, and whether their weights may differ.
    """
    # Each symbol is written, and overwritten if it does not count: a branch would be mispredicted.
    found = Index(0)
    for i in range(Index(size)):
        entry = table[text[i]] if text[i] < U32(table.size) else U64(text[i])
        symbols[found] = U32(entry & LOW_HALF)
        found = Index(found + Index(U32(entry & LOW_HALF) != 0))
        if entry > LOW_HALF:
            symbols[found] = U32(entry >> U64(32))
            found = Index(found + Index(1))
    count, last, most = Index(0), U32(0), U32(0)
    for i in range(found):
        symbol = symbols[i]
        symbols[count] = symbol
        count = Index(count + Index(symbol != last))
        last, most = symbol, max(most, symbol)
    return I64(count), bool(most >= ARABIC)


@compiled
def grams_below(
    text: Codes,
    size: int,
    table: NDArray[np.uint64],
    weights: tuple[int, int, int, int],
    limit: np.uint64,
    hashes: NDArray[np.uint64],
    starts: NDArray[np.uint32],
) -> tuple[int, int]:
    """Write the hashes below a limit of the grams of a folded text, and the symbols at which they start.

    `weights` contains the weights of a gram, a letter, an Arabic letter and a dense character. A hash is
    written as often as its gram occurs. Returns the numbers of hashes and of the text's symbols.
    """
    symbols = np.empty(2 * size + 1, dtype=np.uint32)
    end, weighed = _fold(text, size, table, symbols)
    letters = -(-weights[0] // weights[1])
    powers = _powers(letters + 1)
    running, count = U64(0), 0
    if not weighed:
        for i in range(min(letters, end)):
            running = U64(U64(running * BASE) + U64(symbols[i]))
        symbols[end] = 0
        oldest, following = symbols[:end], symbols[letters : end + 1]
        for k in range(Index(following.size)):
            mixed = mix64(running)
            if mixed < limit:
                hashes[count] = mixed
                starts[count] = k
                count += 1
            gone = U64(U64(oldest[k]) * powers[letters])
            running = U64(U64(running * BASE) + U64(U64(following[k]) - gone))
        return count, end
    first, weight = 0, 0
    for i in range(end):
        running = U64(U64(running * BASE) + U64(symbols[i]))
        weight += _weight(symbols[i], weights)
        while weight >= weights[0]:
            mixed = mix64(running)
            if mixed < limit:
                hashes[count] = mixed
                starts[count] = first
                count += 1
            running = U64(running - U64(U64(symbols[first]) * powers[i - first]))
            weight -= _weight(symbols[first], weights)
            first += 1
    return count, end
