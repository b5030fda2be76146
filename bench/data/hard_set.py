"""The hard set: texts with known versions, made from real books, signed with the studied recipes.

A book is a chunk of a novel, so two books may share author, names and style but no text. A query must find
only its own versions, not even the next chunk of its novel. As in Vladimir et al. ("A preliminary study on
similarity-preserving digital book identifiers", section 3.2), a book has 1 to 15 derivatives with 0 to 5 %
OCR errors. 0 to 8 % of the sentences are removed, or inserted from other books; the paper says "a certain
amount".
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
"""Characters of a chunk."""
COPIES = (1, 15)
ERROR_RATE = 0.05
EDITED = 0.08


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a set."""

    work: int  # number of the novel
    book: int  # number of the chunk
    language: str
    text: str


def one_per_work(books: Sequence[CorpusBook], at_least: int = CHUNK) -> list[CorpusBook]:
    """Return the longest book of each work of at least this many characters, without OCR output (`cis-`)."""
    longest: dict[str, CorpusBook] = {}
    for book in books:
        known = longest.get(book.work)
        if len(book.text) >= at_least and not book.id.startswith("cis-"):
            longest[book.work] = book if known is None or len(book.text) > len(known.text) else known
    return [longest[work] for work in sorted(longest)]


def hard_set(books: Sequence[CorpusBook], chunks_per_work: int, seed: int) -> Iterator[Version]:
    """Yield chunks of these books, one book per work; its derivatives follow a chunk."""
    number = 0
    for work, book in enumerate(books):
        for chunk in chunks_of(books, work, chunks_per_work, seed):
            for version in chunk:
                yield Version(work, number, book.language, version)
            number += 1


def chunks_of(books: Sequence[CorpusBook], work: int, count: int, seed: int) -> Iterator[Iterator[str]]:
    """Yield the texts of each chunk of one book; read one chunk to its end before the next."""
    rng, text = np.random.default_rng([seed, work]), books[work].text
    for chunk in np.sort(rng.permutation(len(text) // CHUNK)[:count]).tolist():
        yield versions(text[chunk * CHUNK : (chunk + 1) * CHUNK], books, work, rng)


def versions(text: str, books: Sequence[CorpusBook], work: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the text and its derivatives; other books of over 40,000 characters provide sentences."""
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
    """Signatures of a set of texts; a shorter fingerprint is the beginning of the longest."""

    words: Mapping[str, Words]  # by weighting; (texts, bits / 64)
    works: Numbers
    books: Numbers

    def fingerprints(self, weighting: str, bits: int) -> Words:
        """Return the fingerprints of this many bits, (texts, bits / 64)."""
        return np.ascontiguousarray(self.words[weighting][:, : bits // 64])


def studied_recipes(bits: int = WIDEST) -> dict[str, FingerprintRecipe]:
    """Return the recipes of plain term frequency and of the default's weighting, at this size."""
    return {
        "tf": replace(FINGERPRINT_RECIPES["tf-simhash128-v1"], bits=bits),
        "gap": replace(FINGERPRINT_RECIPES[DEFAULT_FINGERPRINT], bits=bits),
    }


def sign(text: str, *recipes: FingerprintRecipe) -> Words:
    """Return the fingerprints under the recipes as consecutive 64-bit words; zeros for no fingerprint."""
    normal = normalise(content_from_text(text))
    fingerprints = [simhash(normal, recipe) for recipe in recipes]
    bits = [
        bytes(recipe.bits // 8) if fingerprint is None else fingerprint.bits
        for fingerprint, recipe in zip(fingerprints, recipes, strict=True)
    ]
    return np.frombuffer(b"".join(bits), dtype=np.uint64)


def sign_all(versions: Iterable[Version], bits: int = WIDEST) -> SignedTexts:
    """Sign every text under every studied recipe."""
    recipes = studied_recipes(bits)
    signed: list[Words] = []
    numbers: list[tuple[int, int]] = []
    for version in versions:
        numbers.append((version.work, version.book))
        signed.append(sign(version.text, *recipes.values()))
    works, books = np.array(numbers, dtype=np.int64).T
    words = map(np.ascontiguousarray, np.split(np.stack(signed), len(recipes), axis=1))
    return SignedTexts(dict(zip(recipes, words, strict=True)), works, books)
