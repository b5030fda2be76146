"""Pairs of books with a known relation, as lists of pages, made from books with real pages.

A pair has equal pages, an equal text on different pages, a whole and its part, texts with a common part, or
different works. No share in the definitions of the classes is near its threshold. Both sides have independent
errors. Leaves are lost, scanned twice, blank or plates, and running heads differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from app.synthesis.noise import corrupt, corrupt_pages
from bench.harness.corpus import CorpusBook
from bookprint_core.model import Metadata
from bookprint_core.relations.classification import Direction
from bookprint_core.relations.relation import ComparedBook
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages

T = TypeVar("T")
Kind = Literal[
    "SAME_PAGINATION", "DIFFERENT_PAGINATION", "CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT", "UNRELATED"
]
Half = Literal["tuning", "report"]
Pages = list[str]
Shelf = Mapping[str, Sequence[CorpusBook]]
"""Books of each work."""

ERROR_RATES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.10)
"""OCR errors per character on each side."""
SHARES: dict[Kind, float] = {
    "SAME_PAGINATION": 0.403,
    "DIFFERENT_PAGINATION": 0.163,
    "CONTIGUOUS_SUBSET": 0.077,
    "OVERLAPPING_TEXT": 0.360,
}
"""The share of each class among similar books (Spasojević and Poncin, 2011, Table I, G.T.%; they add up to
100.3)."""

KINDS: tuple[Kind, ...] = (*SHARES, "UNRELATED")
TABLE_I: dict[str, tuple[float, float, float, float]] = {
    "SAME_PAGINATION": (98.2, 88.4, 96.3, 97.4),
    "DIFFERENT_PAGINATION": (92.3, 73.5, 82.6, 87.5),
    "CONTIGUOUS_SUBSET": (95.2, 86.9, 44.4, 26.7),
    "OVERLAPPING_TEXT": (78.6, 96.3, 100.0, 6.2),
}
"""Spasojević and Poncin (2011), Table I: precision and recall, in %, of the manual classifier and the SVM."""

SEED = 2
"""Seed that divides the works into the half tuned on and the half reported."""
PER_KIND = 360
"""Number of pairs of each class, equal for all error rates: 300 up to 5 % CER."""
HARD = 0.05
"""Highest CER at which the figures of Table I must be exceeded; noisier pairs are counted separately."""
TEXT_PAGE, TEXT_PAGES = 50, 60
"""Minimum letters and digits of a text page, and minimum text pages of a book."""
LONGEST = 400
"""Maximum pages of a book; the rest of a longer book is not used."""
_BODY = (80, 300)
"""Minimum and maximum pages of a book's main text, if its source is long enough."""


@dataclass(frozen=True, slots=True)
class MadePair:
    """Two books whose relation is known."""

    left: Pages
    right: Pages
    kind: Kind
    direction: Direction | None  # of a contiguous subset, seen from the left
    works: tuple[str, str]  # main work of each book
    error_rate: float  # OCR errors per character on each side, 0 to 1
    metadata: tuple[Metadata, Metadata]

    def compared(self) -> tuple[ComparedBook, ComparedBook]:
        """Return both books, signed."""
        left, right = (sketch(content_from_pages(pages)) for pages in (self.left, self.right))
        return (
            ComparedBook(left.pages, left.minhash, self.metadata[0]),
            ComparedBook(right.pages, right.minhash, self.metadata[1]),
        )


