"""What the texts of a book's pages tell of their sequence: which run on, which are of the book at all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.text.names import folded_words
from app.core.text.page_furniture import number_of, printed_numbers, without_furniture

_LEAST_LETTERS = 4
"""Shorter words tell nothing of a book."""

_COMMON = 0.3
"""Share of a book's pages from which on a word is the language's and not the book's."""

_MOST_SAMPLES = 60
"""Stretches of the book that a stretch is held against."""

_LEAST_SAMPLES = 5

_LEAST_SPREAD = 0.02
"""Median deviation of the shares, below which none is believed."""

_MOST_DEVIATION = 6.0

_NEAR = 4
"""Pages within which a printed number is looked for."""

_LEAST_COUNTED = 0.9
"""Share of the neighbours in a book from which on their numbers count the pages, and nothing else."""

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUNS_OUT = re.compile(r"[^\W\d_]\s*\Z|[-,;¬]\s*\Z")
_FIRST = re.compile(r"\w")


@dataclass(frozen=True, slots=True, eq=False)
class PageSequence:
    """The pages of a book in their order."""

    texts: Sequence[str]  # without running heads
    words: Sequence[NDArray[np.int64]]  # of each page that are long enough to tell, by numbers
    pages_with: NDArray[np.int64]  # how many pages have each word
    offsets: Sequence[int | None]  # the numbers that are printed on the pages, less those of the pages
    labels: Sequence[str | None]  # as they are known, else the printed numbers

    @classmethod
    def of(cls, pages: Sequence[str], labels: Sequence[str | None] = ()) -> "PageSequence":
        """The pages by their texts; labels, one a page where any is known, outrank the numbers printed."""
        known: dict[str, int] = {}
        words = [
            np.array([known.setdefault(word, len(known)) for word in _telling(page)], dtype=np.int64)
            for page in pages
        ]
        numbers = list(map(_counted, labels)) if labels else printed_numbers(pages)
        offsets = [None if number is None else number - page for page, number in enumerate(numbers)]
        if not _count_pages(offsets):
            offsets = [None] * len(pages)
        return cls(
            without_furniture(pages),
            words,
            np.bincount(np.concatenate([np.zeros(0, dtype=np.int64), *words]), minlength=len(known)),
            offsets,
            labels or [None if offset is None else str(offset + page) for page, offset in enumerate(offsets)],
        )

    def runs_on(self, first: int, second: int) -> bool:
        """Whether a sentence seems to run from the end of one page to the start of another."""
        if not (first >= 0 and second < len(self.texts)):
            return False
        start = _FIRST.search(self.texts[second])
        return bool(_RUNS_OUT.search(self.texts[first]) and start and start[0].islower())

    def skipped(self, before: int, after: int) -> int | None:
        """How many page numbers are skipped between two pages, negative: pages uncounted; None: unknown."""
        first = [each for each in self.offsets[max(before - _NEAR + 1, 0) : before + 1] if each is not None]
        last = [each for each in self.offsets[after : after + _NEAR] if each is not None]
        return last[0] - first[-1] if first and last else None

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
        return float(np.clip((self._known(pages) - median) / spread, -_MOST_DEVIATION, _MOST_DEVIATION))

    def _known(self, pages: Sequence[int]) -> float:
        """The share of the pages' words that other pages have, too."""
        words, counts = np.unique(np.concatenate([self.words[page] for page in pages]), return_counts=True)
        telling = self.pages_with[words] <= max(_COMMON * len(self.words), len(pages) + 1)
        known = telling & (self.pages_with[words] > counts)
        return float(counts[known].sum() / max(counts[telling].sum(), 1))


def _counted(label: str | None) -> int | None:
    return None if label is None else number_of(label.casefold())


def _count_pages(offsets: Sequence[int | None]) -> bool:
    """Whether the numbers are those of pages: most neighbours that have one count on."""
    steps = [first == second for first, second in pairwise(each for each in offsets if each is not None)]
    return 2 * len(steps) >= len(offsets) and sum(steps) >= _LEAST_COUNTED * len(steps)


def _telling(page: str) -> set[str]:
    words = set()
    for word in folded_words(page):
        if _UNSPACED.match(word):
            words.update(map("".join, pairwise(word)))
        elif len(word) >= _LEAST_LETTERS and not word.isdecimal():
            words.add(word)
    return words
