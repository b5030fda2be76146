"""Pages of equal length from books of several scripts: printed, shifted by half a page, and with errors.

Texts are cut into pages again to make scripts comparable. In Chinese and Japanese a character is a word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.synthesis.noise import corrupt_pages
from bench.harness.corpus import CorpusBook

SEED = 20261123
LANGUAGES = ("en", "ru", "ar", "el", "zh", "ja")
"""Latin, Cyrillic, Arabic and Greek script; Chinese and Japanese characters."""
DENSE = frozenset({"zh", "ja"})
WORDS = 330
"""Number of words of a page."""
CHARACTERS = 528
"""Number of characters of a page of Chinese or Japanese, equivalent to 330 words in shingles."""
FEWEST = 24
"""Minimum number of pages of a book."""


@dataclass(frozen=True, slots=True)
class PrintedBook:
    """Consecutive pages from the middle of one book."""

    number: int  # unique per book
    language: str
    pages: Sequence[str]
    halves: Sequence[str]  # page i: from the middle of `pages[i]` to the middle of the next page

    def read(self, error_rate: float, side: int) -> list[str]:
        """Return the pages of the copy with this number, with this rate of errors per character."""
        return corrupt_pages(self.pages, error_rate, self._noise(error_rate, side))

    def read_halves(self, error_rate: float, side: int) -> list[str]:
        """Return the pages shifted by half a page, with errors as in `read`."""
        return corrupt_pages(self.halves, error_rate, self._noise(error_rate, side))

    def _noise(self, error_rate: float, side: int) -> np.random.Generator:
        return np.random.default_rng([SEED, self.number, round(1e6 * error_rate), side])


def printed_books(
    books: Sequence[CorpusBook], language: str, most_books: int, most_pages: int
) -> list[PrintedBook]:
    """Draw up to `most_books` books of different works in a language, with up to `most_pages` pages each."""
    works: dict[str, CorpusBook] = {}
    for book in books:
        if book.language == language and len(_tokens(book)) >= (FEWEST + 1) * _page_tokens(language):
            works.setdefault(book.work, book)
    order = np.random.default_rng(SEED).permutation(len(works))[:most_books]
    chosen = [works[sorted(works)[place]] for place in order]
    return [_printed(number, book, most_pages) for number, book in enumerate(chosen)]


def _printed(number: int, book: CorpusBook, most_pages: int) -> PrintedBook:
    tokens, size = _tokens(book), _page_tokens(book.language)
    count = min(most_pages, len(tokens) // size - 1)
    first = (len(tokens) - (count + 1) * size) // 2
    glue = "" if book.language in DENSE else " "
    starts = [first + size * page for page in range(count)]
    return PrintedBook(
        number=number,
        language=book.language,
        pages=[glue.join(tokens[start : start + size]) for start in starts],
        halves=[glue.join(tokens[start + size // 2 : start + size + size // 2]) for start in starts],
    )


def _tokens(book: CorpusBook) -> Sequence[str]:
    words = book.text.split()
    return "".join(words) if book.language in DENSE else words


def _page_tokens(language: str) -> int:
    return CHARACTERS if language in DENSE else WORDS


def counted(printed: Mapping[str, Sequence[PrintedBook]]) -> str:
    """Return the numbers of pages and books by language, in words."""
    return ", ".join(
        f"{language} {sum(len(book.pages) for book in books)} pages of {len(books)} books"
        for language, books in printed.items()
    )
