"""The true relation of two books made from the same sources, by the definitions of the classes.

A book is made of leaves, and each leaf says which spans of which source it prints. So all shares are counted
from the leaves themselves, in text pages or in letters. Running heads, captions and blank pages count for
nothing, and a page scanned twice counts once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal[
    "SAME_PAGINATION", "DIFFERENT_PAGINATION", "CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT", "UNRELATED"
]
Direction = Literal["contains", "contained_in"]

TEXT_PAGE = 50
"""Letters and digits that make a page a text page."""
SAME_PAGE = 0.8
"""Two pages match where they share so much of the longer one."""
MOST = 0.8
"""Share of both books that the two pagination classes ask for."""
PART = 0.9
"""Share of a book that lies in one span of a larger one of which it is a contiguous subset."""
OTHER_BREAKS = 0.05
"""Share of the common text that page breaks divide otherwise where the pagination is another."""
GAP = 4
"""Text pages, that is two leaves, that may be missing within one span."""
RELATED = 0.03
"""Share of either book below which shared text (a publisher's list, a motto) is no relation."""


class Piece(NamedTuple):
    """A span of one source's text."""

    source: int
    start: int
    end: int


class Leaf(NamedTuple):
    """One page of a made book; without pieces it is blank or a plate."""

    pieces: tuple[Piece, ...] = ()
    caption: str = ""
    rescan: bool = False  # the page before it or two before it, scanned once more


@dataclass(frozen=True, slots=True)
class Truth:
    """The relation of two books, seen from the left one, and the figures it follows from (shares 0 to 1)."""

    kind: Kind
    direction: Direction | None  # of a contiguous subset
    pages_matched: tuple[float, float]  # share of left's, right's text pages that match one to one
    text_shared: tuple[float, float]  # share of left's, right's letters that the other has too
    longest_run: tuple[float, float]  # share of left's, right's text pages that match in the longest run
    page_map: tuple[tuple[int, int], ...]  # pages that match, as indices into both books, ascending


def truth(left: Sequence[Leaf], right: Sequence[Leaf], letters: Mapping[int, NDArray[np.bool_]]) -> Truth:
    """The relation of two books; `letters` marks for each source the characters that are letters or
    digits."""
    sizes = [_sizes(book, letters) for book in (left, right)]
    shared = _shared(left, right, letters)
    matches = _matches(shared, *sizes)
    common = sum(shared.values())
    ordinals = [np.cumsum(size >= TEXT_PAGE) - 1 for size in sizes]
    run = _longest_run([(int(ordinals[0][i]), int(ordinals[1][j])) for i, j in matches])
    counts = [max(1, int((size >= TEXT_PAGE).sum())) for size in sizes]
    matched = len(matches) / counts[0], len(matches) / counts[1]
    spans = len(run) / counts[0], len(run) / counts[1]
    text = common / max(1, int(sizes[0].sum())), common / max(1, int(sizes[1].sum()))
    direction: Direction | None = None
    kind: Kind
    if min(matched) >= MOST:
        kind = "SAME_PAGINATION"
    elif max(spans) >= PART and min(spans) < MOST:
        kind, direction = "CONTIGUOUS_SUBSET", "contains" if spans[1] >= PART else "contained_in"
    elif min(text) >= MOST and _broken(shared) > OTHER_BREAKS * common:
        kind = "DIFFERENT_PAGINATION"
    else:
        kind = "OVERLAPPING_TEXT" if max(text) >= RELATED else "UNRELATED"
    return Truth(kind, direction, matched, text, spans, tuple(matches))


def borderline(truth: Truth) -> bool:
    """Whether a figure that the definitions name lies near its line."""
    lines = [(min(truth.pages_matched), 0.1, 0.8), (min(truth.text_shared), 0.1, 0.8)]
    lines += [(max(truth.longest_run), 0.05, 0.9), (min(truth.longest_run), 0.1, 0.8)]
    return any(abs(figure - line) <= margin for figure, margin, line in lines)


def _sizes(book: Sequence[Leaf], letters: Mapping[int, NDArray[np.bool_]]) -> NDArray[np.intp]:
    """Letters on each page; none on a page scanned again."""
    pieces = [() if leaf.rescan else leaf.pieces for leaf in book]
    counts = [sum(np.count_nonzero(letters[of][start:end]) for of, start, end in each) for each in pieces]
    return np.array(counts, dtype=np.intp)


def _shared(
    left: Sequence[Leaf], right: Sequence[Leaf], letters: Mapping[int, NDArray[np.bool_]]
) -> dict[tuple[int, int], int]:
    """Letters that a page of the left book shares with one of the right, for all pages that share any."""
    owners: dict[int, NDArray[np.int32]] = {}
    for j, leaf in enumerate(right):
        for of, start, end in () if leaf.rescan else leaf.pieces:
            if of not in owners:
                owners[of] = np.full(letters[of].size, -1, dtype=np.int32)
            owners[of][start:end] = j
    shared: dict[tuple[int, int], int] = {}
    for i, leaf in enumerate(left):
        for of, start, end in () if leaf.rescan else leaf.pieces:
            if of in owners:
                pages = owners[of][start:end][letters[of][start:end]]
                shared_pages, counts = np.unique(pages[pages >= 0], return_counts=True)
                for j, count in zip(shared_pages.tolist(), counts.tolist(), strict=True):
                    shared[i, j] = shared.get((i, j), 0) + count
    return shared


def _matches(
    shared: Mapping[tuple[int, int], int], left: NDArray[np.intp], right: NDArray[np.intp]
) -> list[tuple[int, int]]:
    """The text pages that match one to one: as SAME_PAGE is more than half, none matches two."""
    return sorted(
        (i, j)
        for (i, j), count in shared.items()
        if min(left[i], right[j]) >= TEXT_PAGE and count >= SAME_PAGE * max(left[i], right[j])
    )


def _broken(shared: Mapping[tuple[int, int], int]) -> int:
    """Letters of the common text that one book has on one page and the other divides. A page that was revised
    without moving its neighbours' text has none."""
    left: Counter[int] = Counter()
    right: Counter[int] = Counter()
    for (i, j), count in shared.items():
        left[i] += count
        right[j] += count
    return sum(n for (i, j), n in shared.items() if n < SAME_PAGE * max(left[i], right[j]))


def _longest_run(matches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most matches in a row that advance in both books, over gaps of at most GAP text pages."""
    best: list[tuple[int, int]] = []
    run: list[tuple[int, int]] = []
    for i, j in matches:
        if run and not (0 < i - run[-1][0] <= GAP + 1 and 0 < j - run[-1][1] <= GAP + 1):
            run = []
        run.append((i, j))
        if len(run) > len(best):
            best = run
    return list(best)
