"""What the texts of a book's pages tell of their sequence: which run on, which are of the book at all."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

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
_FIRST = re.compile(r"\w")
_OPEN = ("-", ",", ";", "¬")


@dataclass(frozen=True, slots=True, eq=False)
class PageSequence:
    """The pages of a book in their order."""

    texts: Sequence[str]  # without running heads; empty: not kept
    words: Sequence[frozenset[str]]  # of each page that are long enough to tell
    pages_with: Mapping[str, int]  # how many pages have a word
    numbers: Sequence[int | None]  # that are printed on the pages and count them
    labels: Sequence[str | None]  # as they are known, else the numbers

    @classmethod
    def of(cls, pages: Sequence[str], labels: Sequence[str | None] = ()) -> "PageSequence":
        """The pages by their texts; labels, one a page where any is known, outrank the numbers printed."""
        words = [frozenset(_telling(page)) for page in pages]
        numbers = list(map(_counted, labels)) if labels else printed_numbers(pages)
        if not _count_pages(numbers):
            numbers = [None] * len(pages)
        return cls(
            without_furniture(pages),
            words,
            Counter(word for each in words for word in each),
            numbers,
            labels or [None if number is None else str(number) for number in numbers],
        )

    def runs_on(self, first: int, second: int) -> bool:
        """Whether a sentence seems to run from the end of one page to the start of another."""
        if not (first >= 0 and second < len(self.texts)):
            return False
        end, start = self.texts[first].rstrip(), _FIRST.search(self.texts[second])
        return (
            bool(end)
            and (end[-1].isalpha() or end.endswith(_OPEN))
            and start is not None
            and start[0].islower()
        )

    def counts(self, before: int, after: int, between: int) -> bool | None:
        """Whether the printed numbers count every page from `before` to `after`; None: they do not tell.

        False: they leave out at least `between` pages, or, where that is 0, count some that are not there.
        """
        if before < 0 or after >= len(self.numbers):
            return None
        first = self._nearest_number(range(before, max(before - _NEAR, -1), -1))
        last = self._nearest_number(range(after, min(after + _NEAR, len(self.numbers))))
        if first is None or last is None:
            return None
        counted = last - first
        if counted == 0:
            return True
        return False if (counted <= -between if between else counted > 0) else None

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

    def _nearest_number(self, pages: range) -> int | None:
        """The first number on these pages, less the index of its page."""
        return next((number - page for page in pages if (number := self.numbers[page]) is not None), None)

    def _known(self, pages: Sequence[int]) -> float:
        """The share of the pages' words that other pages have, too."""
        here = Counter(word for page in pages for word in self.words[page])
        most = max(_COMMON * len(self.words), len(pages) + 1)
        counted = {word: count for word, count in here.items() if self.pages_with[word] <= most}
        known = sum(count for word, count in counted.items() if self.pages_with[word] > count)
        return known / max(sum(counted.values()), 1)


def _counted(label: str | None) -> int | None:
    return None if label is None else number_of(label.casefold())


def _count_pages(numbers: Sequence[int | None]) -> bool:
    """Whether the numbers are those of pages: most neighbours that have one count on."""
    steps = [
        (later[1] - earlier[1]) - (later[0] - earlier[0])
        for earlier, later in pairwise(
            (page, number) for page, number in enumerate(numbers) if number is not None
        )
    ]
    return 2 * len(steps) >= len(numbers) and steps.count(0) >= _LEAST_COUNTED * len(steps)


def _telling(page: str) -> list[str]:
    words = []
    for word in folded_words(page):
        if _UNSPACED.match(word):
            words += [word[place : place + 2] for place in range(len(word) - 1)]
        elif len(word) >= _LEAST_LETTERS and not word.isdecimal():
            words.append(word)
    return words
