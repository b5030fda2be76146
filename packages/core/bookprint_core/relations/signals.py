"""Signals: figures about two aligned books, from which a classifier decides their relation.

Book similarity, page similarity, linear fit, Δpage_count and consecutive page correlation follow Spasojević
and Poncin (2011, section IV-B), over aligned pairs of pages. The shares are ours and follow the definitions
of the relations.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bookprint_core.relations.alignment import Alignment, Run, Unit, concatenated
from bookprint_core.relations.common_matter import CommonMatter, common_matter
from bookprint_core.relations.coverage import SAME_BREAKS, Lengths, Shares

FOUND = 0.6
"""Minimum share of a page's text in the other book at which the page counts as found."""

SPAN_GAP = 4
"""Maximum number of text pages missing in a row within a span: two leaves."""


@dataclass(frozen=True, slots=True)
class LinearFit:
    """A line from pages of the left book to pages of the right: `slope` · page + `intercept` (formula 2)."""

    slope: float
    intercept: float
    delta_page_count: float  # pages from the line to the right book's last page (formula 3)


@dataclass(frozen=True, slots=True)
class Sides:
    """A number or share for each of two books."""

    left: float
    right: float

    @property
    def least(self) -> float:
        return min(self.left, self.right)

    @property
    def most(self) -> float:
        return max(self.left, self.right)

    def swapped(self) -> "Sides":
        return Sides(self.right, self.left)


@dataclass(frozen=True, slots=True)
class Signals:
    """All figures from which a classifier decides a relation; shares are 0 to 1."""

    unit: Unit
    text_pages: Sides  # pages with enough text, without repeated scans of a page
    book_similarity: float  # Jaccard similarity of the books' shingles
    page_similarity: float  # mean similarity of matching pages
    text_shared: Sides  # share of the text that the other book contains: containment
    typical_share: float  # typical share of a matching page that is found, before the correction for noise
    pages_matched: Sides  # share of the text pages that match one to one with the same breaks
    span_matched: Sides  # share of the text pages that match in this way within the longest span
    span: Sides  # share of the text pages between the ends of the longest span
    other_breaks: float  # share of the found pages that cross page breaks of the other book
    revised: float  # share of the pages within runs that the other book replaces by pages with other text
    consecutive_correlation: float  # relative consecutive page correlation (section IV-B 3)
    runs: int
    fit: LinearFit | None  # None: nothing matches
    reverse_fit: LinearFit | None  # from pages of the right book to pages of the left
    common_matter: CommonMatter | None = None  # None: the books share no text, or more than a preface

    def swapped(self) -> "Signals":
        names = ("text_pages", "text_shared", "pages_matched", "span_matched", "span")
        sides = {name: getattr(self, name).swapped() for name in names}
        matter = self.common_matter and self.common_matter.swapped()
        return replace(self, **sides, fit=self.reverse_fit, reverse_fit=self.fit, common_matter=matter)


def measure(alignment: Alignment, book_similarity: float, words: Sides) -> Signals:
    """Compute the signals of two aligned books.

    `book_similarity` is the Jaccard similarity of their shingles, 0 to 1; `words` is the word count of each.
    """
    coverage, lengths = alignment.coverage, alignment.lengths
    counts = [max(int(np.count_nonzero(length)), 1) for length in lengths]
    matched = concatenated(alignment.runs)
    pairs = matched.pairs
    same_breaks = _with_same_breaks(matched, coverage, lengths)
    same = pairs[same_breaks]
    ordinals = [np.cumsum(length > 0) - 1 for length in lengths]
    places = np.column_stack([ordinals[side][same[:, side]] for side in (0, 1)])
    # A leaf scanned twice may be a separate run, whose pages belong between pages of another run.
    orders = (np.arange(len(places)), np.lexsort(places.T[::-1]), np.lexsort(places.T))
    span = max((longest_span(places[order]) for order in orders), key=len)
    extents = span[-1] - span[0] + 1 if len(span) else np.zeros(2)
    sizes = [length.size for length in lengths]
    run_numbers = np.repeat(np.arange(len(alignment.runs)), [len(run.pairs) for run in alignment.runs])
    return Signals(
        unit=alignment.unit,
        text_pages=Sides(*(float(np.count_nonzero(length)) for length in lengths)),
        book_similarity=book_similarity,
        page_similarity=float(matched.similarities.mean()) if len(pairs) else 0.0,
        text_shared=Sides(
            *(
                float((share * length).sum() / max(int(length.sum()), 1))
                for share, length in zip(coverage, lengths, strict=True)
            )
        ),
        typical_share=alignment.typical_coverage,
        pages_matched=Sides(*(np.unique(same[:, side]).size / counts[side] for side in (0, 1))),
        span_matched=Sides(*(len(span) / counts[side] for side in (0, 1))),
        span=Sides(*(float(extents[side]) / counts[side] for side in (0, 1))),
        other_breaks=_other_breaks(coverage, lengths, same),
        revised=_revised(alignment, same, run_numbers[same_breaks]),
        consecutive_correlation=_consecutive_correlation(matched, counts),
        runs=len(alignment.runs),
        fit=_fit(pairs, sizes) if len(pairs) else None,
        reverse_fit=_fit(pairs[:, ::-1], sizes[::-1]) if len(pairs) else None,
        common_matter=common_matter(coverage, lengths, (words.left, words.right)) if words.least else None,
    )


