"""A scanned book by its pages, and what their texts tell: which run on, which are of the book at all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.model import PageSignatures
from app.core.text.names import folded_words
from app.core.text.page_furniture import number_of, printed_numbers, without_furniture

_LEAST_LETTERS = 4  # of words that tell of a book
_COMMON = 0.3  # of a book's pages: a word on so many is the language's and not the book's
_MOST_SAMPLES = 60  # stretches of the book that a stretch is held against
_LEAST_SAMPLES = 5
_LEAST_SPREAD = 0.02  # median deviation of the shares
_NEAR = 4  # pages on which a printed number is looked for
_LEAST_COUNTED = 0.9  # of the neighbours in a book, where their numbers count the pages and nothing else

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUNS_OUT = re.compile(r"(?:[^\W\d_]|[-,;¬])\s*\Z")
_FIRST = re.compile(r"\w")


@dataclass(frozen=True, slots=True, eq=False)
class ScannedBook:
    """The pages of a book in their order."""

    book_id: UUID
    pages: PageSignatures
    texts: Sequence[str]  # without running heads
    words: Sequence[NDArray[np.int64]]  # of each page that are long enough to tell, by numbers
    pages_with: NDArray[np.int64]  # how many pages have each word
    offsets: NDArray[np.float64]  # the numbers that are printed on the pages less their places; NaN: unknown
    labels: Sequence[str | None]  # as they are known, else the printed numbers

    @classmethod
    def of(
        cls, book_id: UUID, pages: PageSignatures, texts: Sequence[str], labels: Sequence[str | None] = ()
    ) -> "ScannedBook":
        """The book by the texts of its pages; labels, if any is known, outrank the numbers printed."""
        known: dict[str, int] = {}
        words = [
            np.array([known.setdefault(word, len(known)) for word in _telling(text)], dtype=np.int64)
            for text in texts
        ]
        numbers = [number_of((label or "").casefold()) for label in labels] or printed_numbers(texts)
        offsets = np.array(numbers, dtype=np.float64) - np.arange(len(texts))
        steps = np.diff(offsets[~np.isnan(offsets)]) == 0
        if 2 * steps.size < len(texts) or steps.sum() < _LEAST_COUNTED * steps.size:
            numbers, offsets = [None] * len(texts), np.full(len(texts), nan)
        pages_with = np.bincount(np.concatenate(words), minlength=len(known)).astype(np.int64)
        shown = labels or [None if number is None else str(number) for number in numbers]
        return cls(book_id, pages, without_furniture(texts), words, pages_with, offsets, shown)

    def runs_on(self, first: int, second: int) -> bool:
        """Whether a sentence seems to run from the end of one page to the start of another."""
        if first < 0 or second >= len(self.texts) or not _RUNS_OUT.search(self.texts[first]):
            return False
        start = _FIRST.search(self.texts[second])
        return start is not None and start[0].islower()

    def skipped(self, before: int, after: int) -> float:
        """How many page numbers are skipped between two pages, negative: pages uncounted; NaN: unknown."""
        here, there = (
            self.offsets[max(before - _NEAR + 1, 0) : before + 1],
            self.offsets[after : after + _NEAR],
        )
        here, there = here[~np.isnan(here)], there[~np.isnan(there)]
        return float(there[0] - here[-1]) if here.size and there.size else nan

    def deviation(self, pages: Sequence[int], others: Sequence[int]) -> float:
        """How many of the words of these pages come elsewhere in the book, in standard deviations.

        Negative: fewer than usual, at least -6. Stretches as long of the `others` show what is usual; 0 where
        they are too few.
        """
        size = len(pages)
        starts = range(0, len(others) - size + 1, max(1, (len(others) - size) // _MOST_SAMPLES))
        usual = np.array([self._known(others[start : start + size]) for start in starts])
        if len(usual) < _LEAST_SAMPLES:
            return 0.0
        median = np.median(usual)
        spread = max(1.4826 * float(np.median(np.abs(usual - median))), _LEAST_SPREAD)
        return float(np.clip((self._known(pages) - median) / spread, -6, 6))

    def _known(self, pages: Sequence[int]) -> float:
        """The share of the pages' words that other pages have, too."""
        words, counts = np.unique(np.concatenate([self.words[page] for page in pages]), return_counts=True)
        telling = self.pages_with[words] <= max(_COMMON * len(self.words), len(pages) + 1)
        known = telling & (self.pages_with[words] > counts)
        return float(counts[known].sum() / max(counts[telling].sum(), 1))


def _telling(page: str) -> set[str]:
    words: set[str] = set()
    for word in folded_words(page):
        if _UNSPACED.match(word):
            words.update(map("".join, pairwise(word)))
        elif len(word) >= _LEAST_LETTERS and not word.isdecimal():
            words.add(word)
    return words
