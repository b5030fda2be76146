"""Simhash fingerprints (Charikar 2002; Manku, Jain and Das Sarma 2007) of a book's character n-grams.

Bit j is 1 exactly if Σ_g w(g)·s_j(g) > 0 over the n-grams g, with s_j(g) = ±1. `tf` weighs an n-gram by its
count, as Vladimir et al. (2015, section 4.1) do for books. `gap` is ours and weighs it by how much it
bunches: with count t, near repeats o (at most Δ code points after the previous one) and N code points in all,

    q = 1 − exp(−t·Δ/N),   e = (t − 1)·q,   w = (o − e) / sqrt(e·(1 − q) + 1)

A language's ordinary n-grams are spread evenly and weigh nothing; names and topics come in bursts and decide.
n-grams are counted by cell, the top 18 bits of their hash. The signs s_j come from a hash of the cell, and
weights are multiples of 1/1024. So votes are whole numbers and every machine finds the same bits.
"""

import numpy as np

from bookprint_core.errors import RecipeMismatch
from bookprint_core.model import Fingerprint
from bookprint_core.recipe import FingerprintRecipe, folded_name, plain_name
from bookprint_core.text.normal_form import NormalText


def simhash(text: NormalText, recipe: FingerprintRecipe) -> Fingerprint | None:
    """The fingerprint of a book; None if fewer n-grams than the recipe asks for have a weight.

    Its recipe says whether the text was folded.
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
    """The number of bits in which two fingerprints differ; raises RecipeMismatch if their lengths do.

    >>> hamming(bytes([0b1100]), bytes([0b1010]))
    2
    """
    if len(a) != len(b):
        raise RecipeMismatch(f"Fingerprints of {8 * len(a)} and {8 * len(b)} bits cannot be compared.")
    return (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_count()
