"""The paginated books that pairs are made from: their text, their page breaks, and new page breaks for it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bench.data.pair_truth import TEXT_PAGE, Leaf, Piece
from bench.harness.corpus import CorpusBook
from bookprint_core.model import PAGE_BREAK

T = TypeVar("T")

PAGE = 1_800
_LONGEST_WORK = 450_000
"""Characters of a page, and of a work at most, where texts without pages are cut into such."""

TEXT_PAGES = 60
"""A source has at least so many text pages."""
LONGEST = 400
"""Pages; of longer books the first so many are used."""
_SHORTEST, _COLLECTION = round(1.1 * TEXT_PAGES * PAGE), 3_000_000
"""Characters that a file has at least, and from which on it is a collection of works."""
_LETTERS = 0.6
"""Share of letters below which a file is a table."""
_PER_LANGUAGE = 10
"""Works in each language but English, one of an author."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A book with real pages."""

    number: int
    work: str
    title: str
    author: str
    language: str
    year: int
    text: str  # all pages, each with a line end after it
    starts: NDArray[np.intp]  # (pages + 1,), where each page starts in the text, and the end
    letters: NDArray[np.bool_]  # (characters,), which are letters or digits

    @property
    def page_count(self) -> int:
        """The number of pages, blank ones too."""
        return self.starts.size - 1

    @property
    def mean_page(self) -> float:
        """The mean length of a page in characters."""
        return len(self.text) / self.page_count

    def page(self, number: int) -> str:
        """The text of one page."""
        return self.text[self.starts[number] : self.starts[number + 1]]

    def leaves(self, first: int, end: int) -> list[Leaf]:
        """The pages from `first` to before `end`, as printed."""
        bounds = self.starts[first : end + 1].tolist()
        return [
            Leaf((Piece(self.number, start, stop),) if self.text[start:stop].strip() else ())
            for start, stop in pairwise(bounds)
        ]

    def reflowed(self, cuts: Sequence[float]) -> list[Leaf]:
        """The text from the first cut to the last, with page breaks at these places or a word before."""
        places = sorted({self._between_words(round(cut)) for cut in cuts})
        return [Leaf((Piece(self.number, start, stop),)) for start, stop in pairwise(places)]

    def even_cuts(self, start: float, end: float, characters: float, rng: np.random.Generator) -> list[float]:
        """Cuts from start to end, pages of about so many characters apart, as uneven as printed pages are."""
        count = max(1, round((end - start) / characters))
        places = start + (end - start) * np.arange(1, count) / count
        return [start, *(places + rng.normal(0, 0.03 * characters, count - 1)).tolist(), end]

    def _between_words(self, place: int) -> int:
        """The last break between words up to 40 characters before the place, or the place itself."""
        if place >= len(self.text):
            return len(self.text)
        gap = max(self.text.rfind(mark, max(0, place - 40), place) for mark in " \n")
        return gap + 1 if gap >= 0 else place


class Shelf:
    """The sources of one half of the works."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources: Mapping[int, Source] = {source.number: source for source in sources}
        self.works: dict[str, list[Source]] = {}
        for source in sources:
            self.works.setdefault(source.work, []).append(source)
        self.letters = {source.number: source.letters for source in sources}

    def any(self, rng: np.random.Generator) -> Source:
        """A source, every work as likely as the next."""
        return _one(self.works[_one(sorted(self.works), rng)], rng)

    def others(self, count: int, known: Sequence[Source], rng: np.random.Generator) -> list[Source]:
        """Sources of other works than the known ones, no two of one work, in the language of the first
        as far as there are such."""
        taken = {source.work for source in known}
        free = [_one(books, rng) for work, books in sorted(self.works.items()) if work not in taken]
        order = rng.permutation(len(free))
        shuffled = [free[place] for place in order]
        return sorted(shuffled, key=lambda source: source.language != known[0].language)[:count]


def halves(books: Sequence[CorpusBook], seed: int) -> tuple[Shelf, Shelf]:
    """The paginated books in two halves, to tune on and to report on; books of one work stay together."""
    sources = [source for number, book in enumerate(books) if (source := _source(number, book)) is not None]
    language = {source.work: source.language for source in sources}
    rng = np.random.default_rng(seed)
    works = sorted(language)
    # Neighbours of one language go to different halves, so that both have every language that two works have.
    order = sorted((works[place] for place in rng.permutation(len(works))), key=lambda work: language[work])
    tuning = set(order[::2])
    return (
        Shelf([source for source in sources if source.work in tuning]),
        Shelf([source for source in sources if source.work not in tuning]),
    )


def unseen(books: Iterable[CorpusBook], corpus: Iterable[CorpusBook]) -> list[CorpusBook]:
    """Those of the texts that are works of their own and are not in the corpus, cut into pages."""
    known = {_key(book) for book in corpus}
    seen: set[str] = set()
    languages: Counter[str] = Counter()
    works = []
    for book in books:
        key, foreign = _key(book), book.language != "en"
        if foreign and (languages[book.language] == _PER_LANGUAGE or {book.author, book.work} & seen):
            continue
        if any(key.startswith(each) or each.startswith(key) for each in known):
            continue
        letters = sum(map(str.isalpha, book.text)) / len(book.text)
        if not _SHORTEST <= len(book.text) < _COLLECTION or letters < _LETTERS:
            continue
        known.add(key)
        seen.update((book.author, book.work))
        languages[book.language] += 1
        works.append(replace(book, pages=_cut(book.text[:_LONGEST_WORK])))
    return works


def _key(book: CorpusBook) -> str:
    """What editions of a work have in common: the language and the first letters of the title."""
    return f"{book.language} {''.join(filter(str.isalpha, book.title.casefold()))[:12]}"


def _cut(text: str) -> list[str]:
    """Pages of about equal length, cut at the ends of lines or words where there are any."""
    cuts = [0]
    while len(text) - cuts[-1] > PAGE:
        end = cuts[-1] + PAGE
        cuts.append(1 + max(text.rfind("\n", end - 80, end), text.rfind(" ", end - 20, end), end - 81))
    return [text[start:end] for start, end in pairwise([*cuts, len(text)])]


def _source(number: int, book: CorpusBook) -> Source | None:
    """The book as a source, or None where it has too few text pages."""
    pages = [page.replace(PAGE_BREAK, "\n") + "\n" for page in (book.pages or ())[:LONGEST]]
    text = "".join(pages)
    starts = np.cumsum([0, *map(len, pages)])
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    known = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.bool_)
    known[[ord(each) for each in set(text) if each.isalnum()]] = True
    letters = known[codes]
    counted = np.append(0, np.cumsum(letters))
    if np.count_nonzero(np.diff(counted[starts]) >= TEXT_PAGE) < TEXT_PAGES:
        return None
    named = (book.work, book.title, book.author, book.language, book.year or 1850)
    return Source(number, *named, text, starts, letters)


def _one(choices: Sequence[T], rng: np.random.Generator) -> T:
    return choices[int(rng.integers(len(choices)))]
