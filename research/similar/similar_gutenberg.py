"""Reeve's comparison of the first works of Project Gutenberg (2017): his list, map and split of fiction.

No method learns from these works, or from books with one of their authors or titles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from bench.harness.report import Cell, Section, Table
from research.plot import Line, Plot, save_map
from research.similar.measures import principal_components, ranked
from research.similar.methods import AVERAGES, OURS, Rows, estimated_cosine, representations
from research.similar.works import (
    Book,
    GutenbergPair,
    corpus_works,
    gutenberg_folder,
    gutenberg_pairs,
    gutenberg_works,
    without_authors,
)

LISTED = 19
"""Pairs on Reeve's list: 4 duplicates, 13 of 36 series, 2 of neither kind by our labels."""
TRANSLATIONS = (21, 28)
"""Two translations of Aesop, which are left out."""
ON_THE_MAP = range(1, 21)

NON_FICTION = frozenset(
    {*range(1, 10), *(14, 18, 22, 23, 25, 29), *(37, 38, 48, 51, 57, 59), *(61, 66, 67, 68), 84, 85, 86, 96}
)
IN_BETWEEN = frozenset((10, 17, 30))
"""The Bible, twice, and the Book of Mormon, which Reeve calls quasi-fictional; they are not counted."""

_CHARACTERS = 600_000
_ROUNDS = 15


@dataclass(frozen=True, slots=True, eq=False)
class ListedPairs:
    """All pairs of works without the two translations, with their kinds."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    kind: Sequence[str]  # duplicate, series, false or nothing

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """Return for each pair whether it is a duplicate or of one series."""
        return np.array([kind in ("duplicate", "series") for kind in self.kind])


def run(out_dir: Path) -> Section:
    """Repeat Reeve's list, map and split of fiction with every method, and time the method in use."""
    folder = gutenberg_folder()
    works, listed = gutenberg_works(), gutenberg_pairs(folder)
    rows, books = list(works), list(works.values())
    pairs = all_pairs(rows, listed)
    corpus = corpus_works()
    learn_from = without_authors([book for book in corpus if book.free], books)
    methods = representations(learn_from, books)
    _cut_offs(methods[OURS], pairs).save(out_dir / "similar_gutenberg_cut_offs.svg")
    return Section(
        title="Reeve (2017): his list of similar books in Project Gutenberg",
        command="python -m research similar_gutenberg",
        tables=(
            Table(
                (
                    "method",
                    f"of the first {LISTED}: duplicates",
                    "series",
                    "neither",
                    "pairs at the best F1",
                    "precision",
                    "recall of series",
                    "F1",
                    "average precision",
                ),
                [
                    (
                        "printed by Reeve",
                        *_counted([pair.kind for pair in listed if pair.listed]),
                        *[None] * 5,
                    ),
                    *(_row(name, each, pairs) for name, each in methods.items()),
                ],
                f"{len(books)} works, {len(pairs.kind):,} pairs, 4 duplicates and 36 of a series",
            ),
            _maps(methods, rows, books, out_dir),
            _fiction(methods, rows, books),
        ),
        notes=(
            f"Everything is learnt from {len(learn_from)} works of the corpus: none by an author of these "
            "works, none of one of their titles.",
            "spaCy's vectors, which Reeve takes, were not to be had: the averages here are of word vectors "
            "learnt from the corpus, so only the row “printed by Reeve” is his.",
            "Reeve compared 100 works. Twelve are not here, in no pair of his list, so there are fewer to "
            "confuse. Rows 10, 15, 30 and 97 are other files than his: the two Bibles (10, 30) are one "
            "transcription, an easier pair. Headers of files are cut, which he does not say of his. His "
            "cut-off is .999 in the notebook, where the text says 99.99 %.",
            "Which pairs are series is our label. On his list the two of neither kind are *Alexander's "
            "Bridge* with two novels of Cather's trilogy.",
            "Reeve's picture is of the principal components of the works that he compares; the corpus is on "
            "the plane that the weights hold, which mostly tells languages apart. Signs of random "
            "projections vary in all directions, so two of them explain little; the four Factbooks make up "
            "the first.",
            "Fiction and not is our own label, by work; the Bible and the Book of Mormon count as neither. A "
            "work is labelled by a logistic regression on all the others, its duplicate left out with it.",
        ),
    )


def all_pairs(rows: Sequence[int], listed: Sequence[GutenbergPair]) -> ListedPairs:
    """Return every pair of rows, by index in `rows`."""
    kinds = {frozenset((pair.a, pair.b)): pair.kind for pair in listed}
    chosen = [
        (a, b, kinds.get(frozenset((rows[a], rows[b])), ""))
        for a in range(len(rows))
        for b in range(a + 1, len(rows))
        if {rows[a], rows[b]} != set(TRANSLATIONS)
    ]
    return ListedPairs(
        np.array([a for a, _, _ in chosen]),
        np.array([b for _, b, _ in chosen]),
        [kind for *_, kind in chosen],
    )


