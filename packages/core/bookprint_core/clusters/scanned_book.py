"""The pages of a scanned book, with evidence from their texts about their order and about foreign pages.

A book was scanned in printed order, from the back, or with the halves of spreads swapped. Its page numbers
show the order. Without page numbers, the order of other copies and sentences across pages show the order.
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

_LEAST_COUNTED = 0.9  # minimum share of neighbouring numbers that differ as their places do

_LONGER = 1.3  # minimum ratio of pages in sequence by another order to pages in sequence as printed
_LEAST_CHAIN = 6  # minimum number of pages in sequence that show an order


def orders(pages: int) -> Iterator[tuple[Order, NDArray[np.int64]]]:
    """Yield the orders of `pages` pages, as self-inverse permutations; a spread may begin on either page."""
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
    """Find the order by page numbers, and in it the number of each page minus its place; NaN: unknown.

    Labels, if any is known, replace the printed numbers. Numbers that do not count most pages of the book are
    not page numbers.
    """
    known = [number_of((label or "").casefold()) for label in labels]
    for name, order in orders(len(texts)):
        numbers = (
            [known[page] for page in order] if known else printed_numbers([texts[page] for page in order])
        )
        offsets = np.array(numbers, dtype=np.float64) - np.arange(len(texts))
        steps = np.diff(_numbered(offsets)) == 0
        if 2 * steps.size >= len(texts) and steps.sum() >= _LEAST_COUNTED * steps.size:
            return name, order, offsets
    return "as printed", np.arange(len(texts)), np.full(len(texts), nan)


def _numbered(offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    return offsets[~np.isnan(offsets)]


def chain_of(partner: NDArray[np.int64]) -> dict[int, int]:
    """Return a longest ascending sequence of partners, by scan page, with the first of doubled pages."""
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
    """Find the order in which most pages of the scan follow the pages of the copy.

    Returns the order, the reordered pages of the copy, and the reordered pages of the scan.
    """
    by_copy = [
        (len(chain_of(np.where(partner >= 0, pages[partner], -1))), name, pages)
        for name, pages in orders(copy_pages)
    ]
    longest, order, pages = max(by_copy, key=lambda each: each[0])
    if longest < max(_LONGER * by_copy[0][0], _LEAST_CHAIN):
        _, order, pages = by_copy[0]
    by_scan = (each for name, each in orders(partner.size) if name == order)
    return order, pages, max(by_scan, key=lambda each: len(chain_of(partner[each])))


_LEAST_LETTERS = 4  # minimum number of letters of a typical word
_COMMON = 0.3  # maximum share of a book's pages that contain a typical word
_MOST_SAMPLES = 60  # approximate maximum number of stretches that a stretch is compared with
_LEAST_SAMPLES = 5
_LEAST_SPREAD = 0.02  # minimum median deviation of the shares
_NEAR = 4  # pages on either side that are searched for a printed number

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RUNS_OUT = re.compile(r"(?:[^\W\d_]|[-,;¬])\s*\Z")
_FIRST = re.compile(r"\w")


@dataclass(frozen=True, slots=True, eq=False)
class ScannedBook:
    """The pages of a book in printed order, if page numbers show the order."""

    book_id: UUID
    pages: PageSignatures
    texts: Sequence[str]  # without running heads
    words: Sequence[NDArray[np.int64]]  # numbers of the long words of each page
    pages_with: NDArray[np.int64]  # number of pages with each word
    offsets: NDArray[np.float64]  # the printed number of each page minus its place; NaN: unknown
    labels: Sequence[str | None]  # in the order of the scan: known labels, else the printed numbers
    order: Order  # order of the scan
    places: NDArray[np.int64]  # place of each page in the scan
    turned: bool = False  # whether the pages are in the order of another book

    @classmethod
    def of(
        cls, book_id: UUID, pages: PageSignatures, texts: Sequence[str], labels: Sequence[str | None] = ()
    ) -> "ScannedBook":
        """Make the book from the texts of its pages; labels, if any is known, replace the printed numbers."""
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
        """Whether page numbers show the order of the pages."""
        return not np.isnan(self.offsets).all()

    def in_order(self, pages: NDArray[np.int64]) -> "ScannedBook":
        """Return the book with its pages in this order, which may differ from the printed order."""
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
        """Return the range of scan pages that contains these pages, the end exclusive."""
        places = self.places[slice(*pages)]
        return int(places.min()), int(places.max()) + 1

    def between_in_scan(self, before: int, after: int) -> tuple[int, int]:
        """Return the places of two pages in the scan; -1 or the page count beyond its ends."""
        count = len(self.places)
        ends = (count, -1) if self.order == "from the back" else (-1, count)
        first = int(self.places[before]) if before >= 0 else ends[0]
        last = int(self.places[after]) if after < count else ends[1]
        return min(first, last), max(first, last)

    def reads(self, order: Order) -> float:
        """Measure how much better sentences continue across pages in this order than in the present order.

        Returns standard deviations: 0 if no page, or every page, ends or begins within a sentence.
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
        """Return whether a sentence seems to continue from the end of one page to the start of another."""
        if self.turned or first < 0 or second >= len(self.texts) or not _RUNS_OUT.search(self.texts[first]):
            return False
        return _starts_within(self.texts[second])

    def skipped(self, before: int, after: int) -> float:
        """Return the page numbers skipped between two pages; negative: uncounted pages; NaN: unknown."""
        here = _numbered(self.offsets[max(before - _NEAR + 1, 0) : before + 1])
        there = _numbered(self.offsets[after : after + _NEAR])
        return float(there[0] - here[-1]) if here.size and there.size else nan

    def counts_on(self, pages: tuple[int, int]) -> int:
        """Return 1 if the numbers of these pages continue the numbers before or after them, else -1.

        Returns 0 if these pages, or the pages around them, have no numbers.
        """
        before = self.offsets[max(pages[0] - _NEAR, 0) : pages[0]]
        after = self.offsets[pages[1] : pages[1] + _NEAR]
        own, around = _numbered(self.offsets[slice(*pages)]), _numbered(np.append(before, after))
        if not own.size or not around.size:
            return 0
        return 1 if np.isin(own, around).mean() > 0.5 else -1

    def deviation(self, pages: Sequence[int], others: Sequence[int]) -> float:
        """Return the share of these pages' words that `others` contain, as deviation from the usual share.

        The result is in standard deviations, -6 to 6; negative: fewer words than usual. Stretches of the
        `others` of equal length give the usual share; the result is 0 if they are too few.
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
        """Return the share of the pages' words that others contain; `own` is 1 if these include the pages."""
        words, counts = np.unique(np.concatenate([self.words[page] for page in pages]), return_counts=True)
        telling = self.pages_with[words] <= max(_COMMON * len(self.words), len(pages) + 1)
        known = telling & (have[words] > own * counts)
        return float(counts[known].sum() / max(counts[telling].sum(), 1))


def _starts_within(page: str) -> bool:
    """Return whether a page seems to start within a sentence."""
    start = _FIRST.search(page)
    return start is not None and start[0].islower()


def _telling(page: str) -> set[str]:
    """Return the long words of a page; in scripts without blanks, pairs of letters."""
    words: set[str] = set()
    for word in folded_words(page):
        if _UNSPACED.match(word):
            words.update(map("".join, pairwise(word)))
        elif len(word) >= _LEAST_LETTERS and not word.isdecimal():
            words.add(word)
    return words
