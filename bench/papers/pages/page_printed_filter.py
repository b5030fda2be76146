"""The one filter that Spasojević and Poncin (2011) print, on page signatures as they have them.

Formula 4 is a product of filters, of which the paper prints one: that of the mean similarity of matching
pages, for SAME_PAGINATION. So this is no classifier of theirs. It says how far the printed part goes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.text.content import content_from_pages
from app.core.text.normal_form import normalise
from app.core.warm_up import warm_up
from bench.data.book_pairs import SHARES, MadePair, made_pairs
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from bench.papers.pages.page_grams import (
    PAGE_VALUES,
    WORDS_5,
    Values,
    equal_shares,
    minhash_values,
    occurrences,
)
from bench.quality.confusion import Confusion
from bench.quality.relations import HARD, PER_KIND, SEED, TABLE_I

KIND = "SAME_PAGINATION"
OTHER = "another class"
LEAST_CONFIDENCES = (0.0, 0.25, 0.5, 0.75)
"""Confidences above which a pair is told to have one pagination; the paper prints none."""

Matching = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def printed_filter(page_similarity: float) -> float:
    """The confidence of SAME_PAGINATION from the mean similarity of matching pages, 0 to 1 (section IV-C).

    >>> printed_filter(0.6), printed_filter(0.8), printed_filter(1.0)
    (0.0, 0.75, 1.0)
    """
    return round(max(0.0, 1 - ((1 - page_similarity) / 0.4) ** 2), 12)


def colliding(similarities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The similarities of all pairs of pages that share a value."""
    return similarities[similarities > 0]


def closest(similarities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The similarity of each page of the left book to the page most like it, where they share a value."""
    best = similarities.max(axis=1, initial=0.0)
    return np.asarray(best[best > 0])


READINGS: dict[str, Matching] = {
    "all pairs of pages that share a value": colliding,
    "each page and the one most like it": closest,
}
"""What "matching pages" can mean: the paper does not say."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The confidences of one made pair, and the truth."""

    kind: str
    error_rate: float
    confidences: dict[str, float]  # by reading


def run(_: Path) -> Section:
    """The made pairs of `bench relations`; two minutes."""
    warm_up()
    return measure(list(corpus_books(corpus_folder())), PER_KIND, SEED)


def measure(books: Sequence[CorpusBook], per_kind: int, seed: int) -> Section:
    """Precision and recall by reading and least confidence, and recall by error rate."""
    scored = [score(pair) for pair in made_pairs(books, "report", per_kind, seed)]
    usual = [each for each in scored if each.error_rate <= HARD]
    published = TABLE_I[KIND]
    return Section(
        title="Spasojević and Poncin (2011): the filter that they print",
        command="python -m bench page_printed_filter",
        tables=[
            Table(
                ["matching pages", "confidence above", "precision", "recall"],
                [_row(usual, reading, least) for reading in READINGS for least in LEAST_CONFIDENCES],
                f"{KIND} by the printed filter alone, CER 0.5 to 5 %: {len(usual):,} pairs, in %",
            ),
            _by_error_rate(scored),
        ],
        notes=[
            "The paper prints the confidence of a class as a product of filters (formula 4) and one filter: "
            "max(0, 1 - ((1 - s) / 0.4)²) of the mean similarity s of matching pages, for one class. Nothing "
            "else is printed, so no pair is told to be of another class here, and these figures say nothing "
            f"of their classifier, which has {published[0]} % precision and {published[1]} % recall of this "
            "class on 300 real pairs. Pages have 34 MinHash values over shingles of five words, as in "
            "section III-D.",
            "The pairs are those of `python -m bench relations`, both sides with errors; precision is "
            "weighted to the proportions of Table I.",
        ],
    )


def score(pair: MadePair) -> Scored:
    """The confidences of one pair."""
    similarities = equal_shares(page_values(pair.left), page_values(pair.right))
    confidences = {}
    for name, matching in READINGS.items():
        found = matching(similarities)
        confidences[name] = printed_filter(float(found.mean())) if found.size else 0.0
    return Scored(pair.truth.kind, pair.error_rate, confidences)


def page_values(pages: Sequence[str]) -> Values:
    """The 34 values of each page that has a shingle, (pages, 34)."""
    shingled = [page for page in occurrences(normalise(content_from_pages(pages)), WORDS_5) if page.size]
    return minhash_values(shingled, PAGE_VALUES)


def _confusion(scored: Sequence[Scored], reading: str, least: float) -> Confusion:
    return Confusion((each.kind, KIND if each.confidences[reading] > least else OTHER) for each in scored)


def _row(scored: Sequence[Scored], reading: str, least: float) -> list[Cell]:
    confusion = _confusion(scored, reading, least)
    told = sum(count for (_, kind), count in confusion.counts.items() if kind == KIND)
    precision = str(confusion.precision(KIND, SHARES)) if told else ""
    return [reading, least, precision, str(confusion.recall(KIND))]


def _by_error_rate(scored: Sequence[Scored]) -> Table:
    recall = partial(_recall, scored)
    rates = sorted({each.error_rate for each in scored})
    return Table(
        ["matching pages", *(f"CER {100 * rate:g} %" for rate in rates)],
        [[reading, *(recall(reading, rate) for rate in rates)] for reading in READINGS],
        f"Recall of {KIND} at any confidence above 0, in %",
    )


def _recall(scored: Sequence[Scored], reading: str, rate: float) -> str:
    chosen = [each for each in scored if each.error_rate == rate]
    return str(_confusion(chosen, reading, 0.0).recall(KIND))
