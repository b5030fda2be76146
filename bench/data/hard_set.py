"""Texts with known versions, made from real books: the hard set; signed under the recipes that are studied.

It takes chunks of novels as books, so that two of them share author, names and style but no text. A query
must find its own versions and nothing else, not even the next chunk of its own novel. As in Vladimir et al.
("A preliminary study on similarity-preserving digital book identifiers", section 3.2), each book gets 1 to 15
derivatives with 0 to 5 % OCR errors. 0 to 8 % of the sentences are removed or inserted from other books; the
paper says "a certain amount".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.synthesis.noise import corrupt, edit_sentences
from bench.harness.corpus import CorpusBook
from bench.harness.f1_curves import Numbers, Words
from bookprint_core.recipe import DEFAULT_FINGERPRINT, FINGERPRINT_RECIPES, FingerprintRecipe
from bookprint_core.signatures.simhash import simhash
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise

CHUNK = 80_000
"""Characters."""
COPIES = (1, 15)
ERROR_RATE = 0.05
EDITED = 0.08


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a set."""

    work: int  # chunks of one novel have one work
    book: int  # versions of one chunk have one book
    language: str
    text: str


def one_per_work(books: Sequence[CorpusBook], at_least: int = CHUNK) -> list[CorpusBook]:
    """The longest book of each work, where it has so many characters; OCR output (`cis-`) is left out."""
    longest: dict[str, CorpusBook] = {}
    for book in books:
        known = longest.get(book.work)
        if len(book.text) >= at_least and not book.id.startswith("cis-"):
            longest[book.work] = book if known is None or len(book.text) > len(known.text) else known
    return [longest[work] for work in sorted(longest)]


def hard_set(books: Sequence[CorpusBook], chunks_per_work: int, seed: int) -> Iterator[Version]:
    """Chunks of these books, one book of each work; a chunk is followed by its derivatives."""
    number = 0
    for work, book in enumerate(books):
        for chunk in chunks_of(books, work, chunks_per_work, seed):
            for version in chunk:
                yield Version(work, number, book.language, version)
            number += 1


def chunks_of(books: Sequence[CorpusBook], work: int, count: int, seed: int) -> Iterator[Iterator[str]]:
    """Return the texts of each chunk of one book; each is read to its end before the next."""
    rng, text = np.random.default_rng([seed, work]), books[work].text
    for chunk in np.sort(rng.permutation(len(text) // CHUNK)[:count]).tolist():
        yield versions(text[chunk * CHUNK : (chunk + 1) * CHUNK], books, work, rng)


def versions(text: str, books: Sequence[CorpusBook], work: int, rng: np.random.Generator) -> Iterator[str]:
    """The text and its derivatives; the other books, of over 40,000 characters, lend sentences."""
    yield text
    for _ in range(int(rng.integers(COPIES[0], COPIES[1] + 1))):
        share = rng.uniform(0, EDITED)
        other = books[(work + int(rng.integers(1, len(books)))) % len(books)].text
        start = int(rng.integers(0, len(other) - CHUNK // 2))
        edited = edit_sentences(text, share, other[start : start + CHUNK // 2], rng)
        yield corrupt(edited, rng.uniform(0, ERROR_RATE), rng)


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
