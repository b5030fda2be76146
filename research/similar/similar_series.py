"""Books of one series among others, by the similarity of their vectors (Reeve 2017), on the corpus.

Methods learn on each half of the works and are tested on the other half. Series and translations are within
one half.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.harness.corpus import Pair, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from research.similar.measures import (
    Interval,
    Pairs,
    crossed_f1,
    interval,
    neighbour_recall,
    ranked,
)
from research.similar.methods import AVERAGES, Rows, representations
from research.similar.works import UNCLEAR_LICENCE, Book, corpus_works

SPLIT = 2017
"""Seed of the halves, chosen before any measurement."""
DRAWS = 1000


def run(out_dir: Path) -> Section:
    """Distinguish pairs of one series from others by every method, including averages of word vectors."""
    books = corpus_works()
    labelled = corpus_pairs(corpus_folder())
    halves = split(books, labelled, SPLIT)
    pairs = series_pairs(books, labelled, halves)
    rows = crossed(books, halves)
    similarities = {name: pairs.similarities(each) for name, each in rows.items()}
    draws = drawn_works(books, DRAWS)
    precisions, scores = _bootstrapped(similarities, pairs, draws)
    free = sum(book.free for book in books)
    return Section(
        title="Series: books alike by their words",
        command="python -m research similar_series",
        tables=(
            Table(
                (
                    "method",
                    "average precision",
                    "F1, crossed cut-off",
                    "best F1",
                    "recall @1",
                    "@3",
                    "@10",
                ),
                [
                    _row(name, values, pairs, precisions[name], scores[name])
                    for name, values in similarities.items()
                ],
                f"{pairs.series.sum()} series pairs among {pairs.series.size:,} pairs of works of one "
                f"language and half; in brackets 95 % of {DRAWS} draws of works",
            ),
            Table(
                ("method", "average precision", "F1"),
                [
                    (name, *_differences(name, precisions, scores))
                    for name in similarities
                    if name != AVERAGES
                ],
                f"Differences to “{AVERAGES}”, drawn together",
            ),
            _translations(books, labelled, halves, rows),
        ),
        notes=(
            f"{len(books)} books of {len({book.work for book in books})} works. Weights, projections and "
            f"word vectors are learnt from those of the other half that are free ({free} in all; without "
            f"{', '.join(each.rstrip('-') for each in UNCLEAR_LICENCE)}). {pairs.same_author.sum()} pairs "
            f"have one author; {int((pairs.same_author & pairs.series).sum())} of them are series.",
            "The crossed cut-off is the best of the other half. Recall is that of neighbours: of the other "
            "books of a series, how many are among the nearest.",
            "spaCy's vectors, which Reeve takes, were not to be had: the word vectors here are learnt from "
            "the books of the other half.",
            "Nothing is learnt from Arabic and Chinese. There our word vectors give every pair the cosine 0, "
            "so they have no false pair. Some pairs that are not labelled are sequels all the same (Los "
            "pazos de Ulloa, La madre naturaleza); they count as false.",
            "The recipe was chosen while looking at these series, in other halves; the works of Reeve's list "
            "were not looked at.",
        ),
    )


def split(books: Sequence[Book], labelled: Sequence[Pair], seed: int) -> NDArray[np.int64]:
    """Return the half of each book, 0 or 1; works joined by a label other than `different` share a half."""
    numbers = {book.id: number for number, book in enumerate(books)}
    leader = np.arange(len(books))
    joined = [(p.a, p.b) for p in labelled if p.relation != "different" and p.a in numbers and p.b in numbers]
    works: dict[str, str] = {}
    joined += [(works.setdefault(book.work, book.id), book.id) for book in books]
    for a, b in joined:
        leader[leader == leader[numbers[a]]] = leader[numbers[b]]
    halves = np.full(len(books), -1)
    random = np.random.default_rng(seed)
    for language in sorted({book.language for book in books}):
        own = np.array([book.language == language for book in books])
        for place, group in enumerate(random.permutation(np.unique(leader[own]))):
            halves[(leader == group) & (halves < 0)] = place % 2
    return halves


def series_pairs(books: Sequence[Book], labelled: Sequence[Pair], halves: NDArray[np.int64]) -> Pairs:
    """Return all pairs of works of one language and half, without translations."""
    relation = {frozenset((pair.a, pair.b)): pair.relation for pair in labelled}
    chosen: list[tuple[int, int, bool]] = []
    for a, one in enumerate(books):
        for b in range(a + 1, len(books)):
            other = books[b]
            label = relation.get(frozenset((one.id, other.id)))
            alike = one.language == other.language and halves[a] == halves[b]
            if alike and (label == "series" or (one.work != other.work and label != "translation")):
                chosen.append((a, b, label == "series"))
    firsts = np.array([a for a, _, _ in chosen])
    return Pairs(
        a=firsts,
        b=np.array([b for _, b, _ in chosen]),
        series=np.array([series for *_, series in chosen]),
        same_author=np.array([books[a].author == books[b].author != "" for a, b, _ in chosen]),
        half=halves[firsts],
    )


def crossed(books: Sequence[Book], halves: NDArray[np.int64]) -> Mapping[str, Rows]:
    """Return the rows of all books by method, learned from the free books of the other half."""
    out: dict[str, Rows] = {}
    for half in (0, 1):
        own = np.flatnonzero(halves == half)
        learn_from = [book for book, where in zip(books, halves, strict=True) if where != half and book.free]
        for name, rows in representations(learn_from, [books[int(number)] for number in own]).items():
            kept = out.setdefault(name, np.zeros((len(books), rows.shape[1]), np.float32))
            if kept.shape[1] < rows.shape[1]:  # fewer books have fewer singular directions
                kept = out[name] = np.pad(kept, ((0, 0), (0, rows.shape[1] - kept.shape[1])))
            kept[own, : rows.shape[1]] = rows
    return out


def drawn_works(books: Sequence[Book], draws: int) -> NDArray[np.int64]:
    """Draw as many works as there are, with replacement; return the count of each book, (draws, books)."""
    works, of_book = np.unique([book.work for book in books], return_inverse=True)
    random = np.random.default_rng(SPLIT)
    return random.multinomial(works.size, np.full(works.size, 1 / works.size), size=draws)[:, of_book]


Draws = Mapping[str, NDArray[np.float64]]
"""Values of a figure by method, (1 + draws,); the first value is for all works once."""


def _bootstrapped(
    similarities: Mapping[str, NDArray[np.float64]], pairs: Pairs, draws: NDArray[np.int64]
) -> tuple[Draws, Draws]:
    weights = [np.ones(pairs.series.size), *(pairs.weights(drawn) for drawn in draws)]
    precisions: dict[str, NDArray[np.float64]] = {}
    scores: dict[str, NDArray[np.float64]] = {}
    for name, values in similarities.items():
        order = ranked(values, pairs.series)
        precisions[name] = np.array([order.average_precision(each) for each in weights])
        scores[name] = np.array([crossed_f1(values, pairs, each) for each in weights])
    return precisions, scores


def _of(draws: NDArray[np.float64]) -> Interval:
    return interval(float(draws[0]), draws[1:])


def _row(
    name: str,
    values: NDArray[np.float64],
    pairs: Pairs,
    precisions: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> Sequence[Cell]:
    once = np.ones(pairs.series.size)
    best = float(ranked(values, pairs.series).f1(once).max())
    recalls = [neighbour_recall(values, pairs, nearest) for nearest in (1, 3, 10)]
    return (name, str(_of(precisions)), str(_of(scores)), *(round(each, 3) for each in (best, *recalls)))


def _differences(name: str, precisions: Draws, scores: Draws) -> Sequence[Cell]:
    return [str(_of(figures[name] - figures[AVERAGES])) for figures in (precisions, scores)]


def _translations(
    books: Sequence[Book], labelled: Sequence[Pair], halves: NDArray[np.int64], rows: Mapping[str, Rows]
) -> Table:
    numbers = {book.id: number for number, book in enumerate(books)}
    every = [pair for pair in labelled if pair.relation == "translation"]
    there = [(numbers[p.a], numbers[p.b]) for p in every if p.a in numbers and p.b in numbers]
    return Table(
        ("method", "pairs", "other among the 10 nearest"),
        [
            (name, len(there), sum(_near(each, halves, a, b) or _near(each, halves, b, a) for a, b in there))
            for name, each in rows.items()
        ],
        f"Translations: {len(there)} of {len(every)} pairs whose books are the ones taken of their works; "
        "neighbours of every language, in one half",
    )


def _near(rows: Rows, halves: NDArray[np.int64], book: int, other: int) -> bool:
    cosines = np.where(halves == halves[book], rows @ rows[book], -2.0)
    cosines[book] = -2.0
    return bool((cosines > cosines[other]).sum() < 10)
