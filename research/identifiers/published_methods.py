"""Methods of publications and of web crawlers: digests, and cosines of letter 3-grams."""

from collections import Counter
from functools import cache
from hashlib import md5

import numpy as np

from bench.harness.corpus import CorpusBook
from bookprint_core.signatures.digests import md5_text, textprofile_md5
from research.cosine.cosine_samples import news_folder, news_texts
from research.cosine.letter_grams import SIMHASH_BITS, Rows, gram_counts, unit, word_simhash
from research.cosine.reference_strings import VALUE_BYTES, Reference, rarest
from research.identifiers.method import BitDistance, CosineOfVectors, EqualKeys, Vector
from research.identifiers.own_methods import normal_form

REFERENCE_GRAMS, PARTS = 1_000, 60
"""Numbers of 3-grams and of parts of the reference string."""
LOOKED_AT = 100_000
"""Number of first characters that determine the script of a book."""
MIDDLE = (0.05, 0.95)
"""Lowest and highest rank by frequency, as shares, of terms of middle frequency."""


def text_digest(name: str) -> EqualKeys:
    """Return the method of the text's MD5."""
    return EqualKeys(name, lambda book: md5_text(book.text))


def profile_digest(name: str) -> EqualKeys:
    """Return the method of Nutch's text profile."""
    return EqualKeys(name, lambda book: textprofile_md5(book.text))


def middle_terms_digest(name: str) -> EqualKeys:
    """Return the method of the MD5 of terms of middle frequency."""
    return EqualKeys(name, middle_terms_md5)


def middle_terms_md5(book: CorpusBook) -> bytes | None:
    """Return the MD5 of the terms without the most frequent and the rarest, in order; 16 bytes.

    Carpenter (2011) mentions the method without ranks; equal frequencies are in alphabetical order.
    """
    counts = Counter(str(normal_form(book)).split())
    ranked = sorted(counts, key=lambda term: (-counts[term], term))
    first, last = (round(share * len(ranked)) for share in MIDDLE)
    kept = "\n".join(sorted(ranked[first:last]))
    return md5(kept.encode(), usedforsecurity=False).digest() if kept else None


def multi_reference_cosine(name: str) -> CosineOfVectors:
    """Return the method of cosines with parts of a reference string of the rarest 3-grams in News20."""

    def sign(book: CorpusBook) -> Vector | None:
        counts = _letter_grams(book)
        return None if counts is None else _reference().signatures(unit(counts).T, PARTS)[0]

    return CosineOfVectors(name, sign, PARTS * VALUE_BYTES)


def simhash_of_words(name: str) -> BitDistance:
    """Return the method of the simhash of words of a to z."""

    def sign(book: CorpusBook) -> bytes | None:
        return np.packbits(word_simhash(book.text) > 0).tobytes() if is_latin(book.text) else None

    return BitDistance(name, SIMHASH_BITS, sign, most=None)


def _letter_grams(book: CorpusBook) -> Rows | None:
    """Count the 3-grams, (1, 19,683); None for a book that is not in Latin script."""
    return gram_counts([book.text]) if is_latin(book.text) else None


@cache
def _reference() -> Reference:
    counts = gram_counts(news_texts(news_folder())[0])
    return Reference(f"rarest {REFERENCE_GRAMS}", rarest(counts, REFERENCE_GRAMS))


def is_latin(text: str) -> bool:
    """Return whether at least half of the letters at the start of a text are a to z.

    >>> is_latin("Élégies"), is_latin("Стихи, vol. 1")
    (True, False)
    """
    letters = [each for each in text[:LOOKED_AT].lower() if each.isalpha()]
    return 2 * sum("a" <= each <= "z" for each in letters) >= len(letters) > 0
