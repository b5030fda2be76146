"""Pairs of books with signals made up for tests."""

from dataclasses import replace

from app.core.model import Metadata
from app.core.relations.signals import LinearFit, Sides, Signals
from research.relations.measured_pairs import MeasuredPair

SIGNALS = Signals(
    unit="page",
    text_pages=Sides(100, 100),
    book_similarity=0.5,
    page_similarity=0.7,
    text_shared=Sides(0.95, 0.9),
    typical_share=0.8,
    pages_matched=Sides(0.9, 0.85),
    span_matched=Sides(0.7, 0.8),
    span=Sides(0.75, 0.85),
    other_breaks=0.02,
    revised=0.0,
    consecutive_correlation=0.01,
    runs=2,
    fit=LinearFit(1.0, 2.0, -1.0),
    reverse_fit=LinearFit(1.0, -2.0, 1.0),
)


_NO_METADATA = (Metadata(), Metadata())


def pair(work: str, metadata: tuple[Metadata, Metadata] = _NO_METADATA, **signals: float) -> MeasuredPair:
    """A pair of two books of one work, of which all classifiers say that it is of one pagination."""
    predicted = dict.fromkeys(("shares-v1", "filters-v1"), "SAME_PAGINATION")
    return MeasuredPair(replace(SIGNALS, **signals), metadata, (work, work), predicted)
