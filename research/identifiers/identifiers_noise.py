"""Hamming distance against corruption rate for books of three sizes (Vladimir et al. 2015, figure 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.synthesis.noise import corrupt
from bench.data.hard_set import sign, studied_recipes
from bench.harness.checkout import processes
from bench.harness.corpus import CorpusBook
from bench.harness.report import Cell, Section, Table
from research.identifiers.paper_sets import SEED, canonical_books
from research.plot import Line, Plot, images

SIZES = (50_000, 300_000, 1_200_000)
"""Lengths in characters; the English book of the nearest length is used."""
RATES = tuple(percent / 100 for percent in range(1, 11))
DRAWS = 40
WEIGHTINGS = ("tf", "gap")
PERCENTILES = (5, 50, 95)


@dataclass(frozen=True, slots=True)
class Drift:
    """Bits by which each draw of errors changes the fingerprints of one book."""

    characters: int
    bits: dict[str, list[list[int]]]  # by weighting, rate and draw


def run(out_dir: Path) -> Section:
    """Corrupt three books at ten error rates, forty times each; takes about a minute."""
    return measure(out_dir, SIZES, DRAWS)


def measure(out_dir: Path, sizes: Sequence[int], draws: int) -> Section:
    """Return the table, and write a plot for each weighting to `out_dir`."""
    english = [book for book in canonical_books(at_least=0) if book.language == "en"]
    books = [nearest(english, size) for size in sizes]
    with processes() as pool:
        drifts = list(pool.map(drift, [book.text for book in books], [draws] * len(books)))
    plots = {f"identifiers_noise_{weighting}.svg": _plot(weighting, drifts) for weighting in WEIGHTINGS}
    return Section(
        title="Vladimir et al. (2015): Hamming distance against corruption rate",
        command="python -m research identifiers_noise",
        tables=[_table(drifts, draws)],
        notes=[
            "One English book of each size, `"
            + "`, `".join(book.id for book in books)
            + f"`, 128 bits. Errors are character errors alone, drawn {draws} times at each rate. "
            "Vladimir et al. (2015, figure 1) draw three books and print no values; there distance grows "
            "with the rate, and smaller books drift further. With gap both hold; with tf the longest of "
            "these books drifts as far as the shortest.",
            *images(out_dir, plots),
        ],
    )


def nearest(books: Sequence[CorpusBook], size: int) -> CorpusBook:
    """Return the book whose length is nearest to `size` characters."""
    return min(books, key=lambda book: abs(len(book.text) - size))


def drift(text: str, draws: int) -> Drift:
    """Return the bits by which errors change the fingerprints of one text."""
    recipes = studied_recipes(128)
    clean = sign(text, *recipes.values())
    bits: dict[str, list[list[int]]] = {weighting: [] for weighting in recipes}
    for number, rate in enumerate(RATES):
        rng = np.random.default_rng([SEED, number])
        noisy = np.stack([sign(corrupt(text, rate, rng), *recipes.values()) for _ in range(draws)])
        moved = np.bitwise_count(clean ^ noisy).reshape(draws, len(recipes), 2).sum(axis=2)
        for weighting, column in zip(recipes, moved.T, strict=True):
            bits[weighting].append([int(value) for value in column])
    return Drift(len(text), bits)


def _table(drifts: Sequence[Drift], draws: int) -> Table:
    rows: list[list[Cell]] = []
    for weighting in WEIGHTINGS:
        for each in drifts:
            spreads = [np.percentile(bits, PERCENTILES) for bits in each.bits[weighting]]
            cells = [f"{middle:.0f} ({low:.0f}–{high:.0f})" for low, middle, high in spreads]
            rows.append([weighting, each.characters, *cells])
    return Table(
        ["weights", "characters", *(f"{rate:.0%}" for rate in RATES)],
        rows,
        f"Bits moved at each character error rate: median (5–95 %) of {draws} draws",
    )


def _plot(weighting: str, drifts: Sequence[Drift]) -> Plot:
    lines = []
    for kind, each in enumerate(drifts):
        spreads = np.array([np.percentile(bits, PERCENTILES) for bits in each.bits[weighting]])
        for percentile, column in zip(PERCENTILES, spreads.T, strict=True):
            points = list(zip((100 * rate for rate in RATES), column.tolist(), strict=True))
            name = "median" if percentile == 50 else f"{percentile} %"
            lines.append(Line(f"{each.characters:,}, {name}", points, percentile != 50, kind))
    title = f"Hamming distance to the clean book, {weighting}-simhash128"
    return Plot(title, "character error rate, %", "bits of 128", lines, y_range=(0, 45))
