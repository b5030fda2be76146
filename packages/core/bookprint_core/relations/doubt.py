"""The doubt about a relation whose figures are near a threshold or contradict each other.

A confidence expresses the accuracy of each figure, but not contradictions between figures, which make a
wrong relation more likely. Thresholds and weights were chosen on real pairs of half the works, and measured
on the other half: docs/why/decisions/0044-reviews.md.
"""

from math import log2, prod

from bookprint_core.relations.classification import (
    MOST,
    PART,
    RELATED,
    REVISED_LINES,
    SAME_TEXT,
    Classification,
)
from bookprint_core.relations.signals import Sides, Signals

_BELOW_PART, _ABOVE_PART = 0.4, 0.03  # distances from `PART` at which the doubt is 0
_ACCURACY = 0.05  # excess of the share by shingles over the share by pages at which the doubt is 0
_CONTRADICTION = 0.3  # further excess at which one of these shares is certainly wrong
_DOUBLINGS = 3.0  # doublings or halvings of `REVISED_LINES` at which the doubt is 0
_LEAST_DOUBT = 0.05  # share of the doubt that one figure leaves to the others


def doubt(
    found: Classification, signals: Signals | None, words: Sides, revised: float | None = None
) -> float:
    """Compute the doubt about the relation of two books, 0 to 1; it is symmetric."""
    doubts = [1 - found.confidence]
    if signals is not None:
        is_related = found.kind in RELATED
        doubts.append((1 - _LEAST_DOUBT) * _by_shingles(signals, words))
        if is_related and found.kind not in SAME_TEXT:
            doubts.append((1 - _LEAST_DOUBT) * _near_part(signals.text_shared))
        if is_related:
            doubts.append(0.5 * _by_length(signals.text_shared, words))
        # By metadata the books are issues of one form, but by text copies.
        if found.kind == "OVERLAPPING_TEXT" and signals.text_shared.least > MOST and revised is None:
            doubts.append(0.5)
    if revised is not None:
        distance = abs(log2(max(revised, 1e-4) / REVISED_LINES))
        doubts.append((1 - _LEAST_DOUBT) * _within(1 - distance / _DOUBLINGS))
    return 1 - prod(1 - each for each in doubts)


def _near_part(shared: Sides) -> float:
    """Compute the doubt whether a book is a part of the other book, from the distance to `PART`."""
    if shared.least >= MOST:
        return 0.0
    distance = shared.most - PART
    return _within(1 - (distance / _ABOVE_PART if distance > 0 else -distance / _BELOW_PART))


def _by_shingles(signals: Signals, words: Sides) -> float:
    """Compute the doubt from a larger common share by shingles than by matching pages."""
    if not words.least:
        return 0.0
    similarity = signals.book_similarity
    share = min(similarity / (1 + similarity) * (words.left + words.right) / words.least, 1.0)
    return _within((share - signals.text_shared.most - _ACCURACY) / _CONTRADICTION)


def _by_length(shared: Sides, words: Sides) -> float:
    """Compute the doubt from different lengths of the common text in the two books."""
    lengths = shared.left * words.left, shared.right * words.right
    if min(lengths) <= 0 or shared.most <= 0.5:
        return 0.0
    return _within(abs(log2(lengths[0] / lengths[1])))


def _within(figure: float) -> float:
    return min(max(figure, 0.0), 1.0)
