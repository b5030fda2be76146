"""Word shingles (Broder 1997): overlapping runs of tokens, hashed to 64 bits.

Spasojević and Poncin (2011, section III-B) use five words. Here a token is a word, or a single code point of
a script without spaces between words. A word weighs 8, and a code point as a token 5. The shingle at a token
is the shortest run of tokens from there that weighs at least 40: five words, eight characters, or a mixture.

The hash of a shingle is mix64(Σ x_k·B^(m-k) mod 2^64) over the code points x_1 … x_m of its part of the
normal form, spaces included, with B = SHINGLE_BASE. This is a rolling hash (Karp and Rabin 1987), as
Carpenter (2011) advises, followed by MurmurHash3's finaliser.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.recipe import MinHashRecipe, PageRecipe
from bookprint_core.text.normal_form import NormalText


@dataclass(frozen=True, slots=True, eq=False)
class Shingles:
    """The shingles of a book in reading order, repeats included."""

    hashes: NDArray[np.uint64]  # (n,)
    token_count: int
    single_count: int  # words that occur once; in a script without spaces, runs of three characters
    window_starts: NDArray[np.int64]  # (windows,) code points; the recipe defines the weight of a window


def shingles(text: NormalText, recipe: MinHashRecipe, pages: PageRecipe) -> Shingles:
    """Compute all shingles of a book, and the windows that replace unknown pages."""
    from bookprint_core.signatures import shingle_kernels as kernels

    met = np.zeros(1 << kernels.PLACE_BITS, dtype=np.uint8)
    if text.kinds.size == 0:
        per_shingle = -(-recipe.shingle_weight // recipe.word_weight)
        per_window = -(-pages.window_weight // pages.word_weight)
        hashes = np.empty(text.size // 2 + 1, dtype=np.uint64)
        windows = np.empty(hashes.size // per_window + 1, dtype=np.int64)
        tokens, count, window_count = kernels.shingle_words(
            text.codes, text.size, per_shingle, hashes, per_window, windows, met
        )
    else:
        per_window = -(-pages.window_weight // max(pages.word_weight, pages.character_weight))
        hashes = np.empty(text.size, dtype=np.uint64)
        windows = np.empty(text.size // per_window + 1, dtype=np.int64)
        weights = (recipe.shingle_weight, recipe.word_weight, recipe.character_weight)
        tokens, count, window_count = kernels.shingle_tokens(
            text.codes, text.size, text.kinds, weights, hashes, pages.window_weight, windows, met
        )
    return Shingles(hashes[:count], tokens, _single_count(met, tokens), windows[:window_count])


def _single_count(met: NDArray[np.uint8], tokens: int) -> int:
    """Estimate the number of words that occur once, within a per cent, although words may share a place.

    The probability that a word is alone in its place equals the share of free places. The count of words
    alone is therefore divided by this share.
    """
    alone, free = int(np.count_nonzero(met == 1)), met.size - int(np.count_nonzero(met))
    return min(alone * met.size // max(free, 1), tokens)


def count_distinct(hashes: NDArray[np.uint64]) -> int:
    """Count the distinct values exactly."""
    from bookprint_core.signatures import kernels

    bits = np.empty(max(1 << 13, 1 << (2 * hashes.size).bit_length()), dtype=np.uint8)
    repeated = np.empty(hashes.size + 1, dtype=np.uint64)
    repeated = np.sort(repeated[: kernels.repeated(hashes, bits, repeated)])
    return hashes.size - int(np.count_nonzero(repeated[1:] == repeated[:-1]))
