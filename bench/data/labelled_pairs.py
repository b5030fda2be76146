"""Real pairs of books of the corpus with a reader's label of their relation, from real_relations.csv.

A side may be a part of a book, cut where the part begins and ends in print: no two files of the corpus are a
volume and the whole work. Before any classification the reader compared pages of both sides and searched for
their phrases in the other book.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, get_args

from bench.harness.corpus import CorpusBook
from bookprint_core.model import Metadata
from bookprint_core.relations.classification import Direction, Kind
from bookprint_core.relations.relation import ComparedBook
from bookprint_core.signatures.sketch import sketch

LABELS = Path(__file__).with_name("real_relations.csv")

KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "INSUFFICIENT_TEXT")
"""Labels that a reader may choose."""


@dataclass(frozen=True, slots=True)
class BookSpan:
    """A book of the corpus, or its pages from the first to the last, counted from 1."""

    book_id: str
    pages: tuple[int, int] | None = None  # None: the whole book

    def __str__(self) -> str:
        return f"{self.book_id}, pages {self.pages[0]} to {self.pages[1]}" if self.pages else self.book_id


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two books, or parts of books, and a reader's label."""

    left: BookSpan
    right: BookSpan
    kind: Kind
    direction: Direction | None  # of a contiguous subset, seen from the left
    clear: bool  # False: a share in the definitions is near its threshold
    second_kind: Kind | None  # label at a second reading of other pages; None: read once
    evidence: str  # one sentence


def labelled_pairs(path: Path = LABELS) -> list[LabelledPair]:
    """Return the pairs in the order of the file; raises `ValueError` for pages that are not two numbers."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            LabelledPair(
                left=_span(row["left"], row["left_pages"]),
                right=_span(row["right"], row["right_pages"]),
                kind=cast(Kind, row["kind"]),
                direction=cast(Direction, row["direction"]) if row["direction"] else None,
                clear=row["clear"] == "yes",
                second_kind=cast(Kind, row["second_kind"]) if row["second_kind"] else None,
                evidence=row["evidence"],
            )
            for row in csv.DictReader(lines)
        ]


def _span(book_id: str, pages: str) -> BookSpan:
    first, last = map(int, pages.split("-")) if pages else (0, 0)
    return BookSpan(book_id, (first, last) if pages else None)


def book_span(span: BookSpan, books: Mapping[str, CorpusBook]) -> CorpusBook:
    """Return the book with only the pages of the part; raises `ValueError` if it lacks these pages."""
    book = books[span.book_id]
    if span.pages is None:
        return book
    first, last = span.pages
    if book.pages is None or not 1 <= first <= last <= len(book.pages):
        raise ValueError(f"{span} are not pages of the book. Correct {LABELS.name}.")
    pages = list(book.pages[first - 1 : last])
    return replace(book, pages=pages, text="\n".join(pages))


class ComparedCorpus:
    """Books of the corpus, or parts of books, signed once as sides of comparisons."""

    def __init__(self) -> None:
        self._kept: dict[str, ComparedBook] = {}

    def __call__(self, book: CorpusBook, name: str | None = None) -> ComparedBook:
        """Return the signed book; a part of a book needs its own name."""
        key = name or book.id
        if key not in self._kept:
            made, metadata = sketch(book.content), Metadata(title=book.title, year=book.year)
            self._kept[key] = ComparedBook(made.pages, made.minhash, metadata)
        return self._kept[key]
