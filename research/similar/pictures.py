"""Books as points of a plane, and their pictures as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """The two principal components of some rows."""

    places: NDArray[np.float64]  # (rows, 2)
    explained: tuple[float, float]  # shares of the variance, 0 to 1


def principal_components(rows: NDArray[np.floating]) -> Plane:
    """The rows (n, d) in their two principal components."""
    centred = rows.astype(np.float64) - rows.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    shares = values**2 / (values**2).sum()
    return Plane(left[:, :2] * values[:2], (float(shares[0]), float(shares[1])))


def save_map(
    title: str, places: NDArray[np.floating], kinds: Sequence[str], labels: Sequence[str], path: Path
) -> None:
    """Write the points (n, 2), coloured by kind and with their labels, as an SVG file."""
    with mpl.rc_context({"svg.hashsalt": "bookprint", "svg.fonttype": "none", "grid.alpha": 0.3}):
        figure = Figure(figsize=(9, 6), layout="constrained")
        axes = figure.subplots()
        for number, kind in enumerate(sorted(set(kinds))):
            own = [place for place, each in zip(places, kinds, strict=True) if each == kind]
            xs, ys = zip(*own, strict=True)
            axes.scatter(xs, ys, s=18, color=f"C{number % 10}", marker="osD^vP"[number // 10], label=kind)
        for (x, y), label in zip(places, labels, strict=True):
            axes.annotate(label, (x, y), (3, 3), textcoords="offset points", fontsize=6)
        axes.set(title=title)
        axes.grid(visible=True)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
        figure.savefig(path, format="svg", metadata={"Date": None})
