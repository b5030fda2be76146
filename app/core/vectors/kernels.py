"""Compiled kernels of vectors: counting words, adding up their rows, and comparing vectors.

All sums are of whole numbers, so that every machine finds the same vector. The constants are part of what
version 1 of the recipe means.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import I64, U32, U64, Codes, Index, compiled, mix64

BASE = U64(0x9E3779B97F4A7C15)
"""A word x_1 … x_m hashes to mix64(Σ x_k · BASE^(m-k) mod 2^64); its top bits are its cell."""

SPACE = 0x20
BLOCK_OF_SUMS = 1 << 14
"""Rows added in 32 bits before the sums go into 64."""


@compiled
def count_words(
    text: Codes, size: int, kinds: NDArray[np.uint8], bits: int, counts: NDArray[np.uint32]
) -> int:
    """Counts the words of a normal form by cell, in `counts` (2^bits,); returns how many there are.

    In scripts without spaces between words, each pair of neighbouring characters is a word.
    """
    shift = U64(64 - bits)
    words = 0
    i = 0
    while i < size:
        if text[i] == SPACE:
            i += 1
            continue
        if kinds.size and kinds[i] & 1:
            if i + 1 < size and kinds[i + 1] & 1 and text[i + 1] != SPACE:
                pair = U64(U64(U64(text[i]) * BASE) + U64(text[i + 1]))
                counts[Index(mix64(pair) >> shift)] += U32(1)
                words += 1
            i += 1
            continue
        word = U64(0)
        while i < size and text[i] != SPACE and not (kinds.size and kinds[i] & 1):
            word = U64(U64(word * BASE) + U64(text[i]))
            i += 1
        counts[Index(mix64(word) >> shift)] += U32(1)
        words += 1
    return words


@compiled
def add_rows(
    cells: NDArray[np.int64],
    weights: NDArray[np.int32],
    rows: NDArray[np.int8],
    sums: NDArray[np.int64],
) -> None:
    """Adds to `sums` (n,) the rows of these cells, each times its weight, which is below 2^10."""
    block = np.zeros(sums.size, dtype=np.int32)
    for k in range(cells.size):
        row = rows[cells[k]]
        weight = weights[k]
        for j in range(row.size):
            block[j] += weight * np.int32(row[j])
        if k % BLOCK_OF_SUMS == BLOCK_OF_SUMS - 1 or k == cells.size - 1:
            for j in range(sums.size):
                sums[j] += I64(block[j])
                block[j] = 0


@compiled
def products(vector: NDArray[np.int8], rows: NDArray[np.int8], out: NDArray[np.float32]) -> None:
    """Writes the cosine of a vector (n,) with each of the rows (m, n); 0 where either is all zeros."""
    own = np.int32(0)
    for j in range(vector.size):
        own += np.int32(vector[j]) * np.int32(vector[j])
    for i in range(rows.shape[0]):
        product = np.int32(0)
        square = np.int32(0)
        for j in range(vector.size):
            product += np.int32(vector[j]) * np.int32(rows[i, j])
            square += np.int32(rows[i, j]) * np.int32(rows[i, j])
        length = np.sqrt(float(own)) * np.sqrt(float(square))
        out[i] = product / length if length > 0 else 0.0
