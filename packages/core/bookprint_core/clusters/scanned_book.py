"""A scanned book by its pages, and what their texts tell: which run on, which are of the book at all.

The order in which a book was scanned is as printed, from the back, or with the halves of spreads swapped. A
book's page numbers tell it. Without them the order of other copies and the sentences that run from one page
to the next do.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import PageSignatures
from bookprint_core.text.names import folded_words
from bookprint_core.text.page_furniture import number_of, printed_numbers, without_furniture

Order = Literal["as printed", "from the back", "halves of spreads swapped"]

_LEAST_COUNTED = 0.9  # of the neighbours in a book, where their numbers count the pages and nothing else

_LONGER = 1.3  # times as many pages must follow each other in another order, where one of two books has it
_LEAST_CHAIN = 6  # pages that tell an order


def orders(pages: int) -> Iterator[tuple[Order, NDArray[np.int64]]]:
    """The orders of so many pages, as a permutation that undoes itself; a spread may begin on either page."""
    places = np.arange(pages)
    yield "as printed", places
    yield "from the back", places[::-1]
    for first in (0, 1):
        end = first + (pages - first) // 2 * 2
        pairs = places[first:end].reshape(-1, 2)
        swapped = places.copy()
        swapped[first:end] = pairs[:, ::-1].ravel()
        yield "halves of spreads swapped", swapped


def counted(
    texts: Sequence[str], labels: Sequence[str | None]
) -> tuple[Order, NDArray[np.int64], NDArray[np.float64]]:
    """The order that the page numbers tell, and in it the number of each page less its place; NaN: unknown.

    Labels, if any is known, outrank the numbers printed. Numbers that do not count the pages of the book
    throughout are no page numbers.
    """
    known = [number_of((label or "").casefold()) for label in labels]
    for name, order in orders(len(texts)):
        numbers = (
            [known[page] for page in order] if known else printed_numbers([texts[page] for page in order])
        )
        offsets = np.array(numbers, dtype=np.float64) - np.arange(len(texts))
        steps = np.diff(offsets[~np.isnan(offsets)]) == 0
        if 2 * steps.size >= len(texts) and steps.sum() >= _LEAST_COUNTED * steps.size:
            return name, order, offsets
    return "as printed", np.arange(len(texts)), np.full(len(texts), nan)


def chain_of(partner: NDArray[np.int64]) -> dict[int, int]:
    """The scan's pages of a longest ascending part of their partners, with these; the earlier of doubles."""
    ends: list[int] = []
    pages: list[int] = []
    before: dict[int, int] = {}
    for page in np.flatnonzero(partner >= 0).tolist():
        end = int(partner[page])
        length = bisect_left(ends, end)
        if end not in ends[length : length + 1]:
            ends[length : length + 1], pages[length : length + 1] = [end], [page]
            before[page] = pages[length - 1] if length else -1
    chosen = pages[-1:]
    while chosen and before[chosen[-1]] >= 0:
        chosen.append(before[chosen[-1]])
    return {page: int(partner[page]) for page in reversed(chosen)}


def order_between(
    partner: NDArray[np.int64], copy_pages: int
) -> tuple[Order, NDArray[np.int64], NDArray[np.int64]]:
    """The order of either book in which most of the scan's pages follow those of the copy.

    As pages of the copy, and as pages of the scan.
    """

    def length(partners: NDArray[np.int64]) -> int:
        return len(chain_of(partners))

    by_copy = [
        (length(np.where(partner >= 0, pages[partner], -1)), name, pages)
        for name, pages in orders(copy_pages)
    ]
    longest, order, pages = max(by_copy, key=lambda each: each[0])
    if longest < max(_LONGER * by_copy[0][0], _LEAST_CHAIN):
        _, order, pages = by_copy[0]
    by_scan = [(length(partner[pages]), pages) for name, pages in orders(partner.size) if name == order]
    return order, pages, max(by_scan, key=lambda each: each[0])[1]


_LEAST_LETTERS = 4  # of words that tell of a book
_COMMON = 0.3  # of a book's pages: a word on so many is the language's and not the book's
_MOST_SAMPLES = 60  # stretches of the book that a stretch is held against
_LEAST_SAMPLES = 5
_LEAST_SPREAD = 0.02  # median deviation of the shares
_NEAR = 4  # pages on which a printed number is looked for

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUNS_OUT = re.compile(r"(?:[^\W\d_]|[-,;¬])\s*\Z")
_FIRST = re.compile(r"\w")


