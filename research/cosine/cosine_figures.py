"""Error and time against the parts of a reference (Mohammadi and Nikoukaran 2018, figures 1 to 18)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.report import Cell, Section, Table
from research.cosine.cosine_samples import Sample, errors, microseconds, news_sample
from research.cosine.letter_grams import cosines
from research.cosine.reference_strings import Reference, references
from research.plot import Line, Plot, images

PARTS = (15, 30, 60, 120, 240, 480, 960, 1_920, 2_880, 3_840, 7_840)
PUBLISHED = {
    ("all 3-grams", 7_840): 0.062,
    ("3-grams that occur", 1_920): 0.0858,
    ("6000 to 8000 by frequency", 120): 0.1236,
    ("rarest 1000", 30): 0.13471,
    ("rarest 1000", 60): 0.12914,
    ("rarest 1500", 60): 0.12328,
    ("rarest 2000", 30): 0.1317,
}
"""Mean absolute errors printed in the text and Table I; none are read from the figures."""


@dataclass(frozen=True, slots=True)
class Point:
    """Figures of a reference in a number of parts."""

    parts: int
    error: float
    per_text: float  # microseconds of signing


Curves = Mapping[str, Sequence[Point]]
"""Reference names and their points."""


def run(out_dir: Path) -> Section:
    """Measure nine references in up to eleven numbers of parts on News20; takes a minute."""
    return measure(out_dir, news_sample(), PARTS)


def measure(out_dir: Path, kind: Sample, parts: Sequence[int]) -> Section:
    """Return a table with published figures, and write two plots to `out_dir`."""
    curves = curves_of(kind, parts)
    return Section(
        title="Mohammadi and Nikoukaran (2018): error against the parts of a reference",
        command="python -m research cosine_figures",
        tables=[_table(kind, curves, parts), _published(curves)],
        notes=[
            "3-gram frequencies are of the texts learnt from; the publication takes them from the Open "
            "American National Corpus, and of the rarest says in one place that News20 itself gave them. "
            "Only values that its text and Table I print stand beside ours, none read off its figures. As "
            "there, a reference of rare 3-grams needs few parts and gets worse with more, and many parts of "
            "all 3-grams come closer.",
            *_plots(out_dir, curves),
        ],
    )


def curves_of(kind: Sample, parts: Sequence[int]) -> Curves:
    """Measure each reference in all its possible numbers of parts; the keys are the names."""
    return {
        reference.name: [point(kind, reference, count) for count in parts if count <= reference.most_parts]
        for reference in references(kind.learning)
    }


def point(kind: Sample, reference: Reference, parts: int) -> Point:
    """Measure the error and the time of a reference in this number of parts."""
    signatures, taken = microseconds(lambda: reference.signatures(kind.columns, parts))
    error = errors(cosines(signatures), kind.truth).mean_absolute
    return Point(parts, error, taken / len(kind.texts))


def _table(kind: Sample, curves: Curves, parts: Sequence[int]) -> Table:
    rows: list[list[Cell]] = []
    for name, points in curves.items():
        errors_of = {each.parts: each.error for each in points}
        rows.append([name, *(errors_of.get(count) for count in parts)])
    return Table(
        ["reference", *(f"{count:,} parts" for count in parts)],
        rows,
        f"Mean absolute error against the cosine of 3-grams. {kind.described}",
    )


def _published(curves: Curves) -> Table:
    rows: list[list[Cell]] = []
    for (name, parts), value in PUBLISHED.items():
        ours = [each for each in curves.get(name, ()) if each.parts == parts]
        rows += [[name, parts, value, each.error, each.per_text] for each in ours]
    return Table(
        ["reference", "parts", "as published", "here", "signing, µs per text"],
        rows,
        "Mean absolute errors that the publication prints, and those on News20 here",
    )


def _plots(out_dir: Path, curves: Curves) -> list[str]:
    """Plot error and time against parts."""
    drawn: dict[str, tuple[str, Callable[[Point], float]]] = {
        "error": ("mean absolute error", lambda each: each.error),
        "time": ("signing, µs per text", lambda each: each.per_text),
    }
    plots = {}
    for suffix, (label, value) in drawn.items():
        lines = [Line(name, [(each.parts, value(each)) for each in of]) for name, of in curves.items()]
        title = f"Multi-reference cosine on News20: {label}"
        plot = Plot(title, "parts of the reference", label, lines, log_x=True, log_y=suffix == "time")
        plots[f"cosine_figures_news20_{suffix}.svg"] = plot
    return images(out_dir, plots)
