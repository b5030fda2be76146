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
"""3-grams of the reference string, and the parts that it is cut into."""
LOOKED_AT = 100_000
"""Characters that tell the script of a book."""
MIDDLE = (0.05, 0.95)
"""Ranks of terms by frequency, as shares, between which a profile of middle-frequency terms keeps them."""


def text_digest(name: str) -> EqualKeys:
    """The MD5 of the text."""
    return EqualKeys(name, lambda book: md5_text(book.text))


def profile_digest(name: str) -> EqualKeys:
    """Nutch's text profile."""
    return EqualKeys(name, lambda book: textprofile_md5(book.text))


def middle_terms_digest(name: str) -> EqualKeys:
    """The MD5 of the terms of middle frequency."""
    return EqualKeys(name, middle_terms_md5)


def middle_terms_md5(book: CorpusBook) -> bytes | None:
    """The MD5 of the terms that are neither the most frequent nor the rarest, in their order; 16 bytes.

    A remark of Carpenter (2011), who gives no ranks; equal frequencies go by the alphabet.
    """
    counts = Counter(str(normal_form(book)).split())
    ranked = sorted(counts, key=lambda term: (-counts[term], term))
    first, last = (round(share * len(ranked)) for share in MIDDLE)
    kept = "\n".join(sorted(ranked[first:last]))
    return md5(kept.encode(), usedforsecurity=False).digest() if kept else None


def multi_reference_cosine(name: str) -> CosineOfVectors:
    """Cosines with the parts of a reference string, of the 3-grams that are rarest in News20."""

    def sign(book: CorpusBook) -> Vector | None:
        counts = _letter_grams(book)
        return None if counts is None else _reference().signatures(unit(counts).T, PARTS)[0]

    return CosineOfVectors(name, sign, PARTS * VALUE_BYTES)


def simhash_of_words(name: str) -> BitDistance:
    """The simhash of the words of a to z."""

    def sign(book: CorpusBook) -> bytes | None:
        return np.packbits(word_simhash(book.text) > 0).tobytes() if is_latin(book.text) else None

    return BitDistance(name, SIMHASH_BITS, sign, most=None)


def _letter_grams(book: CorpusBook) -> Rows | None:
    """The counts of 3-grams, (1, 19,683); None for a book that is not in Latin script."""
    return gram_counts([book.text]) if is_latin(book.text) else None


@cache
def _reference() -> Reference:
    counts = gram_counts(news_texts(news_folder())[0])
    return Reference(f"rarest {REFERENCE_GRAMS}", rarest(counts, REFERENCE_GRAMS))


def is_latin(text: str) -> bool:
    """Whether at least half of the letters at the start of a text are a to z.

    >>> is_latin("Élégies"), is_latin("Стихи, vol. 1")
    (True, False)
    """
    letters = [each for each in text[:LOOKED_AT].lower() if each.isalpha()]
    return 2 * sum("a" <= each <= "z" for each in letters) >= len(letters) > 0
