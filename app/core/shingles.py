"""Word shingles: overlapping runs of tokens, hashed to 64 bits.

A token is a word, that is a longest run of letters, digits and marks of scripts that put spaces between words, or a
single code point of a script that does not. A word weighs 8, such a code point 5; the shingle at a token is
the shortest run of tokens from there that weighs at least 40: five words, or eight characters, or a mixture. Its hash
is mix64(Σ x_k · B^(m-k) mod 2^64) over the code points x_1 … x_m of its stretch of the normalised text, spaces
included, with B = SHINGLE_BASE and mix64 the 64-bit finaliser of MurmurHash3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.backend import kernels
from app.core.recipe import MinHashRecipe, PageRecipe
from app.core.text import NormalText


@dataclass(frozen=True, slots=True, eq=False)
class Shingles:
    """The shingles of a book in reading order, repeats included."""

    hashes: NDArray[np.uint64]
    token_count: int
    window_starts: NDArray[np.int64]  # code points; a window is as many tokens as weigh the recipe's window


def shingles(text: NormalText, recipe: MinHashRecipe, pages: PageRecipe) -> Shingles:
    """All shingles of a book, and the windows that stand in for pages."""
    most = (text.size + 1) // 2 if text.kinds.size == 0 else text.size
    hashes = np.empty(most, dtype=np.uint64)
    least_weight = pages.word_weight if text.kinds.size == 0 else pages.character_weight
    windows = np.empty(most // -(-pages.window_weight // least_weight) + 1, dtype=np.int64)
    weights = (recipe.shingle_weight, recipe.word_weight, recipe.character_weight)
    tokens, count, window_count = kernels().shingle(
        text.codes, text.size, text.kinds, weights, hashes, pages.window_weight, windows
    )
    return Shingles(hashes[:count], tokens, windows[:window_count])


def count_distinct(hashes: NDArray[np.uint64]) -> int:
    """How many different values there are, exactly."""
    table = np.zeros(1 << (hashes.size * 4 // 3 + 1).bit_length(), dtype=np.uint64)
    return kernels().count_distinct(hashes, table)
