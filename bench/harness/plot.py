"""Line plots as SVG files, without a plotting library.

Colours read on light and on dark pages; every series also has a marker of its own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 230, 44, 56
_COLOURS = ("#3b76c4", "#d1642c", "#3d9a5b", "#a4499a", "#b08c1e", "#c23f4e", "#4aa3a8", "#7a7a7a")
_MARKERS = ("circle", "square", "diamond", "triangle")
_INK = "#777777"


@dataclass(frozen=True, slots=True)
class Line:
    """One series of (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    kind: int | None = None  # lines of one kind have one colour and marker; None: its own


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over one pair of axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    x_range: tuple[float, float] | None = None  # None: what the points span
    y_range: tuple[float, float] | None = None

    def save(self, path: Path) -> None:
        """Write the plot as an SVG file."""
        path.write_text(self.to_svg(), encoding="utf-8")

    def to_svg(self) -> str:
        """The plot as SVG text."""
        xs = _Axis.over([x for line in self.lines for x, _ in line.points], self.log_x, self.x_range)
        ys = _Axis.over([y for line in self.lines for _, y in line.points], self.log_y, self.y_range)
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
            f'height="{_HEIGHT}" font-family="sans-serif" font-size="12" fill="{_INK}">',
            f"<title>{escape(self.title)}</title>",
            _text(_LEFT, 22, self.title, size=15),
        ]
        for value in xs.ticks():
            x = xs.place(value, _LEFT, right)
            parts.append(_rule(x, _TOP, x, bottom))
            parts.append(_text(x, bottom + 18, _number(value), anchor="middle"))
        for value in ys.ticks():
            y = ys.place(value, bottom, _TOP)
            parts.append(_rule(_LEFT, y, right, y))
            parts.append(_text(_LEFT - 8, y + 4, _number(value), anchor="end"))
        parts.append(_text((_LEFT + right) / 2, _HEIGHT - 14, self.x_label, anchor="middle"))
        middle = (_TOP + bottom) / 2
        parts.append(
            f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">'
            f"{escape(self.y_label)}</text>"
        )
        for number, line in enumerate(self.lines):
            places = [
                (xs.place(x, _LEFT, right), ys.place(y, bottom, _TOP))
                for x, y in line.points
                if xs.holds(x) and ys.holds(y)
            ]
            kind = number if line.kind is None else line.kind
            parts.append(_drawn(line, places, kind))
            parts.append(_legend(line, kind, right + 16, _TOP + 10 + 20 * number))
        return "\n".join([*parts, "</svg>"]) + "\n"


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    is_log: bool

    @classmethod
    def over(cls, values: Sequence[float], is_log: bool, given: tuple[float, float] | None) -> "_Axis":
        """An axis that spans the values, or what is given; a linear one begins at 0 where it can."""
        if given is not None:
            return cls(*given, is_log)
        usable = [value for value in values if not is_log or value > 0] or [1.0]
        low, high = min(usable), max(usable)
        if is_log:
            return cls(low / 1.3, high * 1.3, True)
        low = min(0.0, low)
        return cls(low, high + 0.05 * (high - low or 1.0), False)

    def holds(self, value: float) -> bool:
        """Whether the value lies on the axis."""
        return self.low <= value <= self.high

    def place(self, value: float, start: float, end: float) -> float:
        """Where a value lies between two ends of the drawing."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return start + (end - start) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round values along the axis."""
        if self.is_log:
            steps = (1, 2, 5) if self.high / self.low < 1000 else (1,)
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            values = [step * 10.0**decade for decade in decades for step in steps]
        else:
            rough = (self.high - self.low) / 6
            step = 10.0 ** math.floor(math.log10(rough))
            step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= rough)
            first = math.ceil(self.low / step)
            values = [step * number for number in range(first, math.floor(self.high / step) + 1)]
        return [value for value in values if self.holds(value)]


def _drawn(line: Line, places: Sequence[tuple[float, float]], kind: int) -> str:
    colour = _COLOURS[kind % len(_COLOURS)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dash = ' stroke-dasharray="6 4"' if line.dashed else ""
    path = f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    # Where points lie dense, markers would hide the line.
    marks = places if len(places) <= 20 else []
    return "\n".join([path, *(_marker(x, y, kind) for x, y in marks)])


def _legend(line: Line, kind: int, x: float, y: float) -> str:
    return "\n".join([_drawn(line, [(x, y), (x + 24, y)], kind), _text(x + 32, y + 4, line.name)])


def _marker(x: float, y: float, kind: int) -> str:
    colour, r = _COLOURS[kind % len(_COLOURS)], 4.0
    match _MARKERS[kind % len(_MARKERS)]:
        case "circle":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{colour}"/>'
        case "square":
            corners = [(-r, -r), (r, -r), (r, r), (-r, r)]
        case "diamond":
            corners = [(0, -1.3 * r), (1.3 * r, 0), (0, 1.3 * r), (-1.3 * r, 0)]
        case _:
            corners = [(0, -1.2 * r), (1.2 * r, r), (-1.2 * r, r)]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{_INK}" stroke-opacity="0.25"/>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _number(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g} M"
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
