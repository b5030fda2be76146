"""Recall of LSH bands of MinHash values by Jaccard similarity, predicted and measured.

Carpenter (2011, step 4) doubts formulas for recall and precision, because natural language is correlated. For
a pair of known similarity the formula is valid for any texts. But correlation gives strangers common
shingles. Therefore books of different works are compared with their words in order and in random order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.synthesis.noise import corrupt
from bench.harness.confusion import wilson
from bench.harness.corpus import CorpusBook, Pair, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bookprint_core.recipe import DEFAULT_MINHASH, minhash_recipe
from bookprint_core.signatures.exact_overlap import distinct_shingles, overlap_of
from bookprint_core.signatures.minhash import minhash
from bookprint_core.text.content import content_from_text
from research.identifiers.paper_sets import SEED, canonical_books
from research.plot import Line, Plot

SHAPES = ((64, 2), (42, 3), (32, 4), (16, 8))
"""Numbers of bands and of values per band."""
RATES = (0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
"""Character error rates of copies, whose similarities cover the whole range."""
CHARACTERS = 60_000
WORKS = 200
EDGES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

Values = NDArray[np.uint32]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPairs:
    """Similarity and equal MinHash values of pairs of texts."""

    similarity: NDArray[np.float64]  # (n,) exact Jaccard similarity
    equal: NDArray[np.bool_]  # (n, 128)


def run(out_dir: Path) -> Section:
    """Measure copies and strangers; takes some minutes."""
    return measure(out_dir, WORKS)


def measure(out_dir: Path, works: int) -> Section:
    """Return the tables, and write the plot to `out_dir`."""
    made = noisy_copies(works)
    bins = [*pairwise(EDGES)]
    lines = []
    for kind, (bands, rows) in enumerate(SHAPES):
        grid = np.linspace(0, 1, 101)
        curve = zip(grid.tolist(), predicted(grid, bands, rows).tolist(), strict=True)
        lines.append(Line(f"{bands} × {rows} predicted", [*curve], dashed=True, kind=kind))
        hits = found(made.equal, bands, rows)
        points = [
            (float(made.similarity[inside].mean()), float(hits[inside].mean()))
            for inside in (within(made.similarity, *edges) for edges in bins)
            if inside.any()
        ]
        lines.append(Line(f"{bands} × {rows} measured", points, kind=kind))
    name = "band_curves.svg"
    Plot("LSH bands of 128 MinHash values", "Jaccard similarity", "share of pairs found", lines).save(
        out_dir / name
    )
    return Section(
        title="Carpenter (2011): what LSH bands find, predicted and measured",
        command="python -m research band_curves",
        tables=[
            _table(made, bins, f"Copies with made OCR errors of {works} books of {CHARACTERS:,} characters"),
            strangers(canonical_books(at_least=CHARACTERS), corpus_pairs(corpus_folder())),
        ],
        notes=[
            "A pair is found where all values of one band are equal. For b bands of r values and a "
            "similarity s the formula predicts 1 − (1 − s^r)^b; it is averaged over the pairs of a "
            "line. Measured: the share found, with its 95 % interval (Wilson). Similarities are counted, not "
            "estimated. "
            f"Copies have {', '.join(f'{rate:.1%}' for rate in RATES)} wrong characters (seed {SEED}). At a "
            "given similarity the formula holds for any sets, so the first table cannot show whether "
            "natural language misleads it; the second shows what it does to strangers.",
            f"![LSH bands of 128 MinHash values](results/{name})",
        ],
    )


def noisy_copies(works: int) -> ComparedPairs:
    """Compare one book of each of `works` works with a copy at each error rate."""
    books = canonical_books(at_least=CHARACTERS)
    rng = np.random.default_rng(SEED)
    similarity, equal = [], []
    for place in rng.permutation(len(books))[:works].tolist():
        text = books[place].text[:CHARACTERS]
        hashes = _hashes(text)
        values = _values(hashes)
        for rate in RATES:
            noisy = _hashes(corrupt(text, rate, rng))
            similarity.append(overlap_of(hashes, noisy).jaccard)
            equal.append(values == _values(noisy))
    return ComparedPairs(np.array(similarity), np.array(equal))


def strangers(books: Sequence[CorpusBook], labelled: Sequence[Pair]) -> Table:
    """Count pairs of English books of different works with an equal band, also with shuffled words."""
    english = [book for book in books if book.language == "en"]
    known = {frozenset((pair.a, pair.b)) for pair in labelled}
    places = [
        (a, b)
        for a, b in combinations(range(len(english)), 2)
        if frozenset((english[a].id, english[b].id)) not in known
    ]
    rng = np.random.default_rng(SEED)
    texts = {
        "as they are": [book.text for book in english],
        "words in random order": [" ".join(rng.permutation(book.text.split())) for book in english],
    }
    rows: list[list[Cell]] = []
    for order, of_order in texts.items():
        values = [_values(_hashes(text)) for text in of_order]
        equal = np.array([values[a] == values[b] for a, b in places])
        rows.append([order, *(int(found(equal, *shape).sum()) for shape in ((128, 1), *SHAPES))])
    headers = ["texts", *(f"{bands} × {values}" for bands, values in ((128, 1), *SHAPES))]
    caption = f"{len(places):,} pairs of {len(english)} English books of different works that bands find"
    return Table(headers, rows, caption)


def predicted(similarity: NDArray[np.float64], bands: int, rows: int) -> NDArray[np.float64]:
    """Return the probability that bands find pairs of these similarities.

    >>> predicted(np.array([0.0, 0.5, 1.0]), 2, 2).tolist()
    [0.0, 0.4375, 1.0]
    """
    return np.asarray(1 - (1 - similarity**rows) ** bands)


def found(equal: NDArray[np.bool_], bands: int, rows: int) -> NDArray[np.bool_]:
    """Return for each row of equal values, (n, values), whether a whole band is equal, (n,)."""
    whole = np.all(equal[:, : bands * rows].reshape(-1, bands, rows), axis=2)
    return np.asarray(np.any(whole, axis=1))


def within(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    """Return which values are at least `low` and below `high`; 1 belongs to the last bin."""
    return np.asarray((values >= low) & ((values < high) | (high == 1.0)))


def _hashes(text: str) -> Hashes:
    return distinct_shingles(content_from_text(text))


def _values(hashes: Hashes) -> Values:
    signature = minhash(hashes, minhash_recipe(DEFAULT_MINHASH))
    assert signature is not None
    return signature.values


def _table(pairs: ComparedPairs, bins: Sequence[tuple[float, float]], caption: str) -> Table:
    rows: list[list[Cell]] = []
    for low, high in bins:
        inside = within(pairs.similarity, low, high)
        if not inside.any():
            continue
        row: list[Cell] = [f"{low:.2f} to {high:.2f}", int(inside.sum())]
        for bands, values in SHAPES:
            hits = float(found(pairs.equal[inside], bands, values).mean())
            share = wilson(hits, float(inside.sum()))
            row += [
                round(float(predicted(pairs.similarity[inside], bands, values).mean()), 3),
                f"{hits:.3f} ({share.low:.3f}–{share.high:.3f})",
            ]
        rows.append(row)
    headers = [text for bands, values in SHAPES for text in (f"{bands} × {values} predicted", "found")]
    return Table(["similarity", "pairs", *headers], rows, caption)
