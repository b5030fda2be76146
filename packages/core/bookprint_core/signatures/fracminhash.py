"""FracMinHash (Irber et al. 2022): a sample of a text's hashes that shows how much two books share.

All distinct hashes below a limit are kept, so what two books share is in both samples or in neither. The
limit is the largest of the recipe's levels that leaves no more hashes than the recipe allows. Two books are
compared below the lower of their limits, where each sample is complete.

Grams of folded letters (`bookprint_core.text.folding`) are hashed: runs of 20 letters, of 18 Arabic ones, or
of eight Han and the like. An error in ten letters leaves one such gram in eight whole. The hash of a gram is
mix64(Σ x_k·B^(m-k) mod 2^64) over its symbols, B = SHINGLE_BASE.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import FracMinHash, require_same_recipe
from bookprint_core.recipe import FracMinHashRecipe
from bookprint_core.text.folding import folding_table
from bookprint_core.text.normal_form import NormalText

Hashes = NDArray[np.uint64]
Places = NDArray[np.uint16]

PLACES = 1 << 16
"""Parts of a book's length by which the places of grams are told."""

_ALL = 1 << 64


def fracminhash(hashes: Hashes, recipe: FracMinHashRecipe) -> FracMinHash | None:
    """The sample of these hashes, which may repeat; None if there are none."""

    def below(limit: int) -> tuple[Hashes, None]:
        return np.unique(hashes if limit == _ALL else hashes[hashes < np.uint64(limit)]), None

    return _sample(hashes.size, recipe, below)


def gram_sample(text: NormalText, recipe: FracMinHashRecipe) -> FracMinHash | None:
    """The sample of the grams of a text, with their places; None where it has none."""
    from bookprint_core.signatures import shingle_kernels as kernels

    weights = (recipe.gram_weight, recipe.letter_weight, recipe.arabic_weight, recipe.dense_weight)
    table = folding_table()

    def below(limit: int) -> tuple[Hashes, Places]:
        size = 2 * text.size  # some code points fold to two symbols
        hashes, starts = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint32)
        count, symbols = kernels.grams_below(
            text.codes, text.size, table, weights, np.uint64(min(limit, _ALL - 1)), hashes, starts
        )
        distinct, first = np.unique(hashes[:count], return_index=True)
        return distinct, (starts[first].astype(np.uint64) * PLACES // max(1, symbols)).astype(np.uint16)

    return _sample(text.size, recipe, below)


def _sample(
    size: int, recipe: FracMinHashRecipe, below: Callable[[int], tuple[Hashes, Places | None]]
) -> FracMinHash | None:
    """The sample of at most `size` hashes; `below` a limit gives the distinct ones, ascending, and places."""
    # First a limit that leaves several times the hashes wanted: the right one is then found among few.
    limit = min(_ALL, (4 * recipe.most << 64) // max(1, size))
    while (found := below(limit))[0].size <= recipe.most and limit < _ALL:
        limit = min(_ALL, 4 * limit)
    hashes, places = found
    level = recipe.top_level
    if hashes.size > recipe.most:
        level = min(level, _level_up_to(int(hashes[recipe.most]), recipe))
    top = limit_of(level, recipe)
    count = hashes.size if top == _ALL else int(np.searchsorted(hashes, np.uint64(top)))
    kept = FracMinHash(recipe.name, hashes[:count], level, None if places is None else places[:count])
    return kept if count else None


def limit_of(level: int, recipe: FracMinHashRecipe) -> int:
    """The number below which a sample of this level keeps every hash."""
    return (recipe.per_octave + level % recipe.per_octave) << (level // recipe.per_octave + recipe.lowest)


def _level_up_to(limit: int, recipe: FracMinHashRecipe) -> int:
    """The highest level whose limit is at most this."""
    exponent = limit.bit_length() - recipe.per_octave.bit_length()
    return max(0, recipe.per_octave * (exponent - recipe.lowest - 1) + (limit >> exponent))


def kept_shares(levels: NDArray[np.integer], recipe: FracMinHashRecipe) -> NDArray[np.float64]:
    """The share of all hashes that samples of these levels keep, (n,), above 0 to 1."""
    high, low = np.divmod(levels.astype(np.int64), recipe.per_octave)
    shares: NDArray[np.float64] = (recipe.per_octave + low) * 2.0 ** (high + recipe.lowest - 64)
    return shares


def shared_hashes(a: FracMinHash, b: FracMinHash) -> int:
    """The number of hashes that two samples share, below the lower of their limits; raises RecipeMismatch."""
    require_same_recipe(a.recipe, b.recipe)
    return int(np.intersect1d(a.hashes, b.hashes, assume_unique=True).size)
