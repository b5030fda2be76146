"""How far the similarities estimated from signatures lie from those counted in the texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.matching.verification import evidence
from app.core.model import Sketch
from app.core.signatures.exact_overlap import ExactOverlap, distinct_shingles, overlap_of
from app.core.signatures.sketch import sketch
from bench.harness.corpus import corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table

EDGES = (0.0, 0.01, 0.1, 0.3, 0.6, 0.9, 1.0)
"""Of what is counted."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One pair: what was counted, and what its signatures say of it."""

    jaccard: float
    estimated_jaccard: float
    containment: float  # of the smaller book in the other
    by_minhash: float
    by_sample: float | None


def run(out_dir: Path) -> Section:
    """A minute."""
    estimates = estimates_of_real_pairs()
    return Section(
        title="Estimated similarities against those counted in the texts",
        command="python -m research estimate_errors",
        tables=[
            error_table(
                "Jaccard similarity by MinHash",
                [(each.jaccard, each.estimated_jaccard) for each in estimates],
            ),
            error_table(
                "Containment of the smaller book by MinHash",
                [(each.containment, each.by_minhash) for each in estimates],
            ),
            error_table(
                "Containment of the smaller book by the sample (FracMinHash)",
                [(each.containment, each.by_sample) for each in estimates if each.by_sample is not None],
            ),
        ],
        notes=[
            f"All {len(estimates)} labelled pairs of the corpus, whatever their relation. Counted in the "
            "distinct shingles of the whole texts, as `?exact=true` does on a relation. The expected error "
            "of a similarity s from 128 values is √(s(1 − s)/128), .044 at .5."
        ],
    )


def estimates_of_real_pairs() -> list[Estimate]:
    """Every labelled pair of the corpus whose books both have shingles."""
    folder = corpus_folder()
    pairs = corpus_pairs(folder)
    wanted = {name for pair in pairs for name in (pair.a, pair.b)}
    contents = {book.id: book.content for book in corpus_books(folder) if book.id in wanted}
    sketches = {name: sketch(content) for name, content in contents.items()}
    hashes = {name: distinct_shingles(content) for name, content in contents.items()}
    made = (
        estimate(
            sketches[pair.a],
            sketches[pair.b],
            overlap_of(hashes[pair.a], hashes[pair.b]),
        )
        for pair in pairs
    )
    return [each for each in made if each is not None]


def estimate(this: Sketch, other: Sketch, overlap: ExactOverlap) -> Estimate | None:
    """What two sketches say of an overlap; None where either book has no MinHash."""
    said = evidence(this, other)
    if said.jaccard is None or said.this_in_other is None or said.other_in_this is None:
        return None
    by_minhash = said.this_in_other if overlap.this <= overlap.other else said.other_in_this
    counted = max(overlap.this_in_other, overlap.other_in_this)
    return Estimate(overlap.jaccard, said.jaccard, counted, by_minhash, said.sampled)


def error_table(caption: str, pairs: Sequence[tuple[float, float]]) -> Table:
    """Mean error, mean and largest absolute error of (counted, estimated), by what was counted."""
    counted, estimated = (np.array(column) for column in zip(*pairs, strict=True))
    rows: list[list[Cell]] = []
    for low, high in [*pairwise(EDGES), (0.0, 1.0)]:
        inside = (counted >= low) & ((counted < high) | (high == 1.0))
        if inside.any():
            rows.append([f"{low:g} to {high:g}", *_errors(estimated[inside] - counted[inside])])
    return Table(
        ["counted", "pairs", "mean error", "mean |error|", "95 % of |errors|", "largest"], rows, caption
    )


def _errors(differences: Floats) -> list[Cell]:
    sizes = np.abs(differences)
    figures = (differences.mean(), sizes.mean(), np.percentile(sizes, 95), sizes.max())
    return [differences.size, *(round(float(figure), 4) for figure in figures)]
