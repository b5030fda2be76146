"""Derivatives of texts as long as whole books, as many as Vladimir et al. (2015, section 3.2) have.

They have 9,000 works; at hand are some two hundred, cut into stretches of their mean length. Each stretch is
the canonical text of many classes, and a class has 1 to 15 derivatives of its own. A query is compared with
its class and with other works, never with another class of its work: so it meets as many strangers as there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from app.core.matching.verification import evidence_of_each, is_near_duplicate
from app.core.model import Sketch
from app.core.signatures.sketch import sketch
from bench.data.hard_set import versions
from bench.harness.corpus import CorpusBook, gutenberg_books
from research.identifiers.paper_sets import (
    SEED,
    SignedRow,
    SignedSet,
    Slice,
    canonical_books,
    kept,
    key_of,
    signed_row,
    signed_rows,
)

DERIVATIVES = 75_000
MEAN = 373_000
"""Bytes of a book there, 28 GB by 75,000, taken as characters."""
SHORTEST = 250_000
BLOCK = 250
"""Classes that are signed and kept together, so that a run that was broken off goes on where it was."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class WholeBooks:
    """The signatures of a set, one row a text; the canonical text is the first row of each of its classes."""

    texts: SignedSet
    stretches: Numbers  # (n,), the number of each row's canonical text
    is_derivative: NDArray[np.bool_]  # (n,)
    works: int
    lengths: Numbers  # characters of each canonical text
    sizes: Numbers  # their bytes in UTF-8

    def compared(self, query: Numbers, other: Numbers) -> NDArray[np.bool_]:
        """Whether the texts of these rows are of one class or of two works."""
        books, works = self.texts.books, self.texts.works
        return np.asarray((books[query] == books[other]) | (works[query] != works[other]))


def whole_books(derivatives: int) -> WholeBooks:
    """The set with so many derivatives; what is not kept of it is made."""
    books = long_works()
    parts = stretches(books)
    texts = [books[part.work].text[part.start : part.end] for part in parts]
    sizes = [len(text.encode()) for text in texts]
    key = key_of(MEAN, SHORTEST, BLOCK, [len(book.text) for book in books])
    signed: list[SignedSet] = []
    missing = derivatives
    while missing > 0:
        number = len(signed)
        block = kept(f"{key}-{number}", lambda: signed_rows(list(_signed(books, parts, number))))  # noqa: B023
        signed.append(replace(block, books=block.books + number * BLOCK))
        missing -= block.size - BLOCK
    joined = first_derivatives(_joined(signed), derivatives)
    return WholeBooks(
        texts=joined,
        stretches=joined.books % len(parts),
        is_derivative=np.diff(joined.books, prepend=-1) == 0,
        works=len(books),
        lengths=np.array([len(text) for text in texts]),
        sizes=np.array(sizes),
    )


def stretches(books: Sequence[CorpusBook]) -> list[Slice]:
    """Each book cut into equal parts whose length is next to the mean there, or whole."""
    return [
        Slice(work, part * len(book.text) // parts, (part + 1) * len(book.text) // parts)
        for work, book in enumerate(books)
        for parts in [max(1, round(len(book.text) / MEAN))]
        for part in range(parts)
    ]


def class_texts(books: Sequence[CorpusBook], part: Slice, number: int) -> Iterator[str]:
    """The canonical text of a class and its derivatives, which its number decides."""
    rng = np.random.default_rng([SEED, number])
    return versions(books[part.work].text[part.start : part.end], books, part.work, rng)


def _signed(books: Sequence[CorpusBook], parts: Sequence[Slice], block: int) -> Iterator[SignedRow]:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        part = parts[number % len(parts)]
        for text in class_texts(books, part, number):
            yield signed_row(number, part.work, text)


def _joined(sets: Sequence[SignedSet]) -> SignedSet:
    """The texts of all sets, one set after the other."""
    starts = np.cumsum([0, *(each.sample.size for each in sets[:-1])])
    shifted = [
        replace(each, sample_ends=each.sample_ends + start)
        for each, start in zip(sets, starts.tolist(), strict=True)
    ]
    return SignedSet(
        **{
            column.name: np.concatenate([getattr(each, column.name) for each in shifted])
            for column in fields(SignedSet)
        }
    )


def first_derivatives(texts: SignedSet, count: int) -> SignedSet:
    """The texts up to the derivative of this number."""
    derived = np.cumsum(np.diff(texts.books, prepend=-1) == 0)
    rows = int(np.searchsorted(derived, count)) + 1
    samples = int(texts.sample_ends[rows - 1])
    return SignedSet(
        **{
            column.name: getattr(texts, column.name)[: samples if column.name == "sample" else rows]
            for column in fields(SignedSet)
        }
    )


def long_works() -> list[CorpusBook]:
    """Works of the corpus and of Project Gutenberg that are long enough, none a near-duplicate of another."""
    chosen: list[CorpusBook] = []
    sketches: list[Sketch] = []
    long = (book for book in gutenberg_books().values() if len(book.text) >= SHORTEST)
    for book in (*canonical_books(at_least=SHORTEST), *long):
        signed = replace(sketch(book.content), pages=None)
        if not any(map(is_near_duplicate, evidence_of_each(signed, sketches))):
            chosen.append(book)
            sketches.append(signed)
    return chosen
