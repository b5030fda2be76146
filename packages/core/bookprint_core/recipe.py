"""Recipes: all choices that decide the bits of a signature, frozen under a name that never changes meaning.

A name such as `gap-simhash128-v1` stands for normaliser, features, weights, sizes and seeds together. It is
stored with every signature, and signatures of two recipes are never compared. To change a value is to add
a recipe with a new name, new golden vectors and a reindex.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeVar

from bookprint_core.errors import UnknownRecipe

ALPHABETIC, DENSE, SYLLABIC, UNSPACED = range(4)
"""Kinds of script: alphabets and abjads; Han, Kana and their like; Hangul; Thai, Lao, Khmer and so on."""


GramLengths = tuple[int, int, int, int]
"""Code points of an n-gram, 1 to 6, by the kind of script of its first code point."""


@dataclass(frozen=True, slots=True)
class FingerprintRecipe:
    """A simhash of character n-grams; `tf` is the recipe of Vladimir et al. (2015, section 4.1)."""

    name: str
    bits: int  # 64 to 256, a multiple of 32
    weighting: Literal["gap", "tf"]
    lengths: GramLengths
    window: int  # Δ in code points: an occurrence so close to the previous one is a near repeat
    min_count: int  # n-grams that are rarer have no weight
    min_features: int  # with fewer weights that are not zero there is no fingerprint
    identifier_code: int  # 0 to 255, of the recipe in a `bp1:` identifier
    normaliser: str = "nfkc-lower-v1"


@dataclass(frozen=True, slots=True)
class MinHashRecipe:
    """A MinHash of word shingles, equal bit for bit to datasketch 2 given the same 32-bit hashes."""

    name: str
    permutations: int
    seed: int
    scheme: Literal["affine32"]
    shingle_weight: int  # a shingle is the shortest run of tokens that weighs this much
    word_weight: int
    character_weight: int  # of one code point of an unspaced script, dense scripts included
    normaliser: str = "nfkc-lower-v1"


@dataclass(frozen=True, slots=True)
class PageRecipe:
    """A one-permutation MinHash of character n-grams for each page, and the page's length."""

    name: str
    bins: int
    lengths: GramLengths
    window_weight: int  # tokens of a window, by weight, in a book without pages
    word_weight: int
    character_weight: int  # as in the MinHash recipe
    normaliser: str = "nfkc-lower-v1"


def folded_name(name: str) -> str:
    """The recipe of the folded normal form (`NormalText.folded`) that is in all else the named one.

    >>> folded_name("gap-simhash128-v1"), plain_name("gap-simhash128-folded-v1")
    ('gap-simhash128-folded-v1', 'gap-simhash128-v1')
    """
    return name.replace("-v", "-folded-v")


def plain_name(name: str) -> str:
    """The recipe of the plain normal form that is in all else the named one; itself where it is that."""
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
    """A FracMinHash of runs of folded letters, whose limit is the largest that keeps few enough hashes.

    The limit at a level is (per_octave + level mod per_octave) · 2^(level div per_octave + lowest).
    """

    name: str
    most: int  # hashes at most
    per_octave: int  # limits in each octave, a power of two
    lowest: int  # exponent of the limits at the first levels
    top_level: int  # of a sample that keeps every hash, or nearly so
    gram_weight: int = 360  # a gram is the shortest run of symbols that weighs this much: 20 letters,
    letter_weight: int = 18  # the least of the weights
    arabic_weight: int = 20  # 18 Arabic letters,
    dense_weight: int = 45  # or 8 of Han, Kana, Hangul and the like

    @property
    def mean_kept(self) -> float:
        """Hashes that a long book's sample keeps on average: limits lie one part of 2 · per_octave apart."""
        return self.most * (2 * self.per_octave + 1) / (2 * self.per_octave + 2)


_CHAR20 = FracMinHashRecipe("char20-sample256-v2", 256, per_octave=8, lowest=29, top_level=254)

MD5_TEXT, TEXTPROFILE_MD5 = "md5-text", "textprofile-md5-v1"
DIGESTS = (MD5_TEXT, TEXTPROFILE_MD5)
"""The recipes of digests, which have no sizes or seeds to choose."""

IDENTIFIER = "identifier-v1"
"""The recipe of what an identifier says beside the fingerprint, where a book came as one alone."""

VECTORS = "tfidf-simhash1024-v1"
"""The recipe of vectors; its learnt weights lie in a file of that name."""

DEFAULT_FINGERPRINT = _GAP.name
DEFAULT_MINHASH = _WORD5.name
DEFAULT_SAMPLE = _CHAR20.name
DEFAULT_PAGES = _CHAR6.name

_PLAIN = (_GAP, _TF)
_FOLDED = tuple(
    replace(
        recipe,
        name=folded_name(recipe.name),
        identifier_code=recipe.identifier_code + 2,
        normaliser="nfkc-lower-folded-v1",
    )
    for recipe in _PLAIN
)
PRESENT_RECIPES = (
    *(DEFAULT_FINGERPRINT, folded_name(DEFAULT_FINGERPRINT), DEFAULT_MINHASH, DEFAULT_SAMPLE, DEFAULT_PAGES),
    *(IDENTIFIER, VECTORS, *DIGESTS),
)
"""The recipes of all signatures that are stored; a book with one of another recipe is to be signed anew."""

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
    """The fingerprint recipe of that name; raises UnknownRecipe."""
    return _named(FINGERPRINT_RECIPES, name, "fingerprint")


def minhash_recipe(name: str) -> MinHashRecipe:
    """The MinHash recipe of that name; raises UnknownRecipe."""
    return _named(MINHASH_RECIPES, name, "MinHash")


def sample_recipe(name: str) -> FracMinHashRecipe:
    """The sample recipe of that name; raises UnknownRecipe."""
    return _named(SAMPLE_RECIPES, name, "sample")


def page_recipe(name: str) -> PageRecipe:
    """The page recipe of that name; raises UnknownRecipe."""
    return _named(PAGE_RECIPES, name, "page")
