"""Compiled kernels that count words and compare vectors.

They write into arrays of the caller. The constants belong to version 1 of the recipe.
"""

import numpy as np
from numpy.typing import NDArray

from bookprint_core.jit import I64, U64, Codes, Index, compiled, mix64, popcount
from bookprint_core.signatures.kernels import excess

BASE = U64(0x9E3779B97F4A7C15)
"""Base of word hashes: x_1 … x_m has the top 32 bits of mix64(Σ x_k · BASE^(m-k) mod 2^64)."""

SPACE = 0x20
HALF = U64(32)
NO_WORD = -1


@compiled
def next_word(text: Codes, size: int, kinds: NDArray[np.uint8], i: int) -> tuple[int, int]:
    """Return the hash of the first word at or after `i`, and the place after it; NO_WORD at the end.

    In scripts without spaces between words, each pair of neighbouring characters is a word.
    """
    while i < size:
        first = i
        i += 1
        if text[first] == SPACE:
            continue
        word = U64(text[first])
        if kinds.size and kinds[first] & 1:
            if i == size or text[i] == SPACE or not kinds[i] & 1:
                continue
            word = U64(U64(word * BASE) + U64(text[i]))
        else:
            while i < size and text[i] != SPACE and not (kinds.size and kinds[i] & 1):
                word = U64(U64(word * BASE) + U64(text[i]))
                i += 1
        return I64(mix64(word) >> HALF), i
    return NO_WORD, i


@compiled
def _add(word: int, position: int, reach: int, slots: NDArray[np.int64]) -> int:
    """Add an occurrence of a word to an open hash table; return 1 if the word is new, else 0."""
    mask = slots.shape[0] - 1
    place = word & mask
    while slots[place, 1] > 0 and slots[place, 0] != word:
        place = (place + 1) & mask
    row = slots[place]
    new = 1 if row[1] == 0 else 0
    if new == 0 and position - row[3] <= reach:
        row[2] += 1
    row[0] = word
    row[1] += 1
    row[3] = position
    return new


@compiled
def count_words(
    text: Codes, size: int, kinds: NDArray[np.uint8], reach: int, slots: NDArray[np.int64]
) -> tuple[int, int]:
    """Count the words of a normal form in `slots` (a power of two, 4), zeros at first.

    A row is a word's hash, count, near repeats (at most `reach` words after the last) and last position.
    Returns the numbers of words and of distinct words; stops when half of the slots are full.
    """
    words = I64(0)
    different = 0
    room = slots.shape[0] // 2
    i = I64(0)
    while different < room:
        word, i = next_word(text, size, kinds, i)
        if word == NO_WORD:
            break
        different += _add(word, words, reach, slots)
        words += 1
    return words, different


@compiled
def bursts(
    counts: NDArray[np.int64], nears: NDArray[np.int64], reach: int, words: int, out: NDArray[np.bool_]
) -> None:
    """Write whether each word has over one standard deviation more near repeats than if evenly spread."""
    for k in range(counts.size):
        out[k] = excess(float(counts[k]), float(nears[k]), counts[k] * reach / words) > 1.0


@compiled
def distances(vector: NDArray[np.uint64], rows: NDArray[np.uint64], out: NDArray[np.int64]) -> None:
    """Write the number of bits in which a vector (n,) differs from each of the rows (m, n)."""
    for i in range(Index(rows.shape[0])):
        differing = U64(0)
        for j in range(Index(vector.size)):
            differing += popcount(U64(vector[j] ^ rows[i, j]))
        out[i] = I64(differing)
