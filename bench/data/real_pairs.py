"""Distances of the corpus's labelled pairs, and the verdict on them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bench.harness.corpus import CorpusBook, Pair
from bench.harness.report import Cell, Table
from bookprint_core.matching.verification import are_joined, evidence
from bookprint_core.model import Sketch
from bookprint_core.signatures.sketch import sketch

HARD_NEGATIVES = ("series", "different", "translation")
RELATIONS = ("same_work", "contains", "overlaps", *HARD_NEGATIVES)
DISTANCES = (7, 15, 20, 23, 28, 31)


@dataclass(frozen=True, slots=True)
class PairSet:
    """Label, distance and acceptance of every pair of books i < j."""

    label: NDArray[np.str_]  # a relation, "unrelated", "same author", "other language" or "" (same work)
    distance: NDArray[np.int64]  # bits; 129 if a book has no fingerprint
    joined: NDArray[np.bool_]  # by the verdict on their signatures


def compare_all(books: Sequence[CorpusBook], pairs: Sequence[Pair]) -> PairSet:
    """Sketch every book and compare every pair."""
    sketches = [sketch(book.content) for book in books]
    compared = [_compare(this, other) for this, other in combinations(sketches, 2)]
    distance, joined = zip(*compared, strict=True)
    return PairSet(labels(books, pairs), np.array(distance), np.array(joined))


def labels(books: Sequence[CorpusBook], pairs: Sequence[Pair]) -> NDArray[np.str_]:
    """Return the label of each pair of books, in the order of `itertools.combinations`; see PairSet."""
    relation: dict[frozenset[str], str] = {frozenset((pair.a, pair.b)): pair.relation for pair in pairs}
    authors = {book.id: set(re.findall(r"\w{4,}", book.author.lower())) for book in books}
    return np.array(
        [
            relation.get(frozenset((this.id, other.id))) or _unlabelled(this, other, authors)
            for this, other in combinations(books, 2)
        ]
    )


def _unlabelled(this: CorpusBook, other: CorpusBook, authors: Mapping[str, set[str]]) -> str:
    if this.work == other.work:
        return ""
    if this.language != other.language:
        return "other language"
    known = authors[this.id] and authors[other.id]
    return "unrelated" if known and not authors[this.id] & authors[other.id] else "same author"


def _compare(this: Sketch, other: Sketch) -> tuple[int, bool]:
    pair = evidence(this, other)
    return 129 if pair.distance is None else pair.distance, are_joined(pair)


def relation_table(pairs: PairSet) -> Table:
    """Count the pairs within d and the pairs that the verdict joins, by label."""
    rows: list[list[Cell]] = []
    for label in (*RELATIONS, "unrelated", "same author", "other language"):
        of = pairs.label == label
        within = [int((pairs.distance[of] <= d).sum()) for d in DISTANCES]
        rows.append([label, int(of.sum()), *within, int(pairs.joined[of].sum())])
    return Table(
        headers=["pairs", "how many", *(f"d ≤ {d}" for d in DISTANCES), "verified near-duplicates"],
        rows=rows,
        caption="Pairs within d bits, and pairs that the verification rule accepts",
    )
