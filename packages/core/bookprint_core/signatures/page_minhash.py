"""Page signatures: a one-permutation MinHash of the character n-grams of each page (Li, Owen and Zhang 2012).

The top 7 bits of an n-gram's hash choose one of 128 bins. A bin contains 1 + (h mod 2^16)·255 // 2^16 of its
least hash h, 1 to 255, or 0 if it is empty. A few bits are enough (Li and König 2010). The share of equal
bins among the bins filled in both estimates the Jaccard similarity of two pages. This works even for half a
page under OCR noise. The signature includes the page's length, by which sums over pages are weighted.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import PageSignatures
from bookprint_core.recipe import PageRecipe
from bookprint_core.signatures.shingles import Shingles
from bookprint_core.text.normal_form import NormalText, slice_ends

MAX_LENGTH = 65_535
"""Maximum length stored, in code points; longer pages get this length."""

_LENGTH_BYTES = 2


def page_minhash(text: NormalText, shingles: Shingles, recipe: PageRecipe) -> PageSignatures:
    """Compute the signature of each page, or of each window of words if the pages are not known."""
    from bookprint_core.signatures import kernels

    unit: Literal["page", "window"]
    if text.page_starts.size:
        unit, starts, ends = "page", text.page_starts, text.page_ends
    else:
        unit, starts = "window", shingles.window_starts
        ends = slice_ends(text.codes, text.size, starts)
    values = np.zeros((starts.size, recipe.bins), dtype=np.uint8)
    kernels.one_permutation_minhash(text.codes, text.kinds, recipe.lengths, starts, ends, values)
    lengths = np.minimum(ends - starts, MAX_LENGTH).astype(np.uint16)
    return PageSignatures(recipe.name, unit, values, lengths)


def to_records(pages: PageSignatures) -> bytes:
    """Pack the signatures as stored and sent: the bins and the length of each page, little-endian."""
    lengths = pages.lengths.astype("<u2").view(np.uint8).reshape(-1, _LENGTH_BYTES)
    return np.hstack([pages.values, lengths]).tobytes()


def from_records(recipe: PageRecipe, unit: Literal["page", "window"], data: bytes) -> PageSignatures:
    """Unpack the records of `to_records`; the length of `data` must be a multiple of `record_bytes`."""
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, record_bytes(recipe))
    lengths: NDArray[np.uint16] = np.ascontiguousarray(records[:, recipe.bins :]).view("<u2").ravel()
    return PageSignatures(
        recipe.name, unit, np.ascontiguousarray(records[:, : recipe.bins]), lengths.astype(np.uint16)
    )


def record_bytes(recipe: PageRecipe) -> int:
    """Return the bytes per page in `to_records`."""
    return recipe.bins + _LENGTH_BYTES
