"""Coarse to fine: very long books are compared in groups of pages first, then page by page where these match.

The bin-wise least value of several pages is itself a MinHash of their bins' contents (Broder 1997). So
groups that share pages share least values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import PageSignatures
from bookprint_core.signatures.page_minhash import MAX_LENGTH

_BLOCK = 32
"""Pairs of groups whose pages are compared at once."""


@dataclass(frozen=True, slots=True)
class Block:
    """Pages of two books to compare: in each book the first one and the one after the last."""

    left: tuple[int, int]
    right: tuple[int, int]


def group_size(left: int, right: int, most_cells: int) -> int:
    """The pages of a group, at least 1, so that two books have at most `most_cells` pairs of groups."""
    size = max(1, ceil(sqrt(left * right / most_cells)))
    while size > 1 and -(-left // size) * -(-right // size) > most_cells:
        size += 1
    return size


def sliced_pages(pages: PageSignatures, span: tuple[int, int]) -> PageSignatures:
    """The signatures of the pages from the first of the span to the one before its end."""
    return replace(pages, values=pages.values[slice(*span)], lengths=pages.lengths[slice(*span)])


def grouped_pages(pages: PageSignatures, size: int) -> PageSignatures:
    """The signatures of groups of `size` pages."""
    starts = np.arange(0, len(pages.values), size)
    # Empty bins are 0 and must not be the least: one less than 0 wraps around to 255.
    values = np.minimum.reduceat(pages.values - np.uint8(1), starts, axis=0) + np.uint8(1)
    lengths = np.add.reduceat(pages.lengths.astype(np.int64), starts)
    return replace(pages, values=values, lengths=np.minimum(lengths, MAX_LENGTH).astype(np.uint16))


def blocks_of(runs: Sequence[NDArray[np.int64]], size: int, left: int, right: int) -> Iterator[Block]:
    """The pages to compare for runs of groups, each (pairs, 2), one group beyond them in the right book.

    `left` and `right` are the books' page counts. Within a run no page of the left book comes twice.
    """
    for pairs in runs:
        for start in range(0, len(pairs), _BLOCK):
            part = pairs[start : start + _BLOCK]
            top = part[0, 0] - (start == 0)
            last = start + _BLOCK >= len(pairs)
            bottom = part[-1, 0] + 2 if last else max(pairs[start + _BLOCK, 0], part[0, 0] + 1)
            yield Block(
                left=(max(int(top) * size, 0), min(int(bottom) * size, left)),
                right=(max(int(part[0, 1] - 1) * size, 0), min(int(part[-1, 1] + 2) * size, right)),
            )
