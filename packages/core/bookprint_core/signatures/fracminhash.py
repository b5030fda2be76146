"""FracMinHash (Irber et al. 2022): a sample of a text's hashes that shows the text shared by two books.

A sample contains all distinct hashes below a limit, so a shared hash is in both samples or in neither. The
limit is the largest of the recipe's levels that leaves no more hashes than the recipe allows. Two books are
compared below the lower of their limits, where both samples are complete.

The hashes are those of grams of folded letters (`bookprint_core.text.folding`): runs of 20 letters, 18 Arabic
letters, or eight characters of Han and similar. With an error in ten letters, one gram in eight stays whole.
The hash of a gram is mix64(Σ x_k·B^(m-k) mod 2^64) over its symbols, B = SHINGLE_BASE.
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
"""Number of parts of a book in which the places of grams are counted."""

_ALL = 1 << 64


def fracminhash(hashes: Hashes, recipe: FracMinHashRecipe) -> FracMinHash | None:
    """Make the sample of these hashes, which may repeat; None if there are none."""

    def below(limit: int) -> tuple[Hashes, None]:
        return np.unique(hashes if limit == _ALL else hashes[hashes < np.uint64(limit)]), None

    return _sample(hashes.size, recipe, below)


def gram_sample(text: NormalText, recipe: FracMinHashRecipe) -> FracMinHash | None:
    """Make the sample of the grams of a text, with their places; None if there are none."""
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
    """Sample at most `size` hashes; `below(limit)` returns distinct hashes, ascending, and places."""
    # The first limit leaves several times the wanted hashes, so that the right limit is found among few.
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
    """Return the limit below which a sample of this level contains every hash."""
    return (recipe.per_octave + level % recipe.per_octave) << (level // recipe.per_octave + recipe.lowest)


def _level_up_to(limit: int, recipe: FracMinHashRecipe) -> int:
    """Return the highest level whose limit is at most `limit`."""
    exponent = limit.bit_length() - recipe.per_octave.bit_length()
    return max(0, recipe.per_octave * (exponent - recipe.lowest - 1) + (limit >> exponent))


def kept_shares(levels: NDArray[np.integer], recipe: FracMinHashRecipe) -> NDArray[np.float64]:
    """Return the share of all hashes that samples of these levels contain, (n,), above 0 and at most 1."""
    high, low = np.divmod(levels.astype(np.int64), recipe.per_octave)
    return np.asarray((recipe.per_octave + low) * 2.0 ** (high + recipe.lowest - 64))


def shared_hashes(a: FracMinHash, b: FracMinHash) -> int:
    """Count the hashes that two samples share, below the lower of their limits; raise RecipeMismatch."""
    require_same_recipe(a.recipe, b.recipe)
    return int(np.intersect1d(a.hashes, b.hashes, assume_unique=True).size)
