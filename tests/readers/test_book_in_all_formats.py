"""One book in all its formats: the same text, the same pages, and the relations of one book."""

from collections import Counter
from functools import cache

import pytest

from app.synthesis.library import synthetic_library
from bookprint_core.model import Content, Metadata
from bookprint_core.relations.relation import ComparedBook, relate
from bookprint_core.signatures.simhash import hamming
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.normal_form import normalise
from bookprint_readers.extraction import to_content
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source
from tests.readers.book_formats import IN_PAGES, WITHOUT_PAGES
from tests.readers.printed_book import PrintedBook, printed

MOST_BITS = 3
"""Between the fingerprints of the running text and of a format."""

MOST_OTHER_WORDS = 10
"""Of a page: parts of the words that go over its edges, and a heading that the running head repeats."""


@cache
def made_book(catchwords: bool) -> PrintedBook:
    """A synthetic book with two blank pages."""
    made = next(synthetic_library(17, 1, copies=(0, 1), characters=(90_000, 90_000)))
    pages = [*made.pages[:11], "", *made.pages[11:22], "", *made.pages[22:]]
    return printed(made.title, made.author, made.year, pages, catchwords)


def read(data: bytes) -> Content:
    return to_content(read_book(Source.of_bytes(data, "a file")))


def compared(content: Content) -> ComparedBook:
    signatures = sketch(content)
    return ComparedBook(signatures.pages, signatures.minhash, Metadata())


def bits_between(one: Content, other: Content) -> int:
    fingerprints = [sketch(content).fingerprint for content in (one, other)]
    assert all(fingerprints)
    return hamming(*(fingerprint.bits for fingerprint in fingerprints if fingerprint))


def words_of_pages(content: Content) -> list[Counter[str]]:
    normal = normalise(content)
    text = str(normal)
    starts, ends = normal.page_starts.tolist(), normal.page_ends.tolist()
    return [Counter(text[start:end].split()) for start, end in zip(starts, ends, strict=True)]


def assert_it_is_the_book(book: PrintedBook, name: str) -> None:
    if name in WITHOUT_PAGES:
        content = read(WITHOUT_PAGES[name](book))
        assert content.page_count is None
        assert bits_between(book.text, content) <= MOST_BITS
        return
    content = read(IN_PAGES[name](book))
    assert content.page_count == len(book.pages)
    assert bits_between(book.text, content) <= MOST_BITS
    for number, (page, wanted) in enumerate(
        zip(words_of_pages(content), words_of_pages(book.in_pages), strict=True), start=1
    ):
        other = (page - wanted) + (wanted - page)
        assert other.total() <= MOST_OTHER_WORDS, (number, other)
    relation = relate(compared(book.in_pages), compared(content))
    assert relation.classification.kind == "SAME_PAGINATION"


@pytest.mark.parametrize("catchwords", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*WITHOUT_PAGES, *IN_PAGES])
def test_a_made_book_is_the_same_in_every_format(name: str, catchwords: bool) -> None:
    assert_it_is_the_book(made_book(catchwords), name)
