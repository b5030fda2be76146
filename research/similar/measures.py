"""Quality of similarities for pairs of one series: average precision, recall of neighbours, F1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Pairs in the order of decreasing similarity."""

    series: Bools  # (pairs,)
    order: NDArray[np.int64]  # (pairs,) their original indices

    def average_precision(self, weights: Floats) -> float:
        """Return the mean precision at each pair of a series; `weights` weight the pairs, (pairs,)."""
        weights = weights[self.order]
        right = np.cumsum(weights * self.series)
        precision = right / np.maximum(np.cumsum(weights), 1e-300)
        return float((precision * weights * self.series).sum() / max(right[-1], 1e-300))

    def f1(self, weights: Floats) -> Floats:
        """Return F1 for the first 1, 2, … pairs, (pairs,)."""
        weights = weights[self.order]
        right = np.cumsum(weights * self.series)
        return np.asarray(2 * right / np.maximum(np.cumsum(weights) + right[-1], 1e-300))


def ranked(similarities: NDArray[np.floating], series: Bools) -> Ranked:
    """Rank the pairs; equal similarities keep their order."""
    order = np.argsort(-similarities, kind="stable")
    return Ranked(series[order], order)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of books by number, with their labels."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    series: Bools
    same_author: Bools
    half: NDArray[np.int64]  # half of the works of both books, 0 or 1

    def similarities(self, rows: NDArray[np.float32]) -> Floats:
        """Return the cosine of each pair, for rows of length 1."""
        return np.asarray(np.einsum("ij,ij->i", rows[self.a], rows[self.b]), dtype=np.float64)

    def weights(self, drawn: NDArray[np.int64]) -> Floats:
        """Return the number of occurrences of each pair if book i was drawn `drawn[i]` times."""
        return (drawn[self.a] * drawn[self.b]).astype(np.float64)


def crossed_f1(similarities: Floats, pairs: Pairs, weights: Floats) -> float:
    """Return F1 of all pairs, each half at the best cut-off of the other half."""
    right = taken = 0.0
    for half in (0, 1):
        other, own = pairs.half != half, pairs.half == half
        order = ranked(similarities[other], pairs.series[other])
        cut_off = similarities[other][order.order[int(np.argmax(order.f1(weights[other])))]]
        found = own & (similarities >= cut_off)
        taken += float(weights[found].sum())
        right += float(weights[found & pairs.series].sum())
    return 2 * right / max(taken + float(weights[pairs.series].sum()), 1e-300)


def neighbour_recall(similarities: Floats, pairs: Pairs, nearest: int) -> float:
    """Return the mean share of a series' other books among the `nearest` most similar books of each book."""
    shares: list[float] = []
    for book in np.unique(np.concatenate([pairs.a[pairs.series], pairs.b[pairs.series]])):
        own = np.flatnonzero((pairs.a == book) | (pairs.b == book))
        first = own[np.argsort(-similarities[own], kind="stable")][:nearest]
        shares.append(pairs.series[first].sum() / min(nearest, pairs.series[own].sum()))
    return float(np.mean(shares))


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and its 95 % interval over draws of works."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def interval(value: float, draws: NDArray[np.floating]) -> Interval:
    """Return the figure with its bootstrap interval."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return Interval(value, float(low), float(high))


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Two principal components of some rows."""

    places: NDArray[np.float64]  # (rows, 2)
    explained: tuple[float, float]  # shares of the variance, 0 to 1


def principal_components(rows: NDArray[np.floating]) -> Plane:
    """Return the rows (n, d) in their two principal components."""
    centred = rows.astype(np.float64) - rows.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    shares = values**2 / (values**2).sum()
    return Plane(left[:, :2] * values[:2], (float(shares[0]), float(shares[1])))
