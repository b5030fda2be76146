"""Simhash fingerprints (Charikar 2002; Manku, Jain and Das Sarma 2007) of a book's character n-grams.

Bit j is 1 exactly if Σ_g w(g)·s_j(g) > 0 over the n-grams g, with s_j(g) = ±1. `tf` weighs an n-gram by its
count, as Vladimir et al. (2015, section 4.1) do for books. `gap` is ours and weighs an n-gram by its
near repeats. With count t, near repeats o (at most Δ code points after the previous one) and N code points,

    q = 1 − exp(−t·Δ/N),   e = (t − 1)·q,   w = (o − e) / sqrt(e·(1 − q) + 1)

Ordinary n-grams of a language are spread evenly and have weights near 0; names and topics occur in bursts.
n-grams are counted by cell, the top 18 bits of their hash. The signs s_j are computed from a hash of the
cell, and weights are multiples of 1/1024. Votes are whole numbers, so every machine computes equal bits.
"""

import numpy as np

from bookprint_core.errors import RecipeMismatch
from bookprint_core.model import Fingerprint
from bookprint_core.recipe import FingerprintRecipe, folded_name, plain_name
from bookprint_core.text.normal_form import NormalText


def simhash(text: NormalText, recipe: FingerprintRecipe) -> Fingerprint | None:
    """Compute the fingerprint of a book; None if fewer n-grams than `recipe.min_features` have a weight.

    The recipe of the result says whether the text was folded.
    """
    from bookprint_core.signatures import kernels

    cells = np.zeros(1 << kernels.CELL_BITS, dtype=np.uint64)
    kernels.count_ngrams(text.codes, text.size, text.kinds, recipe.lengths, recipe.window, cells)
    features = np.empty(cells.size + 1, dtype=np.uint32)
    weights = np.empty(cells.size, dtype=np.int64)
    count = kernels.weigh(
        cells,
        recipe.weighting == "gap",
        recipe.min_count,
        recipe.window,
        max(text.size, 1),
        features,
        weights,
    )
    if np.count_nonzero(weights[:count]) < recipe.min_features:
        return None
    votes = np.zeros(recipe.bits, dtype=np.int64)
    kernels.vote(features[:count], weights[:count], votes)
    name = plain_name(recipe.name)
    return Fingerprint(folded_name(name) if text.folded else name, np.packbits(votes > 0).tobytes())


def hamming(a: bytes, b: bytes) -> int:
    """Count the bits in which two fingerprints differ; raise RecipeMismatch if their lengths differ.

    >>> hamming(bytes([0b1100]), bytes([0b1010]))
    2
    """
    if len(a) != len(b):
        raise RecipeMismatch(f"Fingerprints of {8 * len(a)} and {8 * len(b)} bits cannot be compared.")
    return (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_count()
