"""Methods of Bookprint: each signature alone, the identifier, and the rule of lookups."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.services.signing import read_vector_weights
from bench.harness.corpus import CorpusBook
from bookprint_core.matching.identifier_comparison import compare
from bookprint_core.matching.verification import VERIFICATION, are_joined, evidence
from bookprint_core.model import Entry
from bookprint_core.recipe import (
    DEFAULT_FINGERPRINT,
    DEFAULT_MINHASH,
    DEFAULT_PAGES,
    DEFAULT_SAMPLE,
    MinHashRecipe,
    fingerprint_recipe,
    minhash_recipe,
    page_recipe,
    sample_recipe,
)
from bookprint_core.signatures.fracminhash import gram_sample
from bookprint_core.signatures.identifier import Identifier, of_signatures
from bookprint_core.signatures.minhash import minhash
from bookprint_core.signatures.shingles import Shingles, shingles
from bookprint_core.signatures.simhash import simhash
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import NormalText, normalise
from bookprint_core.vectors import SIGNS, book_vector
from research.identifiers.method import BitDistance, EqualValues, PairRule

_LONG_IDENTIFIER_BYTES = 38  # 300 bits


def fingerprint_within(name: str, recipe: str, most: int) -> BitDistance:
    """Return the method of a recipe's fingerprint alone, within `most` bits."""
    of = fingerprint_recipe(recipe)

    def sign(book: CorpusBook) -> bytes | None:
        fingerprint = simhash(normal_form(book), of)
        return None if fingerprint is None else fingerprint.bits

    return BitDistance(name, of.bits, sign, most)


def minhash_values(name: str, values: int) -> EqualValues:
    """Return the method of this many MinHash values, of five-word shingles if the script has words."""
    recipe = replace(minhash_recipe(DEFAULT_MINHASH), permutations=values)

    def sign(book: CorpusBook) -> NDArray[np.uint32] | None:
        signature = minhash(_shingles(normal_form(book), recipe).hashes, recipe)
        return None if signature is None else signature.values

    return EqualValues(name, sign)


def long_identifier(name: str) -> PairRule[Identifier]:
    """Return the method of exchanged identifiers, compared as `bookprint compare` does."""
    return PairRule(
        name,
        sign=lambda book: of_signatures(*_entry(book)),
        bytes_of=lambda _: _LONG_IDENTIFIER_BYTES,
        says_same=lambda one, other: compare(one, other).verdict == "same",
        words="the verdict of `bookprint compare`",
    )


def verified(name: str) -> PairRule[Entry]:
    """Return the rule of lookups without a distance, on fingerprint, sample and places."""

    def sign(book: CorpusBook) -> Entry:
        text = normal_form(book)
        fingerprint = simhash(text, fingerprint_recipe(DEFAULT_FINGERPRINT))
        words = _shingles(text, minhash_recipe(DEFAULT_MINHASH)).token_count
        return Entry(0, fingerprint, None, gram_sample(text, sample_recipe(DEFAULT_SAMPLE)), words)

    return PairRule(
        name,
        sign=sign,
        bytes_of=_entry_bytes,
        says_same=lambda one, other: are_joined(evidence(one, other)),
        words="decisions [38](decisions/0038-letter-samples.md) and [49](decisions/0049-places.md)",
    )


def fingerprint_alone(name: str) -> BitDistance:
    """Return the method of the default fingerprint, within the distance that suffices without a sample."""
    return fingerprint_within(name, DEFAULT_FINGERPRINT, VERIFICATION.distance_unsampled)


def vector_of_words(name: str) -> BitDistance:
    """Return the method of the vectors of similar books."""
    weights = read_vector_weights()

    def sign(book: CorpusBook) -> bytes | None:
        vector = book_vector(normal_form(book), weights)
        return None if vector is None else vector.tobytes()

    return BitDistance(name, SIGNS, sign, None)


def normal_form(book: CorpusBook) -> NormalText:
    """Return the normal form of a book's text."""
    return normalise(content_from_text(book.text))


def _shingles(text: NormalText, recipe: MinHashRecipe) -> Shingles:
    return shingles(text, recipe, page_recipe(DEFAULT_PAGES))


def _entry(book: CorpusBook) -> tuple[Entry, int]:
    """Return the signatures in the identifier, and the word count of the book."""
    text, recipe = normal_form(book), minhash_recipe(DEFAULT_MINHASH)
    words = _shingles(text, recipe)
    fingerprint = simhash(text, fingerprint_recipe(DEFAULT_FINGERPRINT))
    return Entry(0, fingerprint, minhash(words.hashes, recipe)), words.token_count


def _entry_bytes(entry: Entry) -> int:
    """Return the bytes of fingerprint, sample and places."""
    fingerprint, sample = entry.fingerprint, entry.sample
    size = 0 if fingerprint is None else len(fingerprint.bits)
    return size if sample is None else size + len(sample.packed()) + len(sample.places_to_bytes() or b"")
