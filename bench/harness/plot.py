"""Plots of lines and points as SVG files; every series has a colour and a marker of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"
_MOST_MARKED = 20  # points; where they lie denser, markers would hide the line
_CROWDED = 3.0  # typographic points across a marker where there are more


@dataclass(frozen=True, slots=True)
class Line:
    """One series of (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    kind: int | None = None  # lines of one kind have one colour and marker; None: its own
    joined: bool = True  # False: points alone


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over one pair of axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    y_range: tuple[float, float] | None = None  # None: what the points span

    def save(self, path: Path) -> None:
        """Write the plot as an SVG file, the same for the same figures."""
        with mpl.rc_context({"svg.hashsalt": "bookprint", "svg.fonttype": "none", "grid.alpha": 0.3}):
            figure = Figure(figsize=(8, 4.5), layout="constrained")
            axes = figure.subplots()
            for number, line in enumerate(self.lines):
                kind = number if line.kind is None else line.kind
                marked = not line.joined or len(line.points) <= _MOST_MARKED
                marker = _MARKERS[kind % len(_MARKERS)] if marked else None
                style = ("--" if line.dashed else "-") if line.joined else "none"
                size = _CROWDED if len(line.points) > _MOST_MARKED else None
                xs, ys = zip(*line.points, strict=True) if line.points else ((), ())
                axes.plot(
                    xs,
                    ys,
                    linestyle=style,
                    color=f"C{kind % 10}",
                    marker=marker,
                    markersize=size,
                    label=line.name,
                )
            axes.set(title=self.title, xlabel=self.x_label, ylabel=self.y_label, ylim=self.y_range)
            axes.set_xscale("log" if self.log_x else "linear")
            axes.set_yscale("log" if self.log_y else "linear")
            axes.grid(visible=True)
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
            figure.savefig(path, format="svg", metadata={"Date": None})


def images(out_dir: Path, plots: Mapping[str, Plot]) -> list[str]:
    """Write plots under their file names; a note for the report that shows each."""
    for name, plot in plots.items():
        plot.save(out_dir / name)
    return [f"![{plot.title}](results/{name})" for name, plot in plots.items()]
