"""The classifier `filters-v1`, in the form of the classifier of Spasojević and Poncin (2011).

The signals (section IV-B), the confidence of a class as a product of filters (formula 4) and the fall-back to
OVERLAPPING_TEXT are from the paper. Every filter and combination is ours, set by hand for our page signatures
on the tuning half of the made pairs (`bench.data.book_pairs`). The only filter printed in the paper is not
used.
"""

from bookprint_core.model import Metadata
from bookprint_core.relations.classification import Classification, Kind, direction_of, most_confident
from bookprint_core.relations.signals import LinearFit, Sides, Signals

LEAST_CONFIDENCE = 0.7
"""Confidence that a class needs; otherwise the books overlap."""

_SHINGLE_OVER_NGRAM = 5.0
"""Ratio of the rates at which noise destroys shingles of five words and n-grams of six characters."""

_TELLING = 0.05
"""Minimum book similarity of equal books at which a comparison is possible despite noise."""


def high_pass(signal: float, none: float, full: float) -> float:
    """Return 1 from `full` on, 0 up to `none`, else 1 - ((full - signal) / (full - none))² as published."""
    return max(0.0, 1 - (max(full - signal, 0.0) / (full - none)) ** 2)


def low_pass(signal: float, full: float, none: float) -> float:
    """Return the mirror image of `high_pass`."""
    return high_pass(-signal, -none, -full)


def band(signal: float, none: tuple[float, float], full: tuple[float, float]) -> float:
    """Return the product of both filters: 1 between the values of `full`, 0 outside those of `none`."""
    return high_pass(signal, none[0], full[0]) * low_pass(signal, full[1], none[1])


def filters_v1(signals: Signals, left: Metadata, right: Metadata) -> Classification:
    """Classify two books by `filters-v1`; metadata are not a signal of the paper and are ignored."""
    if signals.fit is None:
        return _classification({"UNRELATED": 1.0}, signals, Sides(1.0, 1.0))
    extra = _extra(signals.fit, signals.text_pages)
    shared = _shared(signals)
    related = high_pass(shared, none=0.03, full=0.1) * high_pass(signals.page_similarity, none=0.1, full=0.16)
    raw: dict[Kind, float]
    if signals.unit == "window":
        raw = {"SAME_TEXT": related * high_pass(shared, 0.4, 0.7) * low_pass(extra.most, 0.2, 0.35)}
    else:
        wrapped = signals.consecutive_correlation / signals.page_similarity
        in_phase = low_pass(wrapped, full=0.02, none=0.1)
        raw = {
            "SAME_PAGINATION": in_phase
            * band(signals.fit.slope, none=(0.7, 1.4), full=(0.95, 1.05))
            * high_pass(shared, none=0.45, full=0.9)
            * low_pass(extra.most, full=0.12, none=0.3),
            "DIFFERENT_PAGINATION": high_pass(wrapped, none=0.02, full=0.15)
            * high_pass(shared, none=0.45, full=0.9)
            * low_pass(extra.most, full=0.12, none=0.3),
            "CONTIGUOUS_SUBSET": in_phase
            * band(signals.fit.slope, none=(0.5, 2.0), full=(0.95, 1.05))
            * high_pass(extra.most, none=0.12, full=0.3)
            * low_pass(extra.least, full=0.03, none=0.2)
            * high_pass(_contained(shared, signals.text_pages), none=0.4, full=0.95),
        }
    raw["UNRELATED"] = 1 - related
    return _classification(raw | {"OVERLAPPING_TEXT": LEAST_CONFIDENCE}, signals, extra)


def _extra(fit: LinearFit, pages: Sides) -> Sides:
    """Return the share of each book beyond the ends of the other, by offset and Δpage_count of the line."""
    ends = (fit.intercept, fit.delta_page_count)
    steepness = max(abs(fit.slope), 0.01)
    left = sum(max(-end, 0.0) for end in ends) / steepness / max(pages.left, 1)
    right = sum(max(end, 0.0) for end in ends) / max(pages.right, 1)
    return Sides(min(left, 1.0), min(right, 1.0))


def _shared(signals: Signals) -> float:
    """Return the ratio of book similarity to that of equal books with equal noise, about 1 for equal books.

    Page similarity measures the noise. Pages that shift in and out of phase lower it further, so the ratio
    rises.
    """
    page = 2 * signals.page_similarity / (1 + signals.page_similarity)
    shingles = page**_SHINGLE_OVER_NGRAM
    expected = shingles / (2 - shingles)
    return signals.book_similarity / expected if expected >= _TELLING else 1.0


def _contained(shared: float, pages: Sides) -> float:
    """Return the shared part of the smaller book, by its page count: about 1 for a part of the other."""
    return shared * (pages.left + pages.right) / ((1 + shared) * max(pages.least, 1))


def _classification(raw: dict[Kind, float], signals: Signals, extra: Sides) -> Classification:
    kind, confidences = most_confident(raw)
    part = Sides(extra.right, extra.left)
    return Classification(
        kind=kind,
        direction=direction_of(part) if kind == "CONTIGUOUS_SUBSET" else None,
        confidence=confidences[kind],
        confidences=confidences,
        because=_because(signals, extra),
    )


def _because(signals: Signals, extra: Sides) -> str:
    if signals.fit is None:
        return "No page of either book matches one of the other."
    return (
        f"Matching pages are {signals.page_similarity:.2f} alike, the books {signals.book_similarity:.2f}; "
        f"pages follow a line of slope {signals.fit.slope:.2f}, beyond which lie {extra.left:.0%} of this "
        f"book and {extra.right:.0%} of the other; consecutive page correlation is "
        f"{signals.consecutive_correlation:.2f}."
    )
