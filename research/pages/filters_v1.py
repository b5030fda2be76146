"""The classifier `filters-v1`: ours, in the form of that of Spasojević and Poncin (2011).

The signals (section IV-B), the confidence of a class as a product of filters (formula 4) and the fall-back to
OVERLAPPING_TEXT are from the paper. Every filter and combination is ours, set by hand on the tuning half of
the made pairs (`bench.data.book_pairs`), on our page signatures. The one filter that the paper prints is not
used here; `research.pages.page_printed_filter` measures it.
"""

from bookprint_core.model import Metadata
from bookprint_core.relations.classification import Classification, Kind, direction_of, most_confident
from bookprint_core.relations.signals import LinearFit, Sides, Signals

LEAST_CONFIDENCE = 0.7
"""Books for which every class is less sure overlap."""

_SHINGLE_OVER_NGRAM = 5.0
"""The ratio at which noise destroys shingles of five words faster than n-grams of six characters."""

_TELLING = 0.05
"""Book similarity of equal books below which noise leaves nothing to compare with."""


def high_pass(signal: float, none: float, full: float) -> float:
    """1 from `full` on, falling to 0 at `none` as the paper's one: 1 - ((full - signal) / (full - none))²."""
    return max(0.0, 1 - (max(full - signal, 0.0) / (full - none)) ** 2)


def low_pass(signal: float, full: float, none: float) -> float:
    """The mirror image of `high_pass`."""
    return high_pass(-signal, -none, -full)


def band(signal: float, none: tuple[float, float], full: tuple[float, float]) -> float:
    """Both filters: 1 between the two values of `full`, 0 outside those of `none`."""
    return high_pass(signal, none[0], full[0]) * low_pass(signal, full[1], none[1])


def filters_v1(signals: Signals, left: Metadata, right: Metadata) -> Classification:
    """The class of two books by `filters-v1`; metadata are no signal of the paper's and not looked at."""
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
    """The share of each book beyond the ends of the other, by the offset and Δpage_count of the line."""
    ends = (fit.intercept, fit.delta_page_count)
    steepness = max(abs(fit.slope), 0.01)
    left = sum(max(-end, 0.0) for end in ends) / steepness / max(pages.left, 1)
    right = sum(max(end, 0.0) for end in ends) / max(pages.right, 1)
    return Sides(min(left, 1.0), min(right, 1.0))


def _shared(signals: Signals) -> float:
    """Book similarity over that of equal books with as much noise, by page similarity; about 1 for those.

    It is more where pages go in and out of phase: that lowers page similarity beyond noise.
    """
    page = 2 * signals.page_similarity / (1 + signals.page_similarity)
    shingles = page**_SHINGLE_OVER_NGRAM
    expected = shingles / (2 - shingles)
    return signals.book_similarity / expected if expected >= _TELLING else 1.0


def _contained(shared: float, pages: Sides) -> float:
    """The share of the smaller book that is shared, by its page count: about 1 for a part of the other."""
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
