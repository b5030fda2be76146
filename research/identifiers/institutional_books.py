"""The rule of Institutional Books 1.0 (2025) for duplicates among a million scanned volumes.

Two volumes are duplicates if their 64-bit simhashes and languages are equal, and their lengths are within 15
% of the median length for that simhash. Sources are `get_simhash_shingles` and `get_filtered_duplicates` of
institutional/institutional-books-1-pipeline, and the package `simhash` 2.1.2. Here the median of a pair is
its mean, and the language comes from the corpus.
"""

import re
from collections import Counter
from dataclasses import dataclass
from hashlib import md5

import numpy as np

from bench.harness.corpus import CorpusBook
from research.identifiers.method import PairRule

WIDTH = 7
"""Characters of a shingle."""
TOLERANCE = 1.15
BITS = 64

_NO_WORD = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class Volume:
    """The values of a volume that the rule compares."""

    simhash: bytes
    language: str
    characters: int  # without blanks


def institutional_books(name: str) -> PairRule[Volume]:
    """Return the rule as a method."""
    return PairRule(
        name,
        sign=volume,
        bytes_of=lambda each: BITS // 8,
        says_same=says_same,
        words="all bits and the language alike, lengths within 15 %",
    )


def volume(book: CorpusBook) -> Volume:
    """Return the values of a book that the rule compares."""
    return Volume(simhash(book.text), book.language, sum(map(len, book.text.split())))


def says_same(one: Volume, other: Volume) -> bool:
    """Return whether the rule calls two volumes duplicates."""
    middle = (one.characters + other.characters) / 2
    shorter, longer = sorted((one.characters, other.characters))
    return (
        one.simhash == other.simhash
        and one.language == other.language
        and longer <= int(middle * TOLERANCE)
        and shorter >= int(middle / TOLERANCE)
    )


def simhash(text: str) -> bytes:
    """Return the 8-byte simhash of 7-character shingles of letters, digits and underscores, in lower case.

    A bit is 1 if it is set in more than half of the shingles' MD5 hashes (last 8 bytes).
    """
    letters = _NO_WORD.sub("", text.lower())
    starts = range(max(len(letters) - WIDTH + 1, 1))
    counts = Counter(letters[start : start + WIDTH] for start in starts)
    hashes = b"".join(md5(each.encode(), usedforsecurity=False).digest()[-8:] for each in counts)
    bits = np.unpackbits(np.frombuffer(hashes, np.uint8).reshape(-1, BITS // 8), axis=1)
    weights = np.fromiter(counts.values(), np.float32, len(counts))
    return np.packbits(weights @ bits > weights.sum() / 2).tobytes()
