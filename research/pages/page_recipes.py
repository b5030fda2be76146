"""Signatures of pages under one interface: those of Spasojević and Poncin (2011), ours, and others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bookprint_core import recipe as recipes
from bookprint_core.relations import kernels as page_kernels
from bookprint_core.relations.alignment import LEAST_BINS
from bookprint_core.signatures.page_minhash import page_minhash, record_bytes
from bookprint_core.signatures.shingles import Shingles
from bookprint_core.signatures.simhash import simhash
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import NormalText, normalise
from research.pages.page_grams import (
    PAGE_VALUES,
    VALUE_BYTES,
    WORDS_5,
    Bytes,
    Feature,
    Hashes,
    Values,
    equal_shares,
    minhash_values,
    occurrences,
)

Signatures = Bytes | Values
"""Matrix with one row per page."""

_SIMHASH_BITS = 256
_NO_WINDOWS = Shingles(np.zeros(0, dtype=np.uint64), 0, 0, np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class SignatureRecipe:
    """A method to sign pages and to compare them."""

    name: str
    page_bytes: int
    sign: Callable[[NormalText], Signatures]
    similarities: Callable[[Signatures, Signatures], NDArray[np.float64]]  # of every pair, 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class PagePairs:
    """Similarities of pages of two copies of one book, by the text that the pages share."""

    equal: NDArray[np.float64]
    half: NDArray[np.float64]  # the pages share half of their text
    strangers: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence["PagePairs"]) -> "PagePairs":
        """Return the similarities of several books together."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))


def page_pairs(recipe: SignatureRecipe, left: NormalText, right: NormalText, halves: NormalText) -> PagePairs:
    """Compare the pages of two copies, and of a third copy shifted by half a page."""
    signed = recipe.sign(left)
    full = recipe.similarities(signed, recipe.sign(right))
    shifted = recipe.similarities(signed, recipe.sign(halves))
    return PagePairs(full.diagonal(), shifted.diagonal(), full[~np.eye(len(full), dtype=np.bool_)])


def minhash_of(feature: Feature, count: int, value_bytes: int = VALUE_BYTES) -> SignatureRecipe:
    """Return the recipe of `count` MinHash values of a page's features, of one or four bytes each."""

    def sign(text: NormalText) -> Signatures:
        values = minhash_values(occurrences(text, feature), count)
        return values if value_bytes == VALUE_BYTES else values.astype(np.uint8)

    return SignatureRecipe(
        f"{count} × {8 * value_bytes} bits of {feature}", count * value_bytes, sign, equal_shares
    )


def one_permutation_of(feature: Feature, bins: int) -> SignatureRecipe:
    """Return the recipe of one permutation of a page's features in `bins` (a power of two) bins of 8 bits."""

    def sign(text: NormalText) -> Signatures:
        return np.array([one_permutation(page, bins) for page in occurrences(text, feature)])

    return SignatureRecipe(f"one permutation of {feature}, {bins} × 8 bits", bins, sign, filled_shares)


def one_permutation(hashes: Hashes, bins: int) -> Bytes:
    """Return the signature of one page, (bins,): 1 to 255 from the least hash in a bin, 0 if it is empty."""
    top = np.uint64(64 - (bins.bit_length() - 1))
    least = np.full(bins, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, (hashes >> top).astype(np.intp), hashes)
    kept = 1 + (least & np.uint64(0xFFFF)) * np.uint64(255) // np.uint64(1 << 16)
    return np.where(least == np.iinfo(np.uint64).max, 0, kept).astype(np.uint8)


def filled_shares(left: Signatures, right: Signatures) -> NDArray[np.float64]:
    """Return the share of equal bins among those filled on both sides, of every pair of pages."""
    filled = (left[:, None, :] != 0) & (right[None, :, :] != 0)
    equal = filled & (left[:, None, :] == right[None, :, :])
    return np.asarray(equal.sum(axis=2) / np.maximum(filled.sum(axis=2), 1))


def _sign_bookprint(text: NormalText) -> Signatures:
    recipe = recipes.page_recipe(recipes.DEFAULT_PAGES)
    return page_minhash(text, _NO_WINDOWS, recipe).values


def _similarities_bookprint(left: Signatures, right: Signatures) -> NDArray[np.float64]:
    out = np.empty((len(left), len(right)), dtype=np.uint8)
    page_kernels.page_similarities(left.astype(np.uint8), right.astype(np.uint8), LEAST_BINS, out)
    return out / 255


def _sign_simhash(text: NormalText) -> Signatures:
    recipe = replace(recipes.fingerprint_recipe("tf-simhash128-v1"), bits=_SIMHASH_BITS)
    rows = np.zeros((text.page_starts.size, _SIMHASH_BITS // 8), dtype=np.uint8)
    for row, start, end in zip(rows, text.page_starts.tolist(), text.page_ends.tolist(), strict=True):
        page = text.codes[start:end].astype("<u4").tobytes().decode("utf-32-le")
        signature = simhash(normalise(content_from_text(page)), recipe)
        if signature is not None:
            row[:] = np.frombuffer(signature.bits, dtype=np.uint8)
    return rows


def _similarities_simhash(left: Signatures, right: Signatures) -> NDArray[np.float64]:
    return np.asarray(1 - np.bitwise_count(left[:, None, :] ^ right[None, :, :]).sum(axis=2) / _SIMHASH_BITS)


BOOKPRINT = SignatureRecipe(
    recipes.DEFAULT_PAGES,
    record_bytes(recipes.page_recipe(recipes.DEFAULT_PAGES)),
    _sign_bookprint,
    _similarities_bookprint,
)
SIMHASH = SignatureRecipe(
    f"simhash of {_SIMHASH_BITS} bits", _SIMHASH_BITS // 8, _sign_simhash, _similarities_simhash
)
PAPER = minhash_of(WORDS_5, PAGE_VALUES)
"""Signature of a page in section III-D of the paper."""
