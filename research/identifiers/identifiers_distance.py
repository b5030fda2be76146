"""Precision and recall against Hamming distance, by brute force and by bands (Vladimir et al. 2015)."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.harness.f1_curves import Curve, Numbers, Words, curve_of
from bench.harness.report import Cell, Section, Table
from research.identifiers.all_pairs_join import (
    OURS,
    PAPER_24,
    PAPER_32,
    Counts,
    Pairs,
    banded_pairs,
    brute_pairs,
    same,
    tallies,
)
from research.identifiers.paper_sets import FULL, SHORT, SetPlan, SignedSet, signed_set
from research.plot import Line, Plot, images

D = 7
EXACT = (7, 15, 23, 37)
"""Distances of the joins: whole numbers of flips in each band, and the default recipe's best distance."""
BRUTE = "brute force"
WEIGHTINGS = ("tf", "gap")
SHOWN = 49
ASKED = 10_000
AS_MANY = 70_000
"""Minimum number of texts of a set that is comparable with the published times."""
BANDINGS = (PAPER_24, PAPER_32, *OURS)


@dataclass(frozen=True, slots=True)
class Published:
    """Best published F1 and time of a finder: 75,000 books, tf-simhash128, Intel Core 2 Quad, 2.66 GHz.

    d is 7 for brute force and bands of 24 bits, and not published for bands of 32 bits.
    """

    f1: float
    seconds: float


PAPER: Mapping[str, Published] = {
    BRUTE: Published(0.75, 29.73 * 60),
    PAPER_24.name: Published(0.73, 1.22 * 60),
    PAPER_32.name: Published(0.67, 8.55),
}

Curves = Mapping[tuple[str, str], Curve]
"""Curves by weighting and finder."""


def run(out_dir: Path) -> Section:
    """Measure short texts and whole books; takes some minutes, and more to make the sets."""
    return measure(out_dir, (SHORT, FULL))


def measure(out_dir: Path, plans: tuple[SetPlan, ...]) -> Section:
    """Return the tables of these sets, and write plots of each set to `out_dir`."""
    tables, plots = [], []
    for plan in plans:
        texts = signed_set(plan)
        curves = finder_curves(texts)
        caption = f"{plan.name[0].upper()}{plan.name[1:]}: {texts.caption}"
        tables += [
            quality_table(curves, caption),
            join_table(texts, caption, EXACT),
        ]
        plots += distance_plots(out_dir, plan.name, curves)
    return Section(
        title="Vladimir et al. (2015): precision and recall against Hamming distance",
        command="python -m research identifiers_distance",
        tables=tables,
        notes=[
            "Every text is a query; its class, as there, is the canonical text that it derives from. So two "
            "chunks of one novel are different books. Precision and recall are means over queries, F1 the "
            "mean of their harmonic means; “best d” is the d of the highest F1 on the same texts. By bands, "
            f"up to {ASKED:,} evenly spread texts are asked against all. Their set has 75,000 whole books "
            "(28 GB). “Best d” is chosen on the "
            "set that it is judged on, and gap on this corpus. Their times are averages, of an Intel Core 2 "
            "Quad at 2.66 GHz; ours find the pairs of fingerprints in memory on all cores, tables of "
            "buckets included. 128 bits are read as five bands of 24 with 8 bits left over, which the "
            "publication leaves open; nor does it give the d of its F1 for bands of 32, which the plot puts "
            "at 7.",
            *plots,
        ],
    )


def _of(texts: SignedSet, weighting: str) -> tuple[Words, NDArray[np.bool_]]:
    return (texts.tf, texts.has_tf) if weighting == "tf" else (texts.gap, texts.has_gap)


