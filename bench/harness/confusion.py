"""Quality of a relation classifier: confusion matrix, precision, recall and F1, with Wilson intervals."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

Z95 = 1.959964
"""Standard deviations on either side of the mean that contain 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Share:
    """An estimated share, 0 to 1, and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ({100 * self.low:.1f}-{100 * self.high:.1f})"


def wilson(value: float, count: float) -> Share:
    """Return the Wilson score interval of a share observed in `count` cases; 0 to 1 without cases."""
    if count <= 0:
        return Share(0.0, 0.0, 1.0)
    scale = 1 + Z95**2 / count
    middle = (value + Z95**2 / (2 * count)) / scale
    reach = Z95 * sqrt(value * (1 - value) / count + Z95**2 / (4 * count**2)) / scale
    return Share(value, max(0.0, middle - reach), min(1.0, middle + reach))


class Confusion:
    """Counts of pairs by true and predicted kind."""

    def __init__(self, outcomes: Iterable[tuple[str, str]]) -> None:
        """Count `outcomes`, pairs of the true and the predicted kind."""
        self.counts = Counter(outcomes)

    def row(self, kind: str, predicted: Sequence[str]) -> list[int]:
        """Return the counts of pairs of this kind by predicted kind."""
        return [self.counts[kind, each] for each in predicted]

    def recall(self, kind: str) -> Share:
        """Return the share of pairs of this kind that were predicted as this kind."""
        total = sum(count for (true, _), count in self.counts.items() if true == kind)
        return wilson(self.counts[kind, kind] / max(total, 1), total)

    def precision(self, kind: str, shares: Mapping[Any, float]) -> Share:
        """Return the correct share of pairs predicted as this kind, weighted by the kinds' `shares`.

        The interval is for the effective number of pairs, (sum w)^2 / sum w^2.
        """
        totals: Counter[str] = Counter()
        for (true, _), count in self.counts.items():
            totals[true] += count
        predicted = [
            (true, count, shares.get(true, 0.0) / totals[true])
            for (true, predicted_kind), count in self.counts.items()
            if predicted_kind == kind
        ]
        weight = sum(count * each for _, count, each in predicted)
        right = sum(count * each for true, count, each in predicted if true == kind)
        squares = sum(count * each**2 for _, count, each in predicted)
        return wilson(right / weight, weight**2 / squares) if weight else wilson(0.0, 0)

    def macro_f1(self, kinds: Sequence[str]) -> float:
        """Return the mean F1 over the kinds, with all kinds equally common."""
        even = dict.fromkeys(kinds, 1 / len(kinds))
        return sum(
            _harmonic(self.precision(kind, even).value, self.recall(kind).value) for kind in kinds
        ) / len(kinds)


def _harmonic(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second else 0.0
