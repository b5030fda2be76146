"""F1 of clusters at 128 bits: k-means from more starts, and a threshold graph (Vladimir et al. 2015, 5.1).

k-means is told the number of clusters, and one start finds the best clusters rarely. Two methods are told
nothing but d. The clusters of a threshold graph are texts that a chain of others connects, each within d bits
of the next. Average linkage (Sokal and Michener 1958) joins clusters while their texts lie within d bits on
average.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist

from bench.data.paper_sets import SEED, canonical_books
from bench.harness.report import Cell, Section, Table
from bench.papers.identifiers.identifiers_length import (
    BOOKS,
    DERIVATIVES,
    PAPER_F1,
    PAPER_LENGTH,
    PAPER_RATE,
    RATES,
    WEIGHTINGS,
    Bits,
    clustered,
    signed,
)

STARTS = (1, 10, 100)
HALVINGS = 10
Method = Literal["single", "average"]
METHODS: Sequence[Method] = ("single", "average")
"""By the names of linkage: single linkage within d makes the clusters of a threshold graph."""

Numbers = NDArray[np.int64]


def run(out_dir: Path) -> Section:
    """Cluster a hundred books, each with nine derivatives at each of four error rates; two minutes."""
    return measure(BOOKS, RATES)


def measure(books: int, rates: Sequence[float]) -> Section:
    """The table of these error rates."""
    chosen = canonical_books(books)
    classes = np.repeat(np.arange(len(chosen)), DERIVATIVES + 1)
    sets = {rate: signed(chosen, rate) for rate in rates}
    rows: list[list[Cell]] = []
    for weighting in WEIGHTINGS:
        for rate, of_rate in sets.items():
            bits = of_rate[weighting][:, :PAPER_LENGTH]
            by_means = [clustered(bits, classes, starts) for starts in STARTS]
            theirs = PAPER_F1 if (weighting, rate) == ("tf", PAPER_RATE) else None
            graph, average = (fitted(bits, classes, method) for method in METHODS)
            rows.append([weighting, f"{rate:.0%}", *by_means, theirs, *graph, *average])
    return Section(
        title="Vladimir et al. (2015): F1 of clusters, by more starts and without their number",
        command="python -m bench identifiers_clusters",
        tables=[
            Table(
                [
                    "weights",
                    "error rate",
                    *(f"k-means, {starts} start{'s' * (starts > 1)}" for starts in STARTS),
                    "k-means, Vladimir et al.",
                    "threshold graph",
                    "d fitted",
                    "average linkage",
                    "d fitted",
                ],
                rows,
                f"F1 of clusters: {len(chosen)} books, {DERIVATIVES} derivatives each, {PAPER_LENGTH} bits",
            )
        ],
        notes=[
            f"The texts of `python -m bench identifiers_length`. k-means: k = {len(chosen)}, of all starts "
            "(k-means++) the one with the least inertia; Vladimir et al. give no number of starts. The "
            "threshold graph joins texts within d bits, average linkage clusters whose texts are as near "
            "on average. Their d is fitted on half of the books, F1 is of pairs with the other half, the "
            f"mean of {HALVINGS} halvings both ways, as is the d. F1 is of pairs: two texts of one cluster "
            "are found, two of one book are wanted."
        ],
    )


def fitted(bits: Bits, classes: Numbers, method: Method) -> tuple[float, float]:
    """F1 of the pairs in clusters within d, 0 to 1, and d, which is fitted on other classes."""
    rng = np.random.default_rng(SEED)
    names = np.unique(classes)
    left, right = np.triu_indices(classes.size, 1)
    steps, same = joined_at(bits, method), classes[left] == classes[right]
    scores, limits = [], []
    for _ in range(HALVINGS):
        first = np.isin(classes, rng.permutation(names)[: names.size // 2])
        for half in (first, ~first):
            inside = half[left] & half[right]
            f1 = pairs_f1(joined_at(bits[half], method), same[inside])
            best = np.flatnonzero(f1 == f1.max())  # the middle of all that are as good
            limits.append(best[best.size // 2])
            scores.append(pairs_f1(steps[~inside], same[~inside])[limits[-1]])
    return float(np.mean(scores)), float(np.mean(limits))


def joined_at(bits: Bits, method: Method) -> Numbers:
    """For each pair of texts, i < j, the least d at which they are in one cluster; (pairs,)."""
    distances = pdist(bits, "cityblock")
    return np.asarray(np.ceil(cophenet(linkage(distances, method))), dtype=np.int64)


def pairs_f1(steps: Numbers, same: NDArray[np.bool_]) -> NDArray[np.float64]:
    """F1 of pairs by d, of pairs that are together from `steps` on; `same` where they are of one class."""
    found, right = (np.bincount(of, minlength=PAPER_LENGTH + 1).cumsum() for of in (steps, steps[same]))
    return np.asarray(2 * right / (found + np.count_nonzero(same)))
