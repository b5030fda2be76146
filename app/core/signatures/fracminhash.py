"""FracMinHash (Irber et al. 2022): a sample of a book's shingles that shows how many two books share.

All distinct shingle hashes below a limit are kept, so a shingle that two books share is in both samples or
in neither. The limit is a power of two, 2^level: the largest that leaves no more hashes than the recipe
allows. Two books are compared below the lower of their limits, where each sample is complete. One hash in
common there stands for 2^(64 − level) common shingles, however small a part of both books these are.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.model import FracMinHash, require_same_recipe
from app.core.recipe import FracMinHashRecipe

TOP_LEVEL = 64
"""The level of a sample that keeps every hash."""


def fracminhash(hashes: NDArray[np.uint64], recipe: FracMinHashRecipe) -> FracMinHash | None:
    """The sample of shingle hashes, which may repeat; None if there are none."""
    if hashes.size == 0:
        return None
    # A first level that keeps several times the hashes wanted: the right one is then found among few.
    level = min(TOP_LEVEL, TOP_LEVEL + 2 - (hashes.size // recipe.most).bit_length())
    kept = _below(hashes, level)
    while level < TOP_LEVEL and kept.size <= recipe.most:
        level += 1
        kept = _below(hashes, level)
    while kept.size > recipe.most:
        level -= 1
        kept = _below(kept, level)
    return FracMinHash(recipe.name, kept, level)


def shared_hashes(a: FracMinHash, b: FracMinHash) -> int:
    """The number of hashes that two samples share, below the lower of their limits; raises RecipeMismatch."""
    require_same_recipe(a.recipe, b.recipe)
    return int(np.intersect1d(a.hashes, b.hashes, assume_unique=True).size)


def shared_shingles(shared: int, a_level: int, b_level: int) -> int:
    """The number of shingles that two books share, estimated from the hashes that their samples share.

    >>> shared_shingles(3, 56, 55)
    1536
    """
    return shared << (TOP_LEVEL - min(a_level, b_level))


def _below(hashes: NDArray[np.uint64], level: int) -> NDArray[np.uint64]:
    """The distinct hashes below 2^level, ascending."""
    return np.unique(hashes if level == TOP_LEVEL else hashes[hashes < np.uint64(1 << level)])