def made_pairs(
    books: Sequence[CorpusBook],
    half: Half,
    per_kind: int,
    seed: int,
    error_rates: Sequence[float] = ERROR_RATES,
) -> Iterator[MadePair]:
    """Return at least `per_kind` pairs of each class from one half of the works, equally many per error rate.

    Equal arguments give equal pairs; all books of a work are in one half.
    """
    side = ("tuning", "report").index(half)
    shelf = halves(books, seed)[side]
    for place, rate in enumerate(error_rates):
        for number in range(-(-per_kind // len(error_rates))):
            for order, kind in enumerate(KINDS):
                yield _pair(shelf, kind, rate, np.random.default_rng([seed, side, place, number, order]))


def halves(books: Sequence[CorpusBook], seed: int) -> tuple[Shelf, Shelf]:
    """Return the books with pages in two halves, for tuning and for the report; a work is in one half."""
    works: dict[str, list[CorpusBook]] = {}
    for book in books:
        pages = (book.pages or ())[:LONGEST]
        if sum(sum(map(str.isalnum, page)) >= TEXT_PAGE for page in pages) >= TEXT_PAGES:
            works.setdefault(book.work, []).append(book)
    names = sorted(works)
    shuffled = (names[place] for place in np.random.default_rng(seed).permutation(len(names)))
    # Neighbours of one language are in different halves, so both halves have every language with two works.
    order = sorted(shuffled, key=lambda work: works[work][-1].language)
    tuning, report = ({work: works[work] for work in sorted(part)} for part in (order[::2], order[1::2]))
    return tuning, report


def _pair(shelf: Shelf, kind: Kind, rate: float, rng: np.random.Generator) -> MadePair:
    main = _one(shelf[_one(list(shelf), rng)], rng)
    other, body = main, _body(main, rng)
    left, right, part = body, body, False
    match kind:
        case "SAME_PAGINATION":
            left, right = (_other(shelf, main, share * len(body), rng) + body for share in rng.random(2) / 16)
        case "DIFFERENT_PAGINATION":
            right = _reset(body, rng)
        case "CONTIGUOUS_SUBSET":
            right, part = _part(body, rng.uniform(0.15, 0.70), rng), True
            right = _other(shelf, main, rng.uniform(0, 0.03) * len(right), rng) + right
        case "OVERLAPPING_TEXT":
            shared = _part(body, rng.uniform(0.3, 0.6), rng)
            works = rng.permutation([work for work in shelf if work != main.work]).tolist()
            sides = (shared, _reset(shared, rng) if rng.random() < 0.5 else shared)
            left, right = (_within(each, shelf, main, works[side::2], rng) for side, each in enumerate(sides))
        case "UNRELATED":
            other = _one(shelf[_one([work for work in shelf if work != main.work], rng)], rng)
            right = _body(other, rng)
    printed = [(left, main), (right, other)]
    turned = rng.random() < 0.5
    (left, first), (right, second) = printed[::-1] if turned else printed
    direction: Direction = "contained_in" if turned else "contains"
    return MadePair(
        left=_read(_bound(left, rng), first, rate, rng),
        right=_read(_bound(right, rng), second, rate, rng),
        kind=kind,
        direction=direction if part else None,
        works=(first.work, second.work),
        error_rate=rate,
        metadata=(_metadata(first, rng), _metadata(second, rng)),
    )


def _body(book: CorpusBook, rng: np.random.Generator) -> Pages:
    """Return consecutive pages of a book."""
    pages = (book.pages or ())[:LONGEST]
    size = min(len(pages), int(rng.integers(_BODY[0], _BODY[1] + 1)))
    first = int(rng.integers(0, len(pages) - size + 1))
    return list(pages[first : first + size])


def _part(pages: Pages, share: float, rng: np.random.Generator) -> Pages:
    """Return a random part of the pages with this share of their number."""
    size = round(share * len(pages))
    first = int(rng.integers(0, len(pages) - size + 1))
    return pages[first : first + size]


def _reset(pages: Pages, rng: np.random.Generator) -> Pages:
    """Return the text on uneven pages of .5 to .85 or 1.2 to 2 times the length."""
    text = "".join(f"{page}\n" for page in pages)
    ratio = rng.uniform(0.5, 0.85) if rng.random() < 0.5 else rng.uniform(1.2, 2)
    count = max(2, round(len(pages) / ratio))
    size = len(text) / count
    places = size * np.arange(1, count) + rng.normal(0, 0.03 * size, count - 1)
    cuts = [text.rfind(" ", 0, int(place)) + 1 for place in places]
    return [text[start:end] for start, end in pairwise(sorted({0, *cuts, len(text)}))]


def _other(shelf: Shelf, main: CorpusBook, count: float, rng: np.random.Generator) -> Pages:
    """Return this many pages of other works, preferably in the language of the main work."""
    works = [work for work in shelf if work != main.work]
    order = [shelf[works[place]][0] for place in rng.permutation(len(works))]
    pages: Pages = []
    for book in sorted(order, key=lambda book: book.language != main.language):
        if len(pages) >= round(count):
            break
        pages += _body(book, rng)[: round(count) - len(pages)]
    return pages


def _within(
    shared: Pages, shelf: Shelf, main: CorpusBook, works: Sequence[str], rng: np.random.Generator
) -> Pages:
    """Return a book with 15 to 60 % shared pages and other pages from these works."""
    others = {work: shelf[work] for work in works}
    rest = _other(others, main, len(shared) * (1 / rng.uniform(0.15, 0.6) - 1), rng)
    place = int(rng.integers(0, len(rest) + 1))
    return rest[:place] + shared + rest[place:]


def _bound(book: Pages, rng: np.random.Generator) -> Pages:
    """Return the pages with some lost leaves, leaves scanned twice, blank ends and plates."""
    pages = list(book)
    for _ in range(int(rng.integers(0, 1 + min(3, len(pages) // 50)))):
        lost = int(rng.integers(0, len(pages) - 1))
        del pages[lost : lost + 2]
    for _ in range(int(rng.integers(0, 4))):
        at = int(rng.integers(2, len(pages) + 1))
        pages[at:at] = pages[at - 2 : at]
    for _ in range(int(rng.integers(0, 6))):
        at = int(rng.integers(0, len(pages) + 1))
        pages[at:at] = [f"PLATE {rng.integers(1, 60)}", ""]
    front, back = ([""] * int(count) for count in rng.integers(0, 9, 2))
    return front + pages + back


def _read(pages: Pages, book: CorpusBook, rate: float, rng: np.random.Generator) -> Pages:
    """Return the pages with errors and, in two thirds of the books, running heads for even and odd pages."""
    read = corrupt_pages(pages, rate, rng)
    if rng.random() < 1 / 3:
        return read
    both = rng.random() < 0.5
    names = (book.title, book.author or book.title) if both else (book.title.upper(),)
    heads = [corrupt(name[:60], rate, rng) for _ in range(4) for name in names]
    return [
        f"{heads[number % len(heads)]} {number + 1}\n{page}" if len(page) > TEXT_PAGE else page
        for number, page in enumerate(read)
    ]


def _metadata(book: CorpusBook, rng: np.random.Generator) -> Metadata:
    """Return the metadata of a printing, of the book's year or up to 40 years later."""
    year = (book.year or 1850) + int(rng.integers(0, 41) * rng.integers(0, 2))
    authors = (book.author,) if book.author else ()
    return Metadata(title=book.title, authors=authors, language=book.language, year=year)


def _one(choices: Sequence[T], rng: np.random.Generator) -> T:
    return choices[int(rng.integers(len(choices)))]
