"""F1 of a fingerprint as a finder of near-duplicates, for every Hamming distance d.

Every text is a query against all others. At d, a query finds the texts at most d bits away; its precision is
the share of those that are versions of it, its recall the share of its versions that it finds, its F1 their
harmonic mean (0 where it finds none). The curve is the mean over queries that have a version to find.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.recipe import DEFAULT_FINGERPRINT, FINGERPRINT_RECIPES, FingerprintRecipe
from app.core.signatures.simhash import simhash
from app.core.text.content import content_from_text
from app.core.text.normal_form import normalise
from bench.data.hard_set import Version

WIDEST = 256
SIZES = (64, 128, 256)
Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HasSignatures:
    """A set of texts, signed; a shorter fingerprint is the beginning of the longest."""

    words: Mapping[str, Words]  # by weighting; (texts, bits / 64)
    works: Numbers
    books: Numbers

    def fingerprints(self, weighting: str, bits: int) -> Words:
        """The fingerprints of this many bits, (texts, bits / 64)."""
        return np.ascontiguousarray(self.words[weighting][:, : bits // 64])


def studied_recipes(bits: int = WIDEST) -> dict[str, FingerprintRecipe]:
    """Plain term frequency and the default's weighting, at this size."""
    return {
        "tf": replace(FINGERPRINT_RECIPES["tf-simhash128-v1"], bits=bits),
        "gap": replace(FINGERPRINT_RECIPES[DEFAULT_FINGERPRINT], bits=bits),
    }


def sign(text: str, *recipes: FingerprintRecipe) -> Words:
    """The fingerprint under each recipe as 64-bit words, one after the other; zeros where there is none."""
    normal = normalise(content_from_text(text))
    found = [simhash(normal, recipe) for recipe in recipes]
    bits = [
        bytes(recipe.bits // 8) if one is None else one.bits
        for one, recipe in zip(found, recipes, strict=True)
    ]
    return np.frombuffer(b"".join(bits), dtype=np.uint64)


def sign_all(versions: Iterable[Version], bits: int = WIDEST) -> HasSignatures:
    """Every text under every studied recipe."""
    recipes = studied_recipes(bits)
    signed: list[Words] = []
    numbers: list[tuple[int, int]] = []
    for version in versions:
        numbers.append((version.work, version.book))
        signed.append(sign(version.text, *recipes.values()))
    works, books = np.array(numbers, dtype=np.int64).T
    words = map(np.ascontiguousarray, np.split(np.stack(signed), len(recipes), axis=1))
    return HasSignatures(dict(zip(recipes, words, strict=True)), works, books)


def distances_from(words: Words, row: int) -> Numbers:
    """Hamming distances of one row to every row."""
    distances: Numbers = np.bitwise_count(words ^ words[row]).sum(axis=1, dtype=np.int64)
    return distances


@dataclass(frozen=True, slots=True)
class Curve:
    """Means over all queries, by d: arrays of bits + 1 values from 0 to 1."""

    f1: NDArray[np.float64]
    precision: NDArray[np.float64]  # an answer without texts counts as precise
    recall: NDArray[np.float64]
    pairs_f1: NDArray[np.float64]  # over all pairs in one pot

    @property
    def best(self) -> int:
        """The d of the highest F1."""
        return int(np.argmax(self.f1))


def curve(words: Words, books: Numbers) -> Curve:
    """The curve of fingerprints (texts, words) of which those with one number in `books` are versions."""
    bits = words.shape[1] * 64
    found = np.zeros((len(words), bits + 1))
    right = np.zeros((len(words), bits + 1))
    for query in range(len(words)):
        distances = distances_from(words, query)
        others = np.arange(len(words)) != query
        found[query] = np.bincount(distances[others], minlength=bits + 1).cumsum()
        right[query] = np.bincount(distances[others & (books == books[query])], minlength=bits + 1).cumsum()
    return curve_of(found, right, right[:, -1])


def curve_of(
    found: NDArray[np.float64], right: NDArray[np.float64], wanted: NDArray[np.float64] | Numbers
) -> Curve:
    """The curve of answers: by query and d how many texts were found and how many of them rightly, (queries,
    bits + 1) each, and how many versions there were to find, (queries,)."""
    asked = wanted > 0
    found, right, wanted = found[asked], right[asked], wanted[asked, None]
    return Curve(
        f1=(2 * right / (found + wanted)).mean(axis=0),
        precision=np.where(found > 0, right / np.maximum(found, 1), 1.0).mean(axis=0),
        recall=(right / wanted).mean(axis=0),
        pairs_f1=2 * right.sum(axis=0) / (found.sum(axis=0) + wanted.sum()),
    )


@dataclass(frozen=True, slots=True)
class Fitted:
    """A distance chosen on one half of the works, and what it is worth on the other."""

    d: int
    f1: float
    pairs_f1: float


def fit(words: Words, books: Numbers, works: Numbers, seed: int) -> list[Fitted]:
    """Both ways round: d fitted on each half of the works, F1 on the other."""
    names = np.unique(works)
    first = np.isin(works, np.random.default_rng(seed).permutation(names)[: names.size // 2])
    a, b = (curve(words[half], books[half]) for half in (first, ~first))
    return [
        Fitted(fitted.best, float(other.f1[fitted.best]), float(other.pairs_f1[fitted.best]))
        for fitted, other in ((a, b), (b, a))
    ]
