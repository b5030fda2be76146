"""Word shingles and character n-grams of pages, and their MinHash (Spasojević and Poncin 2011).

Section III-B: each feature is a 64-bit hash. Section III-A, formula 1: the share of equal MinHash values
estimates the Jaccard similarity. The paper stores 100 values of a book and 34 of a page (section III-D).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bookprint_core.recipe import DEFAULT_MINHASH, minhash_recipe
from bookprint_core.signatures import kernels
from bookprint_core.signatures.minhash import permutations
from bookprint_core.text.content import content_from_pages
from bookprint_core.text.normal_form import SPACE, NormalText, normalise

PAGE_VALUES = 34
"""Number of MinHash values per page in the paper."""
VALUE_BYTES = 4
"""Bytes per MinHash value; the paper does not specify them."""

Hashes = NDArray[np.uint64]
Values = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Feature:
    """The kind of elements of a page as a set."""

    unit: Literal["words", "characters"]
    size: int  # consecutive units

    def __str__(self) -> str:
        name = self.unit if self.size > 1 else self.unit.removesuffix("s")
        return f"{self.size} {name}"


WORDS_5 = Feature("words", 5)
"""Feature of the paper."""


def normal_pages(pages: Sequence[str]) -> NormalText:
    """Return the normal form of the pages."""
    return normalise(content_from_pages(pages))


def features(text: NormalText, feature: Feature) -> list[Hashes]:
    """Return the distinct features of each page, ascending; no feature extends over two pages."""
    return [np.unique(hashes) for hashes in occurrences(text, feature)]


def occurrences(text: NormalText, feature: Feature) -> list[Hashes]:
    """Return the features of each page in reading order, with repeats."""
    codes = text.codes[: text.size].astype(np.uint64)
    if feature.unit == "words":
        units, starts = words_of(codes, text.kinds % 2 == 1 if text.kinds.size else None)
    else:
        units, starts = codes, np.arange(codes.size)
    hashes = in_a_row(units, feature.size)
    firsts = np.searchsorted(starts, text.page_starts)
    ends = np.searchsorted(starts, text.page_ends) - feature.size + 1
    return [hashes[first : max(first, end)] for first, end in zip(firsts, ends, strict=True)]


def words_of(codes: Hashes, single: NDArray[np.bool_] | None = None) -> tuple[Hashes, NDArray[np.intp]]:
    """Return hash and start of each word of a text, (words,) each; `single` marks one-character words."""
    spaces = codes == SPACE
    first = np.append(True, spaces[:-1])[: codes.size] & ~spaces
    if single is not None:
        first |= (single | np.append(False, single[:-1])[: codes.size]) & ~spaces
    starts = np.flatnonzero(first)
    if not starts.size:
        return np.zeros(0, dtype=np.uint64), starts
    every = np.arange(codes.size, dtype=np.uint64)
    places = every - np.maximum.accumulate(np.where(first, every, 0))
    letters = mixed(codes + (places << np.uint64(32)))
    letters[spaces] = 0
    return np.add.reduceat(letters, starts), starts


def in_a_row(units: Hashes, size: int) -> Hashes:
    """Return a hash of every `size` consecutive units, (units - size + 1,)."""
    count = units.size - size + 1
    if count <= 0:
        return np.zeros(0, dtype=np.uint64)
    total = np.zeros(count, dtype=np.uint64)
    for place in range(size):
        total = total * _BASE + units[place : place + count]
    return mixed(total)


def mixed(values: Hashes) -> Hashes:
    """Apply the 64-bit finaliser of MurmurHash3 to each value."""
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return values ^ (values >> np.uint64(33))


def jaccard_of(left: Hashes, right: Hashes) -> float:
    """Return the Jaccard similarity of two sets of features, 0 to 1; 0 for two empty sets."""
    shared = np.intersect1d(left, right, assume_unique=True).size
    return shared / max(left.size + right.size - shared, 1)


def minhash_values(pages: Sequence[Hashes], count: int) -> Values:
    """Return `count` MinHash values per page, (pages, count); all bits set for a page without features."""
    a, b = permutations(replace(minhash_recipe(DEFAULT_MINHASH), permutations=-(-count // 4) * 4))
    values = np.full((len(pages), a.size), 0xFFFFFFFF, dtype=np.uint32)
    for hashes, row in zip(pages, values, strict=True):
        kernels.minhash(hashes, a, b, row)
    return np.ascontiguousarray(values[:, :count])


def equal_shares(left: Values | Bytes, right: Values | Bytes) -> NDArray[np.float64]:
    """Return the share of equal values of every pair of pages, (left, right): the estimate of formula 1."""
    return np.asarray((left[:, None, :] == right[None, :, :]).mean(axis=2))