def finder_curves(texts: SignedSet) -> Curves:
    """Return the curve of each weighting and finder."""
    curves: dict[tuple[str, str], Curve] = {}
    for weighting in WEIGHTINGS:
        words, signed = _of(texts, weighting)
        rows = np.flatnonzero(signed)
        words, books, wanted = words[rows], texts.books[rows], texts.wanted[rows]
        curves[weighting, BRUTE] = _cumulated(tallies(words, books, np.arange(rows.size)), wanted, 0)
        queries = np.arange(0, rows.size, -(-rows.size // ASKED))
        for banding in (PAPER_24, PAPER_32):
            counts = tallies(words, books, queries, banding)
            curves[weighting, banding.name] = _cumulated(counts, wanted[queries], 0)
        counts = tallies(words, books, queries, OURS[0])
        for banding in OURS:
            curves[weighting, banding.name] = _cumulated(counts, wanted[queries], banding.flips)
    return curves


def _cumulated(counts: tuple[Counts, Counts], wanted: Numbers, flips: int) -> Curve:
    pairs, right = (each[: flips + 1].sum(axis=0, dtype=np.float64).cumsum(axis=1) for each in counts)
    return curve_of(pairs, right, wanted)


def quality_table(curves: Curves, caption: str) -> Table:
    """Return precision, recall and F1 of each finder at d = 7 and at its best d."""
    rows: list[list[Cell]] = []
    for (weighting, finder), each in curves.items():
        at_seven = [float(values[D]) for values in (each.precision, each.recall, each.f1)]
        best = [float(values[each.best]) for values in (each.precision, each.recall, each.f1)]
        paper = PAPER.get(finder) if weighting == "tf" else None
        rows.append([weighting, finder, *at_seven, None if paper is None else paper.f1, each.best, *best])
    measured = [f"precision, d ≤ {D}", "recall", "F1", "F1, Vladimir et al."]
    headers = ["weights", "finder", *measured, "best d", "precision there", "recall", "F1"]
    return Table(headers, rows, caption)


def join_table(texts: SignedSet, caption: str, distances: Sequence[int]) -> Table:
    """Return the time of each finder to join all pairs within these distances; `tf` only within 7 bits."""
    rows: list[list[Cell]] = []
    for weighting in WEIGHTINGS:
        words, signed = _of(texts, weighting)
        words = words[signed]
        # With tf half of all pairs of one language are within 23 bits, which do not fit in memory.
        for d in distances if weighting == "gap" else (D,):
            exact, seconds = _timed(brute_pairs, words, d)
            is_published = d == D and weighting == "tf" and texts.size > AS_MANY
            paper = PAPER.get(BRUTE) if is_published else None
            rows.append(_join_row((weighting, d, BRUTE), seconds, exact, None, paper))
            for banding in BANDINGS:
                if (d != D and banding.flips != d // 8) or (weighting == "tf" and banding.flips > 0):
                    continue  # useless, or useful only to join nearly all pairs
                pairs, seconds = _timed(banded_pairs, words, d, banding)
                paper = PAPER.get(banding.name) if is_published else None
                rows.append(_join_row((weighting, d, banding.name), seconds, pairs, exact, paper))
    headers = ["weights", "d", "finder", "seconds", "pairs", "as by brute force", "seconds, Vladimir et al."]
    return Table(headers, rows, f"All pairs within d. {caption}")


def _join_row(
    which: tuple[str, int, str], seconds: float, pairs: Pairs, exact: Pairs | None, paper: Published | None
) -> list[Cell]:
    verdict = "" if exact is None else "identical" if same(pairs, exact) else "some missing"
    return [*which, seconds, pairs.left.size, verdict, None if paper is None else paper.seconds]


def _timed(join: Callable[..., Pairs], words: Words, *arguments: object) -> tuple[Pairs, float]:
    """Return the pairs and the seconds of the join, after an uncounted first run."""
    join(words[:64], *arguments)
    started = time.perf_counter()
    pairs = join(words, *arguments)
    return pairs, time.perf_counter() - started


def _short(finder: str) -> str:
    """Return the finder's name, shortened for a legend."""
    return finder.replace(" bands of ", " × ")


def distance_plots(out_dir: Path, name: str, curves: Curves) -> list[str]:
    """Plot precision, recall and F1 against d in `out_dir`."""
    slug = name.replace(" ", "_").replace(",", "").replace("-", "_")
    finders = [*enumerate((BRUTE, PAPER_24.name, PAPER_32.name, OURS[1].name))]
    axis = "Hamming distance d, bits"
    plots: dict[str, Plot] = {}
    every: list[Line] = []
    for weighting in WEIGHTINGS:
        lines = []
        for kind, finder in finders:
            each, short = curves[weighting, finder], _short(finder)
            lines.append(Line(f"P, {short}", _points(each.precision), False, kind))
            lines.append(Line(f"R, {short}", _points(each.recall), True, kind))
            every.append(Line(f"{weighting}, {short}", _points(each.f1), weighting == "tf", kind))
        title = f"Precision P and recall R, {weighting}-simhash128, {name}"
        plot = Plot(title, axis, "share", lines, y_range=(0, 1))
        plots[f"identifiers_distance_{slug}_{weighting}.svg"] = plot
    for kind, (finder, paper) in enumerate(PAPER.items()):
        every.append(Line(f"Vladimir et al., {_short(finder)}", [(D, paper.f1)], kind=kind))
    plot = Plot(f"F1 against d, {name}", axis, "F1", every, y_range=(0, 1))
    return images(out_dir, plots | {f"identifiers_distance_{slug}_f1.svg": plot})


def _points(values: NDArray[np.float64]) -> list[tuple[float, float]]:
    return list(enumerate(values[:SHOWN].tolist()))