@dataclass(frozen=True, slots=True, eq=False)
class ScannedBook:
    """The pages of a book in the order in which they are printed, as far as their numbers tell."""

    book_id: UUID
    pages: PageSignatures
    texts: Sequence[str]  # without running heads
    words: Sequence[NDArray[np.int64]]  # of each page that are long enough to tell, by numbers
    pages_with: NDArray[np.int64]  # how many pages have each word
    offsets: NDArray[np.float64]  # the numbers that are printed on the pages less their places; NaN: unknown
    labels: Sequence[str | None]  # in the order of the scan, as they are known, else the printed numbers
    order: Order  # in which it was scanned
    places: NDArray[np.int64]  # in the scan, of each page
    turned: bool = False  # the pages are in the order of another book

    @classmethod
    def of(
        cls, book_id: UUID, pages: PageSignatures, texts: Sequence[str], labels: Sequence[str | None] = ()
    ) -> "ScannedBook":
        """The book by the texts of its pages; labels, if any is known, outrank the numbers printed."""
        order, places, offsets = counted(texts, labels)
        known: dict[str, int] = {}
        words = [
            np.array([known.setdefault(word, len(known)) for word in _telling(text)], dtype=np.int64)
            for text in texts
        ]
        pages_with = np.bincount(np.concatenate(words), minlength=len(known)).astype(np.int64)
        numbers = (offsets + np.arange(len(texts)))[places]
        shown = labels or [None if np.isnan(number) else str(int(number)) for number in numbers]
        bare = without_furniture([texts[place] for place in places])
        book = cls(book_id, pages, texts, words, pages_with, offsets, shown, order, np.arange(len(texts)))
        return replace(book.in_order(places), texts=bare, offsets=offsets, turned=False)

    @property
    def is_counted(self) -> bool:
        """Whether page numbers tell the order of the pages."""
        return not np.isnan(self.offsets).all()

    def in_order(self, pages: NDArray[np.int64]) -> "ScannedBook":
        """The book with its pages in this order, which need not be that of its print."""
        signed = replace(self.pages, values=self.pages.values[pages], lengths=self.pages.lengths[pages])
        return replace(
            self,
            pages=signed,
            texts=[self.texts[page] for page in pages],
            words=[self.words[page] for page in pages],
            offsets=np.full(len(pages), nan),
            places=self.places[pages],
            turned=True,
        )

    def in_scan(self, pages: tuple[int, int]) -> tuple[int, int]:
        """The pages of the scan from the first to the last of these, the end exclusive."""
        places = self.places[slice(*pages)]
        return int(places.min()), int(places.max()) + 1

    def between_in_scan(self, before: int, after: int) -> tuple[int, int]:
        """The pages of the scan between which is what lies between these; there may be none on one side."""
        count = len(self.places)
        ends = (count, -1) if self.order == "from the back" else (-1, count)
        first = int(self.places[before]) if before >= 0 else ends[0]
        last = int(self.places[after]) if after < count else ends[1]
        return min(first, last), max(first, last)

    def reads(self, order: Order) -> float:
        """How much rather sentences run on between the pages in this order than as they are.

        In standard deviations; 0 where nothing tells it: a page that ends within a sentence is then followed
        by one that begins within one as often as by any.
        """
        ends = np.array([_RUNS_OUT.search(text) is not None for text in self.texts], dtype=np.float64)
        starts = np.array([_starts_within(text) for text in self.texts], dtype=np.float64)
        if not ends.std() or not starts.std():
            return 0.0
        ends, starts = (ends - ends.mean()) / ends.std(), (starts - starts.mean()) / starts.std()
        told = [(name, ends[pages[:-1]] @ starts[pages[1:]]) for name, pages in orders(len(ends))]
        best = max(fit for name, fit in told if name == order)
        return float((best - told[0][1]) / np.sqrt(len(ends)))

    def runs_on(self, first: int, second: int) -> bool:
        """Whether a sentence seems to run from the end of one page to the start of another."""
        if self.turned or first < 0 or second >= len(self.texts) or not _RUNS_OUT.search(self.texts[first]):
            return False
        return _starts_within(self.texts[second])

    def skipped(self, before: int, after: int) -> float:
        """How many page numbers are skipped between two pages, negative: pages uncounted; NaN: unknown."""
        here, there = (
            self.offsets[max(before - _NEAR + 1, 0) : before + 1],
            self.offsets[after : after + _NEAR],
        )
        here, there = here[~np.isnan(here)], there[~np.isnan(there)]
        return float(there[0] - here[-1]) if here.size and there.size else nan

    def counts_on(self, pages: tuple[int, int]) -> int:
        """1 where the numbers of these pages count on from those before or to those after, -1: they do not.

        0: they, or those around, have no numbers.
        """
        own, around = (
            each[~np.isnan(each)]
            for each in (
                self.offsets[slice(*pages)],
                np.append(
                    self.offsets[max(pages[0] - _NEAR, 0) : pages[0]],
                    self.offsets[pages[1] : pages[1] + _NEAR],
                ),
            )
        )
        if not own.size or not around.size:
            return 0
        return 1 if np.isin(own, around).mean() > 0.5 else -1

    def deviation(self, pages: Sequence[int], others: Sequence[int]) -> float:
        """How many of the words of these pages the `others` have, too, in standard deviations.

        Negative: fewer than usual, at least -6. Stretches as long of the `others` show what is usual; 0 where
        they are too few.
        """
        size = len(pages)
        starts = range(0, len(others) - size + 1, max(1, (len(others) - size) // _MOST_SAMPLES))
        if len(starts) < _LEAST_SAMPLES:
            return 0.0
        have = np.bincount(
            np.concatenate([self.words[page] for page in others]), minlength=len(self.pages_with)
        )
        usual = np.array([self._known(others[start : start + size], have, 1) for start in starts])
        median = np.median(usual)
        spread = max(1.4826 * float(np.median(np.abs(usual - median))), _LEAST_SPREAD)
        return float(np.clip((self._known(pages, have, 0) - median) / spread, -6, 6))

    def _known(self, pages: Sequence[int], have: NDArray[np.int64], own: int) -> float:
        """The share of the pages' words that others have; `own` is 1 where these pages are among them."""
        words, counts = np.unique(np.concatenate([self.words[page] for page in pages]), return_counts=True)
        telling = self.pages_with[words] <= max(_COMMON * len(self.words), len(pages) + 1)
        known = telling & (have[words] > own * counts)
        return float(counts[known].sum() / max(counts[telling].sum(), 1))


def _starts_within(page: str) -> bool:
    """Whether a page seems to start within a sentence."""
    start = _FIRST.search(page)
    return start is not None and start[0].islower()


def _telling(page: str) -> set[str]:
    """The words of a page that are long enough to tell; of scripts without blanks, pairs of letters."""
    words: set[str] = set()
    for word in folded_words(page):
        if _UNSPACED.match(word):
            words.update(map("".join, pairwise(word)))
        elif len(word) >= _LEAST_LETTERS and not word.isdecimal():
            words.add(word)
    return words
