"""Near-duplicate books by the cosine of letter n-grams; not measured by Mohammadi and Nikoukaran (2018)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.matching.verification import evidence, is_near_duplicate
from app.core.signatures.sketch import sketch
from bench.data.letter_texts import book_texts, news_folder, news_texts
from bench.harness.corpus import CorpusBook, Pair, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bench.papers.cosine.learned_references import learn
from bench.papers.cosine.letter_grams import Rows, cosines, gram_counts, simhash_similarities, unit
from bench.papers.cosine.reference_strings import Reference, rarest

SIZES = (1, 2, 3, 4)
RELATIONS = ("same_work", "contains", "overlaps", "series", "different", "translation")
OTHERS, UNLABELLED = "other works", ""
WANTED, EITHER = "same_work", ("contains", "overlaps", UNLABELLED)
"""Pairs to be found, and pairs that count neither way."""
LOOKED_AT = 100_000
"""Characters that tell the script of a book."""
LEARNED_BYTES = 30

Scores = NDArray[np.floating]
"""The similarity of every pair above the diagonal, (pairs,)."""
Labels = NDArray[np.str_]
"""The relation of each, (pairs,)."""


@dataclass(frozen=True, slots=True)
class Best:
    """A measure at the threshold of its best F1."""

    threshold: float
    precision: float
    recall: float
    f1: float


def run(out_dir: Path) -> Section:
    """Compare every two books in Latin script by nine measures; some minutes."""
    folder = corpus_folder()
    learning = gram_counts([*news_texts(news_folder()).learning, *book_texts().learning])
    books = [book for book in corpus_books(folder) if is_latin(book.text)]
    return measure(books, corpus_pairs(folder), learning)


def measure(books: Sequence[CorpusBook], pairs: Sequence[Pair], learning: Rows) -> Section:
    """The table; `learning` are the 3-gram counts that references are made from."""
    labels = labelled(books, pairs)
    upper = np.triu_indices(len(books), 1)
    rows = []
    for name, similar in measures([book.text for book in books], learning):
        scores = similar[upper]
        rows.append(_row(name, scores, labels, best(scores, labels)))
    scores = verified(books)
    at = best(scores, labels)
    rows.append(["the rule in use", None, *_row("", scores, labels, at)[2:]])
    nothing: list[Cell] = ["all pairs", None, None, None, None]
    rows.append([*nothing, *_counts(labels)])
    return Section(
        title="Cosine of letter n-grams: near-duplicate books",
        command="python -m bench cosine_books",
        tables=[
            Table(
                ["measure", "threshold", "precision", "recall", "F1", *RELATIONS, OTHERS],
                rows,
                f"Pairs of {len(books)} books in Latin script, found at the threshold of the best F1",
            )
        ],
        notes=[
            "Wanted are pairs of one work; parts and overlaps count neither way. Each threshold is the best "
            "for these very pairs, which flatters every row but the rule's. Books in other scripts are left "
            "out: the n-grams are of a to z. References are made from News20 and passages of books. The rule "
            "in use finds parts on purpose; what it finds among all books stands in “Fingerprint quality”.",
        ],
    )


def measures(texts: Sequence[str], learning: Rows) -> Iterator[tuple[str, Rows]]:
    """The similarity of every two texts by each measure, with its name."""
    for size in SIZES:
        yield f"cosine of {size}-grams", cosines(gram_counts(texts, size))
    counts = gram_counts(texts)
    yield "cosine of 3-grams, square roots of counts", cosines(np.sqrt(counts))
    yield "simhash of words, 64 bits", simhash_similarities(texts)
    reference = Reference("rarest 1500", rarest(learning, 1_500))
    columns = np.ascontiguousarray(unit(counts).T)
    yield "rarest 1500, 60 parts, 480 bytes", reference.similarities(columns, 60)
    (learned,) = learn(unit(learning), [8 * LEARNED_BYTES])
    signatures = learned.sign(unit(counts))
    name = f"learned references, {LEARNED_BYTES} bytes"
    yield f"{name}, inner product", learned.similarities(signatures)
    yield f"{name}, cosine", cosines(learned.vectors(signatures))


def verified(books: Sequence[CorpusBook]) -> Scores:
    """1 for each pair that the rule in use calls near-duplicates, else 0."""
    sketches = [sketch(book.content) for book in books]
    return np.array([float(is_near_duplicate(evidence(*pair))) for pair in combinations(sketches, 2)])


def is_latin(text: str) -> bool:
    """Whether at least half of the letters at the start of a text are a to z.

    >>> is_latin("Élégies"), is_latin("Стихи, vol. 1")
    (True, False)
    """
    letters = [each for each in text[:LOOKED_AT].lower() if each.isalpha()]
    return 2 * sum("a" <= each <= "z" for each in letters) >= len(letters) > 0


def labelled(books: Sequence[CorpusBook], pairs: Sequence[Pair]) -> Labels:
    """The relation of every two of the books; pairs of other books are passed over."""
    places = {book.id: place for place, book in enumerate(books)}
    works = np.array([book.work for book in books])
    labels = np.where(works[:, None] == works, UNLABELLED, OTHERS).astype("U12")
    for pair in pairs:
        if pair.a in places and pair.b in places:
            first, second = sorted((places[pair.a], places[pair.b]))
            labels[first, second] = pair.relation
    return np.asarray(labels[np.triu_indices(len(books), 1)])


def best(scores: Scores, labels: Labels) -> Best:
    """The best F1 of pairs of one work, told from all that are neither parts nor overlaps."""
    counted = ~np.isin(labels, EITHER)
    order = np.argsort(-scores[counted], kind="stable")
    sorted_scores = scores[counted][order]
    right = np.cumsum(labels[counted][order] == WANTED)
    ends = np.flatnonzero(np.append(np.diff(sorted_scores) < 0, True))
    precision, recall = right[ends] / (ends + 1), right[ends] / max(1, right[-1])
    f1 = 2 * right[ends] / (ends + 1 + right[-1])
    top = int(np.argmax(f1))
    return Best(float(sorted_scores[ends[top]]), float(precision[top]), float(recall[top]), float(f1[top]))


def _row(name: str, scores: Scores, labels: Labels, at: Best) -> list[Cell]:
    found = labels[scores >= at.threshold]
    return [name, at.threshold, at.precision, at.recall, at.f1, *_counts(found)]


def _counts(labels: Labels) -> list[int]:
    return [int(np.count_nonzero(labels == each)) for each in (*RELATIONS, OTHERS)]
