"""Real pairs with noisy labels: what `shares-v1` says of pairs of the corpus and of parts cut from them.

Spasojević and Poncin (2011, section VII) propose to learn from the manual classifier's results where no truth
is at hand. Few books of the corpus are related, and none is a part of another. So consecutive pages are cut
from both books of a pair: text, noise and page breaks stay real.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from app.core.relations.relation import CLASSIFIER, ComparedBook
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from bench.data.book_pairs import Half, RealPair
from bench.data.compared_books import ComparedCorpus, corpus_metadata
from bench.harness.corpus import CorpusBook
from research.relations.learners import Lesson
from research.relations.measured_pairs import MeasuredPair, measured, paginated_pairs, strangers

CUTS = 16
"""Times that each pair of one work is cut."""
UNRELATED = 300
"""Pairs of other works that are learnt from, at most."""
FEWEST = 20
"""Pages of a cut book."""
PAGES = (0.1, 0.9)
"""Share of a book's pages that a cut takes."""
SEED = 7


def noisy(pairs: Sequence[MeasuredPair]) -> Lesson:
    """The pairs with the kinds that `shares-v1` finds."""
    return Lesson(pairs, np.array([pair.predicted[CLASSIFIER] for pair in pairs]))


def whole_pairs(half: Half) -> list[MeasuredPair]:
    """The real pairs of one half as they are, of unrelated works only some."""
    compared = ComparedCorpus()
    named = [
        measured(compared(pair.left), compared(pair.right), (pair.left.work, pair.right.work))
        for pair in paginated_pairs(half)
    ]
    others = strangers(half)
    order = np.random.default_rng(SEED).permutation(len(others))[:UNRELATED].tolist()
    return [*named, *(others[place] for place in order)]


def cut_pairs(half: Half) -> list[MeasuredPair]:
    """Parts of the real pairs of one half that are of one work; half the time one book is whole."""
    rng = np.random.default_rng([SEED, 1])
    return [
        measured(left, right, (pair.left.work, pair.right.work))
        for pair in paginated_pairs(half)
        if pair.left.work == pair.right.work
        for left, right in _cut(pair, rng)
    ]


def _cut(pair: RealPair, rng: np.random.Generator) -> Iterator[tuple[ComparedBook, ComparedBook]]:
    for _ in range(CUTS):
        cut = (True, rng.random() < 0.5)
        sides = cut if rng.random() < 0.5 else cut[::-1]
        yield _book(pair.left, sides[0], rng), _book(pair.right, sides[1], rng)


def _book(book: CorpusBook, cut: bool, rng: np.random.Generator) -> ComparedBook:
    """The book, or some consecutive pages of it."""
    pages = book.pages or ()
    if cut:
        count = max(min(FEWEST, len(pages)), round(len(pages) * rng.uniform(*PAGES)))
        first = int(rng.integers(0, len(pages) - count + 1))
        pages = pages[first : first + count]
    made = sketch(content_from_pages(pages))
    return ComparedBook(made.pages, made.minhash, corpus_metadata(book))
