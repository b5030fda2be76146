"""Plots as reproducible SVG files: lines, panels of lines, and labelled points."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

_IN_A_ROW = 3  # plots per row
_MARKERS = "osD^vPX*"
_MOST_MARKED = 20  # points; markers on more points would hide the line
_CROWDED = 3.0  # size of a marker in typographic points on lines with more points


@contextmanager
def _drawn(path: Path, width: float, height: float) -> Iterator[Figure]:
    """Yield a figure of this size in inches, and write it to the path afterwards."""
    with mpl.rc_context({"svg.hashsalt": "bookprint", "svg.fonttype": "none", "grid.alpha": 0.3}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.savefig(path, format="svg", metadata={"Date": None})


@dataclass(frozen=True, slots=True)
class Line:
    """A series of (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    kind: int | None = None  # lines of one kind share colour and marker; None: unique
    joined: bool = True  # False: only points


def _draw(axes: Axes, lines: Sequence[Line]) -> None:
    for number, line in enumerate(lines):
        kind = number if line.kind is None else line.kind
        few = len(line.points) <= _MOST_MARKED
        xs, ys = zip(*line.points, strict=True) if line.points else ((), ())
        axes.plot(
            xs,
            ys,
            linestyle=("--" if line.dashed else "-") if line.joined else "none",
            color=f"C{kind % 10}",
            marker=_MARKERS[kind % len(_MARKERS)] if few or not line.joined else None,
            markersize=None if few else _CROWDED,
            label=line.name,
        )
    axes.grid(visible=True)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of lines with one pair of axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    y_range: tuple[float, float] | None = None  # None: the range of the points

    def save(self, path: Path) -> None:
        """Write the plot as a reproducible SVG file."""
        with _drawn(path, 8, 4.5) as figure:
            axes = figure.subplots()
            _draw(axes, self.lines)
            axes.set(title=self.title, xlabel=self.x_label, ylabel=self.y_label, ylim=self.y_range)
            axes.set_xscale("log" if self.log_x else "linear")
            axes.set_yscale("log" if self.log_y else "linear")
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")


def images(out_dir: Path, plots: Mapping[str, "Plot | Panels"]) -> list[str]:
    """Write plots under their file names; return notes for the report that show them."""
    for name, plot in plots.items():
        plot.save(out_dir / name)
    return [f"![{plot.title}](results/{name})" for name, plot in plots.items()]


@dataclass(frozen=True, slots=True)
class Panels:
    """Several plots, by title, with lines of equal names."""

    title: str
    x_label: str
    y_label: str
    plots: Sequence[tuple[str, Sequence[Line]]]
    y_range: tuple[float, float]

    def save(self, path: Path) -> None:
        """Write the plots as an SVG file."""
        rows = -(-len(self.plots) // _IN_A_ROW)
        with _drawn(path, 14, 3.4 * rows) as figure:
            grid = figure.subplots(rows, _IN_A_ROW, squeeze=False, sharex=True, sharey=True).ravel()
            for axes, (title, lines) in zip(grid, self.plots, strict=False):
                _draw(axes, lines)
                axes.set(title=title, xlabel=self.x_label, ylabel=self.y_label, ylim=self.y_range)
            for axes in grid:
                axes.label_outer()
            for axes in grid[len(self.plots) :]:
                axes.set_axis_off()
            figure.suptitle(self.title)
            figure.legend(*grid[0].get_legend_handles_labels(), loc="outside right center", fontsize="small")


def save_map(
    title: str, places: NDArray[np.floating], kinds: Sequence[str], labels: Sequence[str], path: Path
) -> None:
    """Write the labelled points (n, 2), coloured by kind, as an SVG file."""
    with _drawn(path, 9, 6) as figure:
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
