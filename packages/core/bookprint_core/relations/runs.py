"""Runs: pages of two books that match and follow each other in both.

Very long books are compared in groups of pages first, then page by page in matching groups. The bin-wise
minimum of several pages is a MinHash of their joint contents (Broder 1997), so groups that share pages share
minima.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import PageSignatures
from bookprint_core.relations.background import Background
from bookprint_core.signatures.page_minhash import MAX_LENGTH

_BLOCK = 32  # pairs of groups whose pages are compared at once


@dataclass(frozen=True, slots=True)
class Block:
    """Pages of two books to compare, by the first page and the one after the last in each book."""

    left: tuple[int, int]
    right: tuple[int, int]


def group_size(left: int, right: int, most_cells: int) -> int:
    """Return the pages per group, at least 1, so that two books have at most `most_cells` pairs of groups."""
    size = max(1, ceil(sqrt(left * right / most_cells)))
    while size > 1 and -(-left // size) * -(-right // size) > most_cells:
        size += 1
    return size


def sliced_pages(pages: PageSignatures, span: tuple[int, int]) -> PageSignatures:
    """Return the signatures of the pages in the span, its end excluded."""
    return replace(pages, values=pages.values[slice(*span)], lengths=pages.lengths[slice(*span)])


def grouped_pages(pages: PageSignatures, size: int) -> PageSignatures:
    """Compute the signatures of groups of `size` pages."""
    starts = np.arange(0, len(pages.values), size)
    # Empty bins are 0 and must not be the minimum: 0 - 1 wraps around to 255.
    values = np.minimum.reduceat(pages.values - np.uint8(1), starts, axis=0) + np.uint8(1)
    lengths = np.add.reduceat(pages.lengths.astype(np.int64), starts)
    return replace(pages, values=values, lengths=np.minimum(lengths, MAX_LENGTH).astype(np.uint16))


def blocks_of(runs: Sequence[NDArray[np.int64]], size: int, left: int, right: int) -> Iterator[Block]:
    """Yield the pages to compare for runs of groups, each (pairs, 2), and one group more on either side.

    `left` and `right` are the books' page counts. The blocks of a run do not repeat pages of the left book.
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


_STEP_COST = 0.15  # cost of a step in one book alone; a typical pair of equal pages weighs 1
_DROP = 3.0  # loss of weight that ends a path, in this unit

LONGEST_GAP = 8
"""Maximum number of consecutive pages without a match within a run."""

_LEAST = 0.5  # minimum weight of a path, in this unit


def find_runs(similarities: NDArray[np.uint8], background: Background) -> list[NDArray[np.int64]]:
    """Find the pairs (n, 2) of each run, ascending in both books; runs are in the order of the left book.

    `similarities` (left, right) are 0 to 255.
    """
    paths = _untangled(_paths(similarities, background), similarities.shape)
    rest = _without(paths, similarities)
    if paths and rest.max() > background.threshold * 255:
        paths += _untangled(_paths(rest, background), similarities.shape)
    parts = [part for path in paths for part in split(path)]
    parts = [part for part in parts if background.excludes(similarities[part[:, 0], part[:, 1]] / 255)]
    return _joined(sorted(parts, key=lambda part: (*part[0], *part[-1])))


def split(pairs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut ascending pairs (n, 2) at gaps of more than `LONGEST_GAP` pages without a match."""
    return np.split(pairs, np.flatnonzero(np.diff(pairs, axis=0).max(axis=1) > LONGEST_GAP) + 1)


def _without(paths: list[NDArray[np.int64]], similarities: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the similarities with 0 for all pages on a path; a path may have hidden another one."""
    rest = similarities.copy()
    for pairs in paths:
        rest[pairs[:, 0]] = 0
        rest[:, pairs[:, 1]] = 0
    return rest


def _joined(parts: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Join parts that follow each other in both books, unless `split` would cut between them."""
    joined: list[NDArray[np.int64]] = []
    for part in parts:
        steps = part[0] - joined[-1][-1] if joined else np.zeros(2)
        if steps.min() > 0 and steps.max() <= LONGEST_GAP:
            joined[-1] = np.concatenate([joined[-1], part])
        else:
            joined.append(part)
    return joined


def _paths(similarities: NDArray[np.uint8], background: Background) -> list[NDArray[np.int64]]:
    """Find paths through similar pages, heaviest first, each (pairs, 2); no two share a pair."""
    from bookprint_core.relations.kernels import smith_waterman, trace_path

    steps = np.empty_like(similarities)
    limits = np.array([_STEP_COST, _DROP, _LEAST], dtype=np.float32)
    weights = background.weights()
    room = sum(similarities.shape)
    while True:
        best, ends = np.empty(room, dtype=np.float32), np.empty((room, 2), dtype=np.int64)
        count = smith_waterman(similarities, weights, limits, steps, best, ends)
        if count >= 0:
            break
        room *= 4
    path = np.empty((sum(similarities.shape), 2), dtype=np.int64)
    paths = []
    for number in np.argsort(-best[:count], kind="stable"):
        size = trace_path(steps, ends[number, 0], ends[number, 1], path)
        pairs = path[:size][::-1]
        pairs = pairs[similarities[pairs[:, 0], pairs[:, 1]] > background.threshold * 255]
        if pairs.size:
            paths.append(pairs)
    return paths


def _untangled(paths: list[NDArray[np.int64]], shape: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Remove pages of heavier paths from each path; drop paths that lose at least half of their pairs."""
    used = np.zeros(shape[0], dtype=np.bool_), np.zeros(shape[1], dtype=np.bool_)
    kept = []
    for pairs in paths:
        taken = used[0][pairs[:, 0]] | used[1][pairs[:, 1]]
        pairs = pairs[~taken]
        if pairs.size and 2 * taken.sum() < taken.size:
            kept.append(pairs)
            for side in (0, 1):
                used[side][pairs[:, side]] = True
    return kept
