"""The order in which a book was scanned: as printed, from the back, or with the halves of spreads swapped.

A book's page numbers tell it. Without them the order of other copies and the sentences that run from one page
to the next do.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import nan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.core.text.page_furniture import number_of, printed_numbers

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
