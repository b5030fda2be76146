"""Single signals as classifiers: their values, and precision and recall at every threshold.

The signals of Spasojević and Poncin (2011, section IV-B) are independent of the order of the books: the line
is fitted over the pages of the book with fewer pages. Its ends are relative to the other book's page count.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.book_pairs import SHARES
from bench.harness.confusion import Share, wilson
from bookprint_core.relations.signals import Signals

STEEPEST = 2.0
"""Maximum doublings or halvings of the slope; steeper lines count as equally steep."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A value of a pair of books that may indicate its kind."""

    name: str
    published: bool  # by Spasojević and Poncin
    read: Callable[[Signals], float]


@dataclass(frozen=True, slots=True)
class Line:
    """The line through the matching pages, over the book with fewer pages."""

    steepness: float  # logarithm of the slope to base 2, within `STEEPEST`; 0 without matches
    offset: float  # b, as a share of the other book's pages; -1 to 1
    behind: float  # Δpage_count, as a share of the other book's pages


def fitted_line(signals: Signals) -> Line:
    """Return the line of formulas 2 and 3 of Spasojević and Poncin (2011)."""
    pages = signals.text_pages
    fit = signals.fit if pages.left <= pages.right else signals.reverse_fit
    if fit is None:
        return Line(0.0, 0.0, 0.0)
    steepness = log2(fit.slope) if fit.slope > 2**-STEEPEST else -STEEPEST
    ends = (end / max(pages.most, 1) for end in (fit.intercept, fit.delta_page_count))
    offset, behind = (min(max(end, -1.0), 1.0) for end in ends)
    return Line(min(steepness, STEEPEST), offset, behind)


SINGLE: Sequence[Signal] = (
    Signal("book similarity", True, lambda signals: signals.book_similarity),
    Signal("page similarity", True, lambda signals: signals.page_similarity),
    Signal("slope, distance from 1", True, lambda signals: abs(fitted_line(signals).steepness)),
    Signal("offset b", True, lambda signals: abs(fitted_line(signals).offset)),
    Signal("Δpage_count", True, lambda signals: abs(fitted_line(signals).behind)),
    Signal("consecutive page correlation", True, lambda signals: signals.consecutive_correlation),
    Signal("pages matched, of the book with less", False, lambda signals: signals.pages_matched.least),
    Signal("longest span, of the book with more", False, lambda signals: signals.span_matched.most),
    Signal("text shared, of the book with less", False, lambda signals: signals.text_shared.least),
    Signal("text shared, of the book with more", False, lambda signals: signals.text_shared.most),
    Signal("pages across other breaks", False, lambda signals: signals.other_breaks),
    Signal("revised pages", False, lambda signals: signals.revised),
)
"""Signals of Spasojević and Poncin (2011) and ours, independent of the order of the books."""


@dataclass(frozen=True, slots=True)
class Point:
    """A threshold on one signal, and its quality as an indicator of one kind."""

    threshold: float
    above: bool  # the kind has signals at or above the threshold; False: at or below it
    precision: Share  # weighted by the kinds' shares in Table I
    recall: Share

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        total = self.precision.value + self.recall.value
        return 2 * self.precision.value * self.recall.value / total if total else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Quality of a signal as indicator of a kind at every threshold, beginning with the strictest."""

    above: bool
    thresholds: NDArray[np.float64]  # (n,) the occurring values
    precision: NDArray[np.float64]  # (n,) 0 to 1
    recall: NDArray[np.float64]  # (n,) ascending
    worth: NDArray[np.float64]  # (n,) effective number of passing pairs
    pairs: int  # number of pairs of the kind

    @property
    def f1(self) -> NDArray[np.float64]:
        """Return the harmonic means, (n,)."""
        total = self.precision + self.recall
        return np.divide(2 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0)

    @property
    def best(self) -> Point:
        """Return the threshold of the highest F1."""
        at = int(np.argmax(self.f1))
        return Point(
            threshold=float(self.thresholds[at]),
            above=self.above,
            precision=wilson(float(self.precision[at]), float(self.worth[at])),
            recall=wilson(float(self.recall[at]), self.pairs),
        )

    def recall_at(self, precision: float) -> float:
        """Return the highest recall at this precision or a better one; 0 if no threshold reaches it."""
        return float(self.recall[self.precision >= precision].max(initial=0.0))


def sweep(
    values: NDArray[np.float64],
    kinds: NDArray[np.str_],
    kind: str,
    above: bool,
    shares: Mapping[Any, float] = SHARES,
) -> Sweep:
    """Measure every threshold of a signal, (pairs,), as indicator of one kind.

    `shares` weight the kinds. A kind without a share, such as UNRELATED, is ignored, as in
    `Confusion.precision`.
    """
    totals = {each: int(np.count_nonzero(kinds == each)) for each in np.unique(kinds).tolist()}
    weight_of = {each: shares.get(each, 0.0) / total for each, total in totals.items()}
    order = np.argsort(-values if above else values, kind="stable")
    ordered = values[order]
    last = np.append(ordered[1:] != ordered[:-1], True)  # equal values pass together
    weights = np.array([weight_of[each] for each in kinds[order].tolist()])
    right = kinds[order] == kind
    passing = np.cumsum(weights)[last]
    squares = np.cumsum(weights**2)[last]
    found = np.cumsum(weights * right)[last]
    known = squares > 0
    return Sweep(
        above=above,
        thresholds=ordered[last],
        precision=np.divide(found, passing, out=np.zeros_like(found), where=known),
        recall=np.cumsum(right)[last] / max(totals.get(kind, 0), 1),
        worth=np.divide(passing**2, squares, out=np.zeros_like(found), where=known),
        pairs=totals.get(kind, 0),
    )


def better_sweep(values: NDArray[np.float64], kinds: NDArray[np.str_], kind: str) -> Sweep:
    """Return the sweep from above or from below, whichever has the higher F1."""
    return max((sweep(values, kinds, kind, above) for above in (True, False)), key=lambda each: each.f1.max())
