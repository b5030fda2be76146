"""Page signatures: a one-permutation MinHash of the character n-grams of each page (Li, Owen and Zhang 2012).

The top 7 bits of an n-gram's hash choose one of 128 bins. A bin holds 1 + (h mod 2^16)·255 // 2^16 of the
least hash h that fell into it, 1 to 255, or 0 if none did. The share of equal bins among those not empty in
both estimates how much two pages share, also for half a page under OCR noise, where word shingles and
simhash fail.
"""

import numpy as np

from app.core.backend import kernels
from app.core.model import PageSignatures
from app.core.recipe import PageRecipe
from app.core.shingles import Shingles
from app.core.text import NormalText, slice_ends


def sign_pages(text: NormalText, found: Shingles, recipe: PageRecipe) -> PageSignatures:
    """The signature of each page, or of each window of words for a book whose pages are not known."""
    if text.page_starts.size:
        unit, starts, ends = "page", text.page_starts, text.page_ends
    else:
        unit, starts = "window", found.window_starts
        ends = slice_ends(text.codes, text.size, starts)
    values = np.zeros((starts.size, recipe.bins), dtype=np.uint8)
    kernels().sign_pages(text.codes, text.kinds, recipe.lengths.as_tuple(), starts, ends, values)
    return PageSignatures(recipe.name, "page" if unit == "page" else "window", values)
