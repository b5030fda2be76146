"""Results of a method on the corpus's pairs, and on copies with made OCR errors.

A method without a threshold in use gets the one of the best F1 on half of the works. It judges the pairs
whose first book is of the other half, so no pair is judged by a threshold fitted on it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.synthesis.noise import corrupt
from bench.harness.corpus import CorpusBook
from research.identifiers.method import Method, Scores

SEED = 20261124
KINDS = {
    "copies": ("same_work",),
    "parts": ("contains",),
    "overlaps": ("overlaps",),
    "series": ("series",),
    "false pairs": ("different", "translation", "unrelated", "same author", "other language"),
}
"""Columns of pairs, and the labels counted in each column."""
EITHER = ("contains", "overlaps", "")
"""Labels of pairs that are ignored in fitting a threshold."""
UNSIGNED = -1e9
"""Score of a pair if a book has no signature; such a pair is never called copies."""

Labels = NDArray[np.str_]
"""Label of each pair, in the order of `itertools.combinations`."""
Halves = NDArray[np.intp]
"""Half of the works, 0 or 1, of each book."""
Least = tuple[float, float]
"""Minimum scores of copies whose first book is in the first and in the second half of the works."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """All pairs of some books, and the halves of works for fitting."""

    labels: Labels
    halves: Halves

    def counts(self, accepted: NDArray[np.bool_]) -> list[int]:
        """Count the accepted pairs of each column."""
        return [int(np.isin(self.labels[accepted], labels).sum()) for labels in KINDS.values()]


def halves_of(books: Sequence[CorpusBook]) -> Halves:
    """Draw half of the works; all books of a work are in one half."""
    works = sorted({book.work for book in books})
    chosen = np.random.default_rng(SEED).permutation(len(works))[: len(works) // 2]
    first = {works[place] for place in chosen}
    return np.array([int(book.work not in first) for book in books])


def pair_scores(method: Method[Any], signatures: Sequence[Any]) -> NDArray[np.float64]:
    """Return the score of every pair, (pairs,)."""
    return matrix(method, signatures, signatures)[np.triu_indices(len(signatures), 1)]


def matrix(method: Method[Any], these: Sequence[Any], others: Sequence[Any]) -> Scores:
    """Return the scores of all of `these` with all `others`; UNSIGNED without a signature."""
    scores = np.full((len(these), len(others)), UNSIGNED)
    rows, columns = (
        [place for place, each in enumerate(side) if each is not None] for side in (these, others)
    )
    if rows and columns:
        scores[np.ix_(rows, columns)] = method.scores(
            [these[place] for place in rows], [others[place] for place in columns]
        )
    return scores


def least_scores(method: Method[Any], scores: NDArray[np.float64], pairs: Pairs) -> Least:
    """Return the method's threshold in use, or one fitted on each half of the works for the other half."""
    if method.least is not None:
        return method.least, method.least
    first, second = (pairs.halves[places] for places in np.triu_indices(pairs.halves.size, 1))
    signed = scores > UNSIGNED
    within = [signed & (first == half) & (second == half) for half in (1, 0)]
    fitted = [_fitted(scores[each], pairs.labels[each]) for each in within]
    return fitted[0], fitted[1]


def _fitted(scores: NDArray[np.float64], labels: Labels) -> float:
    """Return the threshold of the best F1, halfway between the last pair above it and the next below."""
    last = best_threshold(scores, labels)
    below = scores[scores < last]
    return float((last + below.max()) / 2) if below.size else last


def accepted(scores: NDArray[np.float64], least: Least, pairs: Pairs) -> NDArray[np.bool_]:
    """Return for each pair whether the method calls the books copies, (pairs,)."""
    first = np.triu_indices(pairs.halves.size, 1)[0]
    return np.asarray(scores >= np.array(least)[pairs.halves[first]])


def found_again(
    method: Method[Any], originals: Sequence[Any], copies: Sequence[Any], least: Least, halves: Halves
) -> int:
    """Count the originals whose own copy is called a copy."""
    own = np.diagonal(matrix(method, originals, copies))
    return int((own >= np.array(least)[halves]).sum())


def noisy_copies(books: Sequence[CorpusBook], rate: float) -> Iterator[CorpusBook]:
    """Yield a copy of each book with this character error rate."""
    for number, book in enumerate(books):
        rng = np.random.default_rng([SEED, round(1_000 * rate), number])
        yield replace(book, text=corrupt(book.text, rate, rng), pages=None)


def best_threshold(scores: NDArray[np.float64], labels: Labels) -> float:
    """Return the threshold of the best F1 of pairs of one work; parts and overlaps are ignored."""
    counted = ~np.isin(labels, EITHER)
    order = np.argsort(-scores[counted], kind="stable")
    sorted_scores = scores[counted][order]
    right = np.cumsum(labels[counted][order] == "same_work")
    ends = np.flatnonzero(np.append(np.diff(sorted_scores) < 0, True))
    f1 = 2 * right[ends] / (ends + 1 + right[-1])
    return float(sorted_scores[ends[int(np.argmax(f1))]])