def longest_span(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the longest sequence of pairs (n, 2) that advances in both books, with gaps up to `SPAN_GAP`."""
    if not len(pairs):
        return pairs
    steps = np.diff(pairs, axis=0)
    breaks = np.flatnonzero(((steps < 1) | (steps > SPAN_GAP + 1)).any(axis=1)) + 1
    return max(np.split(pairs, breaks), key=len)


def _with_same_breaks(matched: Run, coverage: Shares, lengths: Lengths) -> NDArray[np.bool_]:
    """Return which pairs of pages match one to one with the same breaks, (pairs,)."""
    same = _mutual(matched)
    for side in (0, 1):
        pages = matched.pairs[:, side]
        same &= (coverage[side][pages] >= FOUND) & (lengths[side][pages] > 0)
    agree = matched.same_page >= SAME_BREAKS
    return same & (agree | _between(matched.pairs, agree))


def _mutual(matched: Run) -> NDArray[np.bool_]:
    """Return which pairs are the most similar pair of both their pages, (pairs,)."""
    mutual = np.ones(len(matched.pairs), dtype=np.bool_)
    for side in (0, 1):
        order = np.lexsort((-matched.similarities, matched.pairs[:, side]))
        page = matched.pairs[order, side]
        mutual[order[1:]] &= page[1:] != page[:-1]
    return mutual


def _between(pairs: NDArray[np.int64], agree: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which pairs are directly between two agreeing pairs; noise hides that their breaks agree too."""
    agreeing = {(i, j) for i, j in pairs[agree].tolist()}
    return np.array(
        [(i - 1, j - 1) in agreeing and (i + 1, j + 1) in agreeing for i, j in pairs.tolist()], dtype=np.bool_
    )


def _revised(alignment: Alignment, same: NDArray[np.int64], runs: NDArray[np.int64]) -> float:
    """Return the share of pages within runs that the other book replaces by pages with other text.

    Between two pairs of a run, the smaller number of unmatched pages of either book counts. A lost leaf does
    not count, because it is missing in one book only.
    """
    unmatched, pages = [], 0
    for side, (coverage, lengths) in enumerate(zip(alignment.coverage, alignment.lengths, strict=True)):
        counts = np.append(0, np.cumsum((coverage < FOUND) & (lengths > 0)))
        unmatched.append(np.diff(counts[same[:, side]]))
        for run in alignment.runs:
            pages += int(np.count_nonzero(lengths[slice(*(run.left, run.right)[side])]))
    replaced = np.minimum(*unmatched)[np.diff(runs) == 0]
    return 2 * float(np.maximum(replaced, 0).sum()) / max(pages, 1)


def _other_breaks(coverage: Shares, lengths: Lengths, same: NDArray[np.int64]) -> float:
    pages_found = across = 0
    for side in (0, 1):
        pages = (coverage[side] >= FOUND) & (lengths[side] > 0)
        pages_found += int(pages.sum())
        pages[same[:, side]] = False
        across += int(pages.sum())
    return across / max(pages_found, 1)


def _consecutive_correlation(matched: Run, counts: list[int]) -> float:
    """Sum the similarities of pages that match two consecutive pages, per page of the denser book."""
    dense = 0 if counts[0] <= counts[1] else 1
    order = np.lexsort((matched.pairs[:, 1 - dense], matched.pairs[:, dense]))
    page, other = matched.pairs[order, dense], matched.pairs[order, 1 - dense]
    similarity = matched.similarities[order]
    consecutive = (page[1:] == page[:-1]) & (other[1:] == other[:-1] + 1)
    return float((similarity[1:] + similarity[:-1])[consecutive].sum() / counts[dense])


def _fit(pairs: NDArray[np.int64], sizes: list[int]) -> LinearFit:
    x, y = pairs[:, 0].astype(np.float64), pairs[:, 1].astype(np.float64)
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread else 1.0
    intercept = float(y.mean() - slope * x.mean())
    return LinearFit(slope, intercept, sizes[1] - 1 - (slope * (sizes[0] - 1) + intercept))
