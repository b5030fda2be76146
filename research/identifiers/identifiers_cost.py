"""Cost of a fingerprint by book length and fingerprint length (Vladimir et al. 2015, figure 3)."""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from bench.data.hard_set import studied_recipes
from bench.harness.report import Cell, Section, Table
from bookprint_core.recipe import FingerprintRecipe
from bookprint_core.signatures.simhash import simhash
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from research.identifiers.paper_sets import canonical_books
from research.plot import Line, Plot, images

CHARACTERS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
LENGTHS = tuple(range(64, 257, 32))
USUAL = 600_000
ROUNDS = 9
WEIGHTINGS = ("tf", "gap")


def run(out_dir: Path) -> Section:
    """Time fingerprints of English texts of up to ten million characters; takes less than a minute."""
    return measure(out_dir, CHARACTERS, ROUNDS)


def measure(out_dir: Path, characters: Sequence[int], rounds: int) -> Section:
    """Return the tables, and write two plots to `out_dir`."""
    english = "\n".join(book.text for book in canonical_books() if book.language == "en")
    usual = english[:USUAL]
    by_size = {
        weighting: [milliseconds(english[:size], recipe, rounds) for size in characters]
        for weighting, recipe in studied_recipes(128).items()
    }
    by_bits = {
        weighting: [milliseconds(usual, studied_recipes(bits)[weighting], rounds) for bits in LENGTHS]
        for weighting in WEIGHTINGS
    }
    sizes: list[list[Cell]] = [
        [weighting, *(round(value, 3) for value in values)] for weighting, values in by_size.items()
    ]
    lengths: list[list[Cell]] = []
    for weighting, values in by_bits.items():
        lengths.append([f"{weighting}, ms", *(round(value, 3) for value in values)])
        lengths.append([f"{weighting}, speed (64 bits = 1)", *(round(values[0] / v, 3) for v in values)])
    plots = {"identifiers_cost_bits.svg": _length_plot(by_bits)}
    return Section(
        title="Vladimir et al. (2015): cost of a fingerprint",
        command="python -m research identifiers_cost",
        tables=[
            Table(
                ["weights", *(f"{size:,} characters" for size in characters)],
                sizes,
                f"Milliseconds per book, 128 bits, English, median of {rounds} runs",
            ),
            Table(
                ["weights", *(f"{bits} bits" for bits in LENGTHS)],
                lengths,
                f"By length of the fingerprint, {USUAL:,} characters",
            ),
        ],
        notes=[
            "CPU time of one core from the decoded text to the bits, normalisation included. Vladimir et "
            "al. (2015, figure 3) draw speed relative to 64 bits and print no values; it falls as "
            "fingerprints grow there, presumably because every n-gram votes bit by bit. Here n-grams are "
            "counted once for any length, and a byte of signs votes at a time, so 256 bits cost little more "
            "than 64.",
            *images(out_dir, plots),
        ],
    )


def milliseconds(text: str, recipe: FingerprintRecipe, rounds: int) -> float:
    """Return the median CPU time to fingerprint a text, after one uncounted run."""
    times = []
    for turn in range(rounds + 1):
        started = time.process_time()
        simhash(normalise(content_from_text(text)), recipe)
        if turn:
            times.append(time.process_time() - started)
    return 1000 * statistics.median(times)


def _length_plot(times: dict[str, list[float]]) -> Plot:
    lines = [
        Line(weighting, [(bits, values[0] / value) for bits, value in zip(LENGTHS, values, strict=True)])
        for weighting, values in times.items()
    ]
    title = f"Speed by fingerprint length, {USUAL:,} characters"
    return Plot(title, "bits", "speed, 64 bits = 1", lines, y_range=(0, 1.1))
