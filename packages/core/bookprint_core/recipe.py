"""Recipes: all choices that decide the bits of a signature, under a name that never changes meaning.

A name such as `gap-simhash128-v1` fixes normaliser, features, weights, sizes and seeds. It is stored with
every signature; signatures of two recipes are never compared. A changed value requires a recipe with a new
name, new golden vectors and a reindex.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeVar

from bookprint_core.errors import UnknownRecipe

ALPHABETIC, DENSE, SYLLABIC, UNSPACED = range(4)
"""Kinds of script: alphabets and abjads; Han, Kana and similar; Hangul; Thai, Lao, Khmer and similar."""


GramLengths = tuple[int, int, int, int]
"""Code points of an n-gram, 1 to 6, for each kind of script of its first code point."""


@dataclass(frozen=True, slots=True)
class FingerprintRecipe:
    """A simhash of character n-grams; `tf` is the recipe of Vladimir et al. (2015, section 4.1)."""

    name: str
    bits: int  # 64 to 256, a multiple of 32
    weighting: Literal["gap", "tf"]
    lengths: GramLengths
    window: int  # Δ: largest distance of a near repeat from the previous occurrence, in code points
    min_count: int  # rarer n-grams have no weight
    min_features: int  # a text with fewer non-zero weights has no fingerprint
    identifier_code: int  # 0 to 255; names the recipe in a `bp1:` identifier


@dataclass(frozen=True, slots=True)
class MinHashRecipe:
    """A MinHash of word shingles, equal bit for bit to datasketch 2 given the same 32-bit hashes."""

    name: str
    permutations: int
    seed: int
    scheme: Literal["affine32"]
    shingle_weight: int  # a shingle is the shortest run of tokens with this total weight
    word_weight: int
    character_weight: int  # of one code point of an unspaced script, dense scripts included


@dataclass(frozen=True, slots=True)
class PageRecipe:
    """A one-permutation MinHash of the character n-grams of each page, and the page's length."""

    name: str
    bins: int
    lengths: GramLengths
    window_weight: int  # total weight of the tokens of a window, in a book without pages
    word_weight: int
    character_weight: int  # as in the MinHash recipe


def folded_name(name: str) -> str:
    """Return the name of the recipe that differs only in the folded normal form (`NormalText.folded`).

    >>> folded_name("gap-simhash128-v1"), plain_name("gap-simhash128-folded-v1")
    ('gap-simhash128-folded-v1', 'gap-simhash128-v1')
    """
    return name.replace("-v", "-folded-v")


def plain_name(name: str) -> str:
    """Return the name of the recipe for the plain normal form; a plain name is returned unchanged."""
    return name.replace("-folded-v", "-v")


_GAP = FingerprintRecipe(
    name="gap-simhash128-v1",
    bits=128,
    weighting="gap",
    lengths=(4, 2, 2, 4),
    window=1000,
    min_count=3,
    min_features=32,
    identifier_code=1,
)

_TF = FingerprintRecipe(
    name="tf-simhash128-v1",
    bits=128,
    weighting="tf",
    lengths=(4, 2, 2, 4),
    window=500,
    min_count=1,
    min_features=16,
    identifier_code=2,
)

_WORD5 = MinHashRecipe(
    name="word5-minhash128-v1",
    permutations=128,
    seed=1,
    scheme="affine32",
    shingle_weight=40,
    word_weight=8,
    character_weight=5,
)

_CHAR6 = PageRecipe(
    name="char6-page128-v2",
    bins=128,
    lengths=(6, 4, 4, 6),
    window_weight=2400,
    word_weight=8,
    character_weight=5,
)


