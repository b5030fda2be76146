"""Line plots side by side in one SVG file, with the same axes and one legend."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.figure import Figure

_IN_A_ROW = 3


@dataclass(frozen=True, slots=True)
class Curve:
    """One series of (x, y); curves of one kind have one colour."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: int
    style: Literal["-", "--", ":"] = "-"


@dataclass(frozen=True, slots=True)
class Panels:
    """Curves of the same names in several plots, by the title of each."""

    title: str
    x_label: str
    y_label: str
    plots: Sequence[tuple[str, Sequence[Curve]]]
    y_range: tuple[float, float]

    def save(self, path: Path) -> None:
        """Write the plots as an SVG file, the same for the same figures."""
        with mpl.rc_context({"svg.hashsalt": "bookprint", "svg.fonttype": "none", "grid.alpha": 0.3}):
            rows = -(-len(self.plots) // _IN_A_ROW)
            figure = Figure(figsize=(14, 3.4 * rows), layout="constrained")
            grid = figure.subplots(rows, _IN_A_ROW, squeeze=False, sharex=True, sharey=True).ravel()
            for axes, (title, curves) in zip(grid, self.plots, strict=False):
                for curve in curves:
                    xs, ys = zip(*curve.points, strict=True)
                    axes.plot(xs, ys, curve.style, color=f"C{curve.kind % 10}", label=curve.name)
                axes.set(title=title, xlabel=self.x_label, ylabel=self.y_label, ylim=self.y_range)
                axes.grid(visible=True)
            for axes in grid:
                axes.label_outer()
            for axes in grid[len(self.plots) :]:
                axes.set_axis_off()
            figure.suptitle(self.title)
            figure.legend(*grid[0].get_legend_handles_labels(), loc="outside right center", fontsize="small")
            figure.savefig(path, format="svg", metadata={"Date": None})
