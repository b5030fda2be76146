"""Very long books in groups of pages: what to compare first, and which pages after that.

The bin-wise least value of several pages is itself a MinHash signature, of what those pages' bins hold:
groups that share pages share least values, whatever lies beside these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from app.core.model import PageSignatures
from app.core.signatures.page_minhash import MAX_LENGTH

_BLOCK = 32
"""Pairs of groups whose pages are compared at once."""


@dataclass(frozen=True, slots=True)
class Block:
    """Pages of two books to compare: in each book the first one and the one after the last."""

    spans: tuple[tuple[int, int], tuple[int, int]]

    def of(self, pages: PageSignatures, side: int) -> PageSignatures:
        """These pages' signatures of the left (0) or right (1) book."""
        span = slice(*self.spans[side])
        return replace(pages, values=pages.values[span], lengths=pages.lengths[span])


def group_size(left: int, right: int, cells: int) -> int:
    """How many pages to take together so that at most so many pairs of groups are compared; 1: none."""
    size = max(1, ceil(sqrt(left * right / cells)))
    while size > 1 and -(-left // size) * -(-right // size) > cells:
        size += 1
    return size


def grouped_pages(pages: PageSignatures, size: int) -> PageSignatures:
    """The signatures of groups of `size` pages."""
    starts = np.arange(0, len(pages.values), size)
    # Empty bins are 0 and must not be the least: one less than 0 wraps around to 255.
    values = np.minimum.reduceat(pages.values - np.uint8(1), starts, axis=0) + np.uint8(1)
    lengths = np.add.reduceat(pages.lengths.astype(np.int64), starts)
    return replace(pages, values=values, lengths=np.minimum(lengths, MAX_LENGTH).astype(np.uint16))


def blocks_of(runs: Sequence[NDArray[np.int64]], size: int, left: int, right: int) -> Iterator[Block]:
    """The pages to compare for runs of groups, each (pairs, 2), one group beyond them in the right book.

    Within a run no page of the left book comes twice.
    """
    for pairs in runs:
        starts = range(0, len(pairs), _BLOCK)
        for start in starts:
            part = pairs[start : start + _BLOCK]
            top = part[0, 0] - (start == 0)
            beyond = start + _BLOCK >= len(pairs)
            bottom = part[-1, 0] + 2 if beyond else max(pairs[start + _BLOCK, 0], part[0, 0] + 1)
            yield Block(
                (
                    (max(int(top) * size, 0), min(int(bottom) * size, left)),
                    (max(int(part[0, 1] - 1) * size, 0), min(int(part[-1, 1] + 2) * size, right)),
                )
            )