@dataclass(frozen=True, slots=True)
class FracMinHashRecipe:
    """A FracMinHash of runs of folded letters, with the largest limit that `most` allows.

    The limit at a level is (per_octave + level mod per_octave) · 2^(level div per_octave + lowest).
    """

    name: str
    most: int  # hashes of a sample at most
    per_octave: int  # limits per octave, a power of two
    lowest: int  # exponent of the limits at the first levels
    top_level: int  # of a sample with all hashes, or nearly all
    gram_weight: int = 360  # a gram is the shortest run of symbols with this total weight
    letter_weight: int = 18  # the smallest weight; 20 letters make a gram
    arabic_weight: int = 20  # 18 Arabic letters make a gram
    dense_weight: int = 45  # 8 characters of Han, Kana, Hangul or similar make a gram

    @property
    def mean_kept(self) -> float:
        """Mean number of hashes in the sample of a long book, given the steps between limits."""
        return self.most * (2 * self.per_octave + 1) / (2 * self.per_octave + 2)


_CHAR20 = FracMinHashRecipe("char20-sample256-v2", 256, per_octave=8, lowest=29, top_level=254)

MD5_TEXT, TEXTPROFILE_MD5 = "md5-text", "textprofile-md5-v1"
DIGESTS = (MD5_TEXT, TEXTPROFILE_MD5)
"""Recipes of digests, which have no sizes or seeds to choose."""

IDENTIFIER = "identifier-v1"
"""Recipe of the data beside the fingerprint in an identifier, for a book known only by its identifier."""

VECTORS = "tfidf-simhash1024-v1"
"""Recipe of vectors; a file of this name contains its learnt weights."""

DEFAULT_FINGERPRINT = _GAP.name
DEFAULT_MINHASH = _WORD5.name
DEFAULT_SAMPLE = _CHAR20.name
DEFAULT_PAGES = _CHAR6.name

_PLAIN = (_GAP, _TF)
_FOLDED = tuple(
    replace(recipe, name=folded_name(recipe.name), identifier_code=recipe.identifier_code + 2)
    for recipe in _PLAIN
)
PRESENT_RECIPES = (
    *(DEFAULT_FINGERPRINT, folded_name(DEFAULT_FINGERPRINT), DEFAULT_MINHASH, DEFAULT_SAMPLE, DEFAULT_PAGES),
    *(IDENTIFIER, VECTORS, *DIGESTS),
)
"""Recipes of all stored signatures; a book with a signature of another recipe must be signed anew."""

FINGERPRINT_RECIPES: Mapping[str, FingerprintRecipe] = MappingProxyType(
    {recipe.name: recipe for recipe in (*_PLAIN, *_FOLDED)}
)
MINHASH_RECIPES: Mapping[str, MinHashRecipe] = MappingProxyType({_WORD5.name: _WORD5})
SAMPLE_RECIPES: Mapping[str, FracMinHashRecipe] = MappingProxyType({_CHAR20.name: _CHAR20})
PAGE_RECIPES: Mapping[str, PageRecipe] = MappingProxyType({_CHAR6.name: _CHAR6})


_Recipe = TypeVar("_Recipe")


def _named(recipes: Mapping[str, _Recipe], name: str, kind: str) -> _Recipe:
    try:
        return recipes[name]
    except KeyError:
        known = ", ".join(recipes)
        raise UnknownRecipe(f"No {kind} recipe is called {name!r}. Known: {known}.", field="recipe") from None


def fingerprint_recipe(name: str) -> FingerprintRecipe:
    """Return the fingerprint recipe of this name; raise UnknownRecipe."""
    return _named(FINGERPRINT_RECIPES, name, "fingerprint")


def minhash_recipe(name: str) -> MinHashRecipe:
    """Return the MinHash recipe of this name; raise UnknownRecipe."""
    return _named(MINHASH_RECIPES, name, "MinHash")


def sample_recipe(name: str) -> FracMinHashRecipe:
    """Return the sample recipe of this name; raise UnknownRecipe."""
    return _named(SAMPLE_RECIPES, name, "sample")


def page_recipe(name: str) -> PageRecipe:
    """Return the page recipe of this name; raise UnknownRecipe."""
    return _named(PAGE_RECIPES, name, "page")