def _similarities(rows: Rows, pairs: ListedPairs) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->i", rows[pairs.a], rows[pairs.b]), dtype=np.float64)


def _row(name: str, rows: Rows, pairs: ListedPairs) -> Sequence[Cell]:
    order = ranked(_similarities(rows, pairs), pairs.wanted)
    kinds = [pairs.kind[place] for place in order.order]
    once = np.ones(len(kinds))
    scores = order.f1(once)
    best = int(np.argmax(scores)) + 1
    return (
        name,
        *_counted(kinds[:LISTED]),
        best,
        f"{int(order.series[:best].sum())} of {best}",
        f"{kinds[:best].count('series')} of 36",
        round(float(scores.max()), 3),
        round(order.average_precision(once), 3),
    )


def _counted(kinds: Sequence[str]) -> Sequence[Cell]:
    duplicates, series = kinds.count("duplicate"), kinds.count("series")
    return (f"{duplicates} of 4", f"{series} of 36", len(kinds) - duplicates - series)


def _cut_offs(rows: Rows, pairs: ListedPairs) -> Plot:
    cosine = estimated_cosine(_similarities(rows, pairs))
    cut_offs = np.arange(0.05, 0.9, 0.01)
    found = [cosine >= cut_off for cut_off in cut_offs]
    lines = {
        "precision": [(each & pairs.wanted).sum() / max(each.sum(), 1) for each in found],
        "recall": [(each & pairs.wanted).sum() / pairs.wanted.sum() for each in found],
    }
    return Plot(
        "Duplicates and series of Reeve's works by cut-off",
        "cosine",
        "share",
        [Line(name, list(zip(cut_offs.tolist(), shares, strict=True))) for name, shares in lines.items()],
        y_range=(0, 1.02),
    )


def _kind(row: int) -> str:
    if row in IN_BETWEEN:
        return "in between"
    return "not fiction" if row in NON_FICTION else "fiction"


def _maps(
    methods: Mapping[str, Rows],
    numbers: Sequence[int],
    books: Sequence[Book],
    out_dir: Path,
) -> Table:
    """Write the maps; return the share of the variance in each."""
    shown = [place for place, number in enumerate(numbers) if number in ON_THE_MAP]
    pictures: list[tuple[str, int, Sequence[float]]] = []
    for file, method in (("similar_gutenberg_map", OURS), ("similar_gutenberg_map_word_vectors", AVERAGES)):
        plane = principal_components(methods[method])
        pictures.append((f"{file}.svg: {method}", len(shown), plane.explained))
        save_map(
            f"Rows 1 to 20 of Reeve's table: {method}",
            plane.places[shown],
            [_kind(numbers[place]) for place in shown],
            [f"{numbers[place]} {books[place].title[:24]}" for place in shown],
            out_dir / f"{file}.svg",
        )
    return Table(
        ("picture", "points", "variance explained: first axis", "second axis"),
        [(name, points, *(round(share, 3) for share in explained)) for name, points, explained in pictures],
        "Maps",
    )


def _fiction(methods: Mapping[str, Rows], numbers: Sequence[int], books: Sequence[Book]) -> Table:
    kept = [place for place, number in enumerate(numbers) if number not in IN_BETWEEN]
    truth = np.array([numbers[place] in NON_FICTION for place in kept])
    works = [books[place].title.split(":")[0].split("[")[0].strip() for place in kept]
    larger = max(truth.mean(), 1 - truth.mean())
    return Table(
        ("method", "all dimensions", "first principal component", "always the larger class"),
        [
            (
                name,
                round(left_out_accuracy(_all_components(rows[kept]), truth, works), 3),
                round(left_out_accuracy(_first_component(rows)[kept], truth, works), 3),
                round(float(larger), 3),
            )
            for name, rows in methods.items()
        ],
        f"Share labelled rightly of {int((~truth).sum())} works of fiction and {int(truth.sum())} others",
    )


def _all_components(rows: Rows) -> NDArray[np.float64]:
    """Return the rotated rows with at most as many dimensions as rows."""
    left, values, _ = np.linalg.svd(rows.astype(np.float64), full_matrices=False)
    return np.asarray(10 * left * values)


def _first_component(rows: Rows) -> NDArray[np.float64]:
    first = principal_components(rows).places[:, :1]
    return np.asarray(first / first.std())


def left_out_accuracy(rows: NDArray[np.floating], truth: NDArray[np.bool_], works: Sequence[str]) -> float:
    """Return the share of rows that a linear split of the other works' rows labels correctly."""
    right = 0
    names = np.array(works)
    for place, work in enumerate(works):
        others = names != work
        model = LogisticRegression(C=10, class_weight="balanced", max_iter=200)
        model.fit(rows[others], truth[others])
        right += int(model.predict(rows[place : place + 1])[0] == truth[place])
    return right / len(works)
