"""Texts signed under the recipes that are studied: plain term frequency, and the default's weighting."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from app.core.recipe import DEFAULT_FINGERPRINT, FINGERPRINT_RECIPES, FingerprintRecipe
from app.core.signatures.simhash import simhash
from app.core.text.content import content_from_text
from app.core.text.normal_form import normalise
from bench.data.hard_set import Version
from bench.harness.f1_curves import Numbers, Words

WIDEST = 256
SIZES = (64, 128, 256)


@dataclass(frozen=True, slots=True)
class SignedTexts:
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
    fingerprints = [simhash(normal, recipe) for recipe in recipes]
    bits = [
        bytes(recipe.bits // 8) if fingerprint is None else fingerprint.bits
        for fingerprint, recipe in zip(fingerprints, recipes, strict=True)
    ]
    return np.frombuffer(b"".join(bits), dtype=np.uint64)


def sign_all(versions: Iterable[Version], bits: int = WIDEST) -> SignedTexts:
    """Every text under every studied recipe."""
    recipes = studied_recipes(bits)
    signed: list[Words] = []
    numbers: list[tuple[int, int]] = []
    for version in versions:
        numbers.append((version.work, version.book))
        signed.append(sign(version.text, *recipes.values()))
    works, books = np.array(numbers, dtype=np.int64).T
    words = map(np.ascontiguousarray, np.split(np.stack(signed), len(recipes), axis=1))
    return SignedTexts(dict(zip(recipes, words, strict=True)), works, books)
