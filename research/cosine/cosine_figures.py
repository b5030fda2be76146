"""Error and time against the parts of a reference (Mohammadi and Nikoukaran 2018, figures 1 to 18)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.report import Cell, Section, Table
from research.cosine.cosine_samples import Sample, microseconds, samples
from research.cosine.letter_grams import cosines
from research.cosine.reference_strings import VALUE_BYTES, Reference, references
from research.cosine.similarity_errors import errors
from research.plot import Line, Plot

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
"""Mean absolute errors that the text and Table I print; nothing is read off the figures."""


@dataclass(frozen=True, slots=True)
class Point:
    """One reference in so many parts."""

    parts: int
    error: float
    per_text: float  # microseconds of signing


Curves = Mapping[str, Sequence[Point]]
"""The points of each reference, by its name."""


def run(out_dir: Path) -> Section:
    """Nine references in up to eleven numbers of parts, on News20 and on pages of books; a minute."""
    return measure(out_dir, samples(), PARTS)


def measure(out_dir: Path, kinds: Sequence[Sample], parts: Sequence[int]) -> Section:
    """A table and two plots in `out_dir` for each kind of text; the first is set beside the publication."""
    curves = [curves_of(kind, parts) for kind in kinds]
    tables = [_table(kind, each, parts) for kind, each in zip(kinds, curves, strict=True)]
    return Section(
        title="Mohammadi and Nikoukaran (2018): error against the parts of a reference",
        command="python -m research cosine_figures",
        tables=[*tables, _published(kinds[0], curves[0])],
        notes=[
            "3-gram frequencies are of the texts learnt from; the publication takes them from the Open "
            "American National Corpus, and of the rarest says in one place that News20 itself gave them. "
            "Only values that its text and Table I print stand beside ours, none read off its figures. As "
            "there, a reference of rare 3-grams needs few parts and gets worse with more, and many parts of "
            "all 3-grams come closer.",
            *(_lowest(kind, each) for kind, each in zip(kinds, curves, strict=True)),
            *(
                f"![{title}](results/{name})"
                for kind, each in zip(kinds, curves, strict=True)
                for title, name in _plots(out_dir, kind, each)
            ),
        ],
    )


def curves_of(kind: Sample, parts: Sequence[int]) -> Curves:
    """Each reference in every number of parts that it can be cut into, by its name."""
    return {
        reference.name: [point(kind, reference, count) for count in parts if count <= reference.most_parts]
        for reference in references(kind.learning)
    }


def point(kind: Sample, reference: Reference, parts: int) -> Point:
    """The error of one reference in so many parts, and its time."""
    signatures, taken = microseconds(lambda: reference.signatures(kind.columns, parts))
    error = errors(cosines(signatures), kind.truth).mean_absolute
    return Point(parts, error, taken / len(kind.texts))


def _lowest(kind: Sample, curves: Curves) -> str:
    error, parts, name = min(
        (each.error, each.parts, name) for name, points in curves.items() for each in points
    )
    return (
        f"The lowest error on {kind.name} is {error:.4f}, of {name} in {parts:,} parts: "
        f"{parts * VALUE_BYTES:,} bytes a text."
    )


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


def _published(kind: Sample, curves: Curves) -> Table:
    rows: list[list[Cell]] = []
    for (name, parts), value in PUBLISHED.items():
        ours = [each for each in curves.get(name, ()) if each.parts == parts]
        rows += [[name, parts, value, each.error, each.per_text] for each in ours]
    return Table(
        ["reference", "parts", "as published", "here", "signing, µs per text"],
        rows,
        f"Mean absolute errors that the publication prints, and those on {kind.name} here",
    )


def _plots(out_dir: Path, kind: Sample, curves: Curves) -> Iterator[tuple[str, str]]:
    """Error and time against parts; the title and file of each."""
    drawn: dict[str, tuple[str, Callable[[Point], float]]] = {
        "error": ("mean absolute error", lambda each: each.error),
        "time": ("signing, µs per text", lambda each: each.per_text),
    }
    for suffix, (label, value) in drawn.items():
        lines = [
            Line(name, [(each.parts, value(each)) for each in points]) for name, points in curves.items()
        ]
        title = f"Multi-reference cosine on {kind.name}: {label}"
        plot = Plot(title, "parts of the reference", label, lines, log_x=True, log_y=suffix == "time")
        file = f"cosine_figures_{kind.name.lower().replace(' ', '_')}_{suffix}.svg"
        plot.save(out_dir / file)
        yield title, file
