"""F1 of k-means clusters against fingerprint length on the 1k set (Vladimir et al. 2015, figure 2)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from app.synthesis.noise import corrupt, edit_sentences
from bench.data.hard_set import EDITED, WIDEST, sign, studied_recipes
from bench.harness.checkout import processes
from bench.harness.corpus import CorpusBook
from bench.harness.report import Cell, Section, Table
from research.identifiers.paper_sets import SEED, canonical_books
from research.plot import Line, Plot, images

BOOKS = 100
DERIVATIVES = 9
RATES = (0.01, 0.03, 0.05, 0.10)
LENGTHS = tuple(range(64, WIDEST + 1, 32))
WEIGHTINGS = ("tf", "gap")
STARTS = 10
PAPER_LENGTH, PAPER_RATE, PAPER_F1 = 128, 0.05, 0.97
DONATED = 40_000

Bits = NDArray[np.uint8]
"""Bits of each text, (texts, 256)."""


def run(out_dir: Path) -> Section:
    """Cluster a hundred books with nine derivatives each at four error rates; takes some minutes."""
    return measure(out_dir, BOOKS, RATES)


def measure(out_dir: Path, books: int, rates: Sequence[float]) -> Section:
    """Return the table, and write a plot to `out_dir`."""
    chosen = canonical_books(books)
    sets = {rate: signed(chosen, rate) for rate in rates}
    classes = np.repeat(np.arange(len(chosen)), DERIVATIVES + 1)
    scores = {
        (weighting, rate): [clustered(bits[weighting][:, :length], classes) for length in LENGTHS]
        for weighting in WEIGHTINGS
        for rate, bits in sets.items()
    }
    rows: list[list[Cell]] = [
        [weighting, f"{rate:.0%}", *values] for (weighting, rate), values in scores.items()
    ]
    if PAPER_RATE in rates:
        paper: list[Cell] = [PAPER_F1 if length == PAPER_LENGTH else None for length in LENGTHS]
        rows.append(["tf, Vladimir et al.", f"{PAPER_RATE:.0%}", *paper])
    return Section(
        title="Vladimir et al. (2015): F1 of clusters against fingerprint length",
        command="python -m research identifiers_length",
        tables=[
            Table(
                ["weights", "error rate", *(f"{length} bits" for length in LENGTHS)],
                rows,
                f"F1 of k-means clusters: {len(chosen)} books, {DERIVATIVES} derivatives each",
            )
        ],
        notes=[
            f"k-means with k = {len(chosen)} on vectors of zeros and ones, the best of {STARTS} starts "
            "(k-means++). F1 is of pairs: two texts of one cluster are found, two of one book are wanted. "
            f"Each derivative has this error rate and up to {EDITED:.0%} of its sentences lost or "
            "foreign. The publication gives one value, F1 0.97 for 128 bits at an average rate of 5 %. "
            "At 1 % errors what is missing is k-means' own: a start that puts two centres into one book "
            "leaves two others to share a cluster. The best of 100 starts, measured once, had .927 to 1.",
            *images(out_dir, {"identifiers_length.svg": _plot(scores)}),
        ],
    )


def signed(books: Sequence[CorpusBook], rate: float) -> Mapping[str, Bits]:
    """Return the longest fingerprints of each book and its derivatives, by weighting."""
    with processes() as pool:
        work = partial(_sign_versions, rate)
        texts = [book.text for book in books]
        words = np.concatenate(list(pool.map(work, range(len(books)), texts, donors(books))))
    halves = np.split(words, len(WEIGHTINGS), axis=1)
    bits = [np.unpackbits(np.ascontiguousarray(half).view(np.uint8), axis=1) for half in halves]
    return dict(zip(studied_recipes(), bits, strict=True))


def texts_of(rate: float, number: int, text: str, donor: str) -> Iterator[str]:
    """Yield a book and its derivatives at this error rate, with sentences from the donor."""
    rng = np.random.default_rng([SEED, number, round(rate * 1000)])
    yield text
    for _ in range(DERIVATIVES):
        edited = edit_sentences(text, rng.uniform(0, EDITED), donor, rng)
        yield corrupt(edited, rate, rng)


def _sign_versions(rate: float, number: int, text: str, donor: str) -> NDArray[np.uint64]:
    recipes = studied_recipes().values()
    return np.stack([sign(version, *recipes) for version in texts_of(rate, number, text, donor)])


def donors(books: Sequence[CorpusBook]) -> list[str]:
    """Return the source of foreign sentences of each book: the beginning of the preceding book."""
    return [books[work - 1].text[:DONATED] for work in range(len(books))]


def clustered(bits: Bits, classes: NDArray[np.int64], starts: int = STARTS) -> float:
    """Return the F1 of pairs in one k-means cluster, 0 to 1, with as many clusters as classes."""
    count = np.unique(classes).size
    clusters = KMeans(count, n_init=starts, random_state=SEED % 2**31).fit_predict(bits.astype(np.float64))
    table = np.zeros((count, count), dtype=np.int64)
    np.add.at(table, (classes, clusters), 1)
    right, wanted, pairs = (
        int((sizes * (sizes - 1)).sum()) for sizes in (table, table.sum(axis=1), table.sum(axis=0))
    )
    return 2 * right / (wanted + pairs)


def _plot(scores: Mapping[tuple[str, float], Sequence[float]]) -> Plot:
    rates = sorted({rate for _, rate in scores})
    lines = [
        Line(f"{weighting}, {rate:.0%} errors", [*zip(LENGTHS, values, strict=True)], weighting == "tf", kind)
        for (weighting, rate), values in scores.items()
        for kind in (rates.index(rate),)
    ]
    paper = f"Vladimir et al., {PAPER_RATE:.0%} errors"
    lines.append(Line(paper, [(PAPER_LENGTH, PAPER_F1)], kind=len(rates)))
    title = "F1 of k-means clusters, 1k set"
    return Plot(title, "fingerprint length, bits", "F1", lines, y_range=(0.8, 1.0))
