"""Common matter: a preface, a privilege, a licence or an advertisement that two different works share.

It is short, and it is at the same edge of both books. The rule is ours, measured in
docs/why/decisions/0049-places.md.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bookprint_core.relations.coverage import Lengths, Shares

FRONT_WORDS, BACK_WORDS = 2_000, 4_000
"""Words at the beginning and at the end of a book that may be common matter: some five and ten pages."""

MOST_OF_A_BOOK = 0.75
"""Largest share of a book's text that common matter takes: the rest is the work."""

STARTS = 0.125
"""Share of a book within which common matter begins, or ends if it is at the end."""

NEARLY_ALL = 0.95
"""Share of the shared text that decides where it is; the rest may be stock phrases."""

Matter = Literal["front matter", "back matter"]


@dataclass(frozen=True, slots=True)
class CommonMatter:
    """Common matter of two books, with its pages in both: the first one and the one after the last."""

    matter: Matter
    left: tuple[int, int]
    right: tuple[int, int]

    def swapped(self) -> "CommonMatter":
        return CommonMatter(self.matter, self.right, self.left)


def common_matter(shares: Shares, lengths: Lengths, words: tuple[float, float]) -> CommonMatter | None:
    """Return the common matter that is all that two books share; None: they share no text, or more than that.

    `shares` are the shares of each page that the other book has, 0 to 1, (pages,) of each book. `lengths` are
    the code points of the pages, and `words` the numbers of words of the books.
    """
    for matter, (step, most) in _STEPS.items():
        left, right = (
            _edge(share[::step], length[::step], count, most)
            for share, length, count in zip(shares, lengths, words, strict=True)
        )
        if left is None or right is None or min(left.start, right.start) > STARTS:
            continue
        if step > 0:
            return CommonMatter(matter, (left.first, left.end), (right.first, right.end))
        sizes = [length.size for length in lengths]
        return CommonMatter(
            matter,
            (sizes[0] - left.end, sizes[0] - left.first),
            (sizes[1] - right.end, sizes[1] - right.first),
        )
    return None


_STEPS: dict[Matter, tuple[int, int]] = {"front matter": (1, FRONT_WORDS), "back matter": (-1, BACK_WORDS)}


@dataclass(frozen=True, slots=True)
class _Edge:
    """Pages near the beginning of a book that hold nearly all that it shares."""

    first: int
    end: int
    start: float  # share of the book's text before the first page


def _edge(share: NDArray[np.float64], length: NDArray[np.int64], words: float, most: int) -> _Edge | None:
    """Return the pages of the shared text; None if they are beyond the reach of common matter."""
    shared, total = share * length, int(length.sum())
    if not total or not shared.sum():
        return None
    before = (np.cumsum(length) - length) / total
    inside = before * words <= most
    if shared[inside].sum() < NEARLY_ALL * shared.sum():
        return None
    # Little of the text may be on pages before and after it, as noise.
    found, rest = np.cumsum(shared * inside) / shared[inside].sum(), (1 - NEARLY_ALL) / 2
    first, end = int(np.searchsorted(found, rest, "right")), int(np.searchsorted(found, 1 - rest)) + 1
    if before[end - 1] + length[end - 1] / total > MOST_OF_A_BOOK:
        return None
    return _Edge(first, end, float(before[first]))
