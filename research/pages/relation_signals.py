"""Single signals of relations (Spasojević and Poncin 2011, section V-A, figures 3 and 4)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.data.book_pairs import HARD, SEED, SHARES
from bench.harness.confusion import Confusion
from bench.harness.report import Cell, Section, Table
from research.pages.measured_pairs import BY_HAND, KnownPair, made
from research.pages.single_signals import SINGLE, Sweep, better_sweep, fitted_line
from research.plot import Line, Plot, images

PRECISE = (0.90, 0.95)
"""Precisions at which recall is reported; in Spasojević and Poncin (2011) recall falls above the first."""
PLOTTED = 150
"""Number of pairs of each kind in the plot of two similarities, and of points of a curve."""

Sweeps = Mapping[str, Sweep]
"""Signal names and their sweeps."""


def run(out_dir: Path) -> Section:
    """Measure the signals of made pairs; takes two minutes, including making the pairs."""
    return measure(out_dir, [each for each in made("report") if each.error_rate <= HARD])


def measure(out_dir: Path, pairs: Sequence[KnownPair]) -> Section:
    """Return the tables, and plot distributions by kind and single signals as classifiers to `out_dir`."""
    kinds = np.array([each.kind for each in pairs])
    values = {signal.name: np.array([signal.read(each.pair.signals) for each in pairs]) for signal in SINGLE}
    sweeps: dict[str, Sweeps] = {
        kind: {name: better_sweep(column, kinds, kind) for name, column in values.items()} for kind in SHARES
    }
    confusions = {
        name: Confusion((each.kind, each.pair.predicted[name]) for each in pairs) for name in BY_HAND
    }
    plots = _distribution_plots(pairs, kinds) | _curve_plots(sweeps, confusions)
    return Section(
        title="Spasojević and Poncin (2011): signals of relations one by one",
        command="python -m research relation_signals",
        tables=[_singles(kind, sweeps[kind], confusions) for kind in SHARES],
        notes=[
            "Spasojević and Poncin (2011), figures 3 and 4, on made pairs "
            f"(seed {SEED}, CER 0.5 to 5 %) in place of their training set. Their signals are computed from "
            "our page signatures and runs, not from their 34 MinHash values a page. Shares in %, with Wilson "
            "95 % intervals; precision is weighted to the proportions of their Table I, in which no pair is "
            "unrelated. The threshold of a single signal, and whether the class lies above or below it, is "
            "the best for these very pairs; so single signals are shown better than they are, and the "
            "classifiers are not. The line is fitted over the book with fewer text pages. Dashed lines are "
            "shares of ours, which the definitions of the classes name; they have none.",
            *images(out_dir, plots),
        ],
    )


def _f1(confusion: Confusion, kind: str) -> float:
    precision, recall = confusion.precision(kind, SHARES).value, confusion.recall(kind).value
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _percent(share: float) -> float:
    return round(100 * share, 1)


def _singles(kind: str, sweeps: Sweeps, confusions: Mapping[str, Confusion]) -> Table:
    rows: list[list[Cell]] = []
    for name, swept in sweeps.items():
        best = swept.best
        rows.append(
            [
                name,
                f"{'≥' if best.above else '≤'} {best.threshold:.3g}",
                str(best.precision),
                str(best.recall),
                _percent(best.f1),
                *(_percent(swept.recall_at(precision)) for precision in PRECISE),
            ]
        )
    for name, confusion in confusions.items():
        precision, recall = confusion.precision(kind, SHARES), confusion.recall(kind)
        f1 = _percent(_f1(confusion, kind))
        rows.append([f"`{name}`", "", str(precision), str(recall), f1, None, None])
    headers = ["signal", "threshold", "precision", "recall", "F1"]
    return Table(
        [*headers, *(f"recall at precision ≥ {100 * precision:.0f}" for precision in PRECISE)],
        rows,
        f"{kind} by one signal, at the threshold of its best F1",
    )


def _distribution_plots(pairs: Sequence[KnownPair], kinds: NDArray[np.str_]) -> dict[str, Plot]:
    """Return the plots of figure 3 by file name."""
    signals = [each.pair.signals for each in pairs]
    slopes = np.array([2 ** fitted_line(each).steepness for each in signals])
    correlations = np.array([each.consecutive_correlation for each in signals])
    similarities = np.array([(each.book_similarity, each.page_similarity) for each in signals])
    return {
        "relation_signals_slope.svg": _distribution("Slope of the line (figure 3a)", "slope", slopes, kinds),
        "relation_signals_correlation.svg": _distribution(
            "Consecutive page correlation (figure 3b)", "consecutive page correlation", correlations, kinds
        ),
        "relation_signals_similarities.svg": Plot(
            "Book and page similarity (figure 3c)",
            "book similarity",
            "page similarity",
            [Line(kind, _points(similarities[kinds == kind]), joined=False) for kind in SHARES],
        ),
    }


def _points(rows: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return evenly spaced rows of (n, 2)."""
    chosen = rows[:: max(1, len(rows) // PLOTTED)]
    return [(round(x, 4), round(y, 4)) for x, y in chosen.tolist()]


def _curve_plots(sweeps: Mapping[str, Sweeps], confusions: Mapping[str, Confusion]) -> dict[str, Plot]:
    """Return the plots of figure 4 by file name; our signals are dashed."""
    dashed = {signal.name: not signal.published for signal in SINGLE}
    plots = {}
    for kind in SHARES:
        lines = [_curve(name, swept, dashed[name]) for name, swept in sweeps[kind].items()]
        for name, confusion in confusions.items():
            point = (confusion.recall(kind).value, confusion.precision(kind, SHARES).value)
            lines.append(Line(name, [point], joined=False))
        plots[f"relation_signals_{kind.lower()}.svg"] = Plot(
            f"{kind} by single signals (figure 4)", "recall", "precision", lines, y_range=(0, 1.02)
        )
    return plots


def _distribution(title: str, label: str, column: NDArray[np.float64], kinds: NDArray[np.str_]) -> Plot:
    """Plot the cumulative distribution of each kind."""
    shares = np.linspace(0, 1, PLOTTED)
    lines = [
        Line(kind, _points(np.column_stack([np.quantile(column[kinds == kind], shares), shares])))
        for kind in SHARES
    ]
    return Plot(title, label, "share of pairs with at most so much", lines)


def _curve(name: str, swept: Sweep, dashed: bool) -> Line:
    """Return the curve of precision over recall, at enough thresholds for its shape."""
    shares = np.linspace(1 / PLOTTED, 1, PLOTTED)
    rows = np.unique(np.searchsorted(swept.recall, shares).clip(0, swept.recall.size - 1))
    return Line(name, _points(np.column_stack([swept.recall[rows], swept.precision[rows]])), dashed)
