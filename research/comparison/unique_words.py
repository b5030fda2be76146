"""DUPNIQ: the words that occur once in a book, in their order (Yalniz, Can and Manmatha 2011).

Two books are partial duplicates if the longest common subsequence of these words is long enough. The measure
`its` and its threshold .72 are those that the authors' program recommends, as are the tokens: case counts,
and whatever is no letter is left out. Two changes: letters of every script count, and the subsequence is
exact, where the program takes the first 2,000 common words. Words are unique, so the subsequence is the
longest increasing one of their places.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bench.harness.corpus import CorpusBook
from research.comparison.method import Scores

THRESHOLD = 0.72

_NO_LETTER = re.compile(r"[^\w\s]|[\d_]")

Words = NDArray[np.uint32]
"""The words that occur once, hashed, in their order."""


@dataclass(frozen=True, slots=True)
class UniqueWords:
    """The method; pairs that cannot reach the threshold score 0."""

    name: str
    least: float = THRESHOLD

    def sign(self, book: CorpusBook) -> Words | None:
        words = unique_words(book.text)
        return words if words.size else None

    def size(self, signature: Words) -> int:
        return signature.nbytes

    def scores(self, these: Sequence[Words], others: Sequence[Words]) -> Scores:
        scores = np.zeros((len(these), len(others)))
        for row, common in enumerate(_common(these, others)):
            for column in np.flatnonzero(common).tolist():
                lengths = these[row].size, others[column].size
                if its(int(common[column]), *lengths) >= self.least:
                    shared = longest_common_subsequence(these[row], others[column])
                    scores[row, column] = its(shared, *lengths)
        return scores

    def rule(self, least: float) -> str:
        return f"`its` ≥ {least}"


def unique_words(text: str) -> Words:
    """The words of a text that occur once, hashed to 32 bits, in their order."""
    counts = Counter(_NO_LETTER.sub("", text).split())
    once = [crc32(word.encode()) for word, count in counts.items() if count == 1]
    return np.array(once, np.uint32)


def its(common: int, one: int, other: int) -> float:
    """The similarity of two books with so many unique words, of which so many are common and in one order.

    The logarithm of what they share over that of what they have together, 0 to 1.

    >>> its(0, 10, 10), its(10, 10, 10)
    (0.0, 1.0)
    """
    together = one + other - common
    if common < 1:
        return 0.0
    return 1.0 if together == common else log(common) / log(together)


def longest_common_subsequence(one: Words, other: Words) -> int:
    """The length of the longest common subsequence of two sequences without repeats."""
    _, places, other_places = np.intersect1d(one, other, return_indices=True)
    ends: list[int] = []  # the least place at which an increasing subsequence of each length ends
    for place in other_places[np.argsort(places)].tolist():
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends)


def _common(these: Sequence[Words], others: Sequence[Words]) -> Sequence[NDArray[np.intp]]:
    """How many words each of these shares with each of the others."""
    hashes = np.concatenate(others)
    order = np.argsort(hashes, kind="stable")
    owners = np.repeat(np.arange(len(others)), [each.size for each in others])[order]
    hashes = hashes[order]
    counts = []
    for each in these:
        starts, ends = (np.searchsorted(hashes, each, side=side) for side in ("left", "right"))
        met = [owners[start:end] for start, end in zip(starts, ends, strict=True) if end > start]
        counts.append(np.bincount(np.concatenate([owners[:0], *met]), minlength=len(others)))
    return counts
