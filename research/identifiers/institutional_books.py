"""The rule by which Institutional Books 1.0 (2025) set duplicates aside among a million scanned volumes.

Two volumes are duplicates whose 64-bit simhashes are identical, if they have one language and neither is 15 %
longer or shorter than the median of those with that simhash. Read in `get_simhash_shingles` and
`get_filtered_duplicates` of institutional/institutional-books-1-pipeline; the simhash is that of the package
`simhash` 2.1.2. Here a pair stands alone, so its median is the mean, and the language is the corpus's.
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
    """What the rule looks at."""

    simhash: bytes
    language: str
    characters: int  # without blanks


def institutional_books(name: str) -> PairRule[Volume]:
    """The rule as a method."""
    return PairRule(
        name,
        sign=volume,
        bytes_of=lambda each: BITS // 8,
        says_same=says_same,
        words="all bits and the language alike, lengths within 15 %",
    )


def volume(book: CorpusBook) -> Volume:
    """What the rule looks at of a book."""
    return Volume(simhash(book.text), book.language, sum(map(len, book.text.split())))


def says_same(one: Volume, other: Volume) -> bool:
    """Whether the rule calls two volumes duplicates."""
    middle = (one.characters + other.characters) / 2
    shorter, longer = sorted((one.characters, other.characters))
    return (
        one.simhash == other.simhash
        and one.language == other.language
        and longer <= int(middle * TOLERANCE)
        and shorter >= int(middle / TOLERANCE)
    )


def simhash(text: str) -> bytes:
    """The simhash of the 7-character shingles of letters, digits and underscores, in lower case; 8 bytes.

    Each bit is what more than half of the shingles have there, of the last 8 bytes of their MD5.
    """
    letters = _NO_WORD.sub("", text.lower())
    starts = range(max(len(letters) - WIDTH + 1, 1))
    counts = Counter(letters[start : start + WIDTH] for start in starts)
    hashes = b"".join(md5(each.encode(), usedforsecurity=False).digest()[-8:] for each in counts)
    bits = np.unpackbits(np.frombuffer(hashes, np.uint8).reshape(-1, BITS // 8), axis=1)
    weights = np.fromiter(counts.values(), np.float32, len(counts))
    return np.packbits(weights @ bits > weights.sum() / 2).tobytes()
