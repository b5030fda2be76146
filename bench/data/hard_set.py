"""Texts with known versions, made from real books: the hard set.

It takes chunks of novels as books, so that two of them share author, names and style but no text. A query
must find its own versions and nothing else, not even the next chunk of its own novel. As in Vladimir et al.
("A preliminary study on similarity-preserving digital book identifiers", section 3.2), each book gets 1 to 15
derivatives with 0 to 5 % OCR errors. 0 to 8 % of the sentences are removed or inserted from other books; the
paper says "a certain amount".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.synthesis.noise import corrupt, edit_sentences
from bench.harness.corpus import CorpusBook

CHUNK = 80_000
"""Characters."""
COPIES = (1, 15)
ERROR_RATE = 0.05
EDITED = 0.08


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a set."""

    work: int  # chunks of one novel have one work
    book: int  # versions of one chunk have one book
    language: str
    text: str


def one_per_work(books: Sequence[CorpusBook], at_least: int = CHUNK) -> list[CorpusBook]:
    """The longest book of each work, where it has so many characters; OCR output (`cis-`) is left out."""
    longest: dict[str, CorpusBook] = {}
    for book in books:
        known = longest.get(book.work)
        if len(book.text) >= at_least and not book.id.startswith("cis-"):
            longest[book.work] = book if known is None or len(book.text) > len(known.text) else known
    return [longest[work] for work in sorted(longest)]


def hard_set(books: Sequence[CorpusBook], chunks_per_work: int, seed: int) -> Iterator[Version]:
    """Chunks of these books, one book of each work; a chunk is followed by its derivatives."""
    number = 0
    for work in range(len(books)):
        for chunk in chunks_of(books, work, chunks_per_work, seed):
            for version in chunk:
                yield Version(work, number, books[work].language, version)
            number += 1


def chunks_of(
    books: Sequence[CorpusBook], work: int, chunks_per_work: int, seed: int
) -> Iterator[Iterator[str]]:
    """The texts of each chunk of one book of the hard set; each is read to its end before the next."""
    rng = np.random.default_rng([seed, work])
    text = books[work].text
    chunks = rng.permutation(len(text) // CHUNK)[:chunks_per_work]
    for chunk in sorted(int(each) for each in chunks):
        yield versions(text[chunk * CHUNK : (chunk + 1) * CHUNK], books, work, rng)


def versions(text: str, books: Sequence[CorpusBook], work: int, rng: np.random.Generator) -> Iterator[str]:
    """The text and its derivatives; the other books, of over 40,000 characters, lend sentences."""
    yield text
    for _ in range(int(rng.integers(COPIES[0], COPIES[1] + 1))):
        edited = edit_sentences(text, rng.uniform(0, EDITED), _span(books, work, rng), rng)
        yield corrupt(edited, rng.uniform(0, ERROR_RATE), rng)


def _span(books: Sequence[CorpusBook], work: int, rng: np.random.Generator) -> str:
    """A span of another work, to take foreign sentences from."""
    other = books[(work + int(rng.integers(1, len(books)))) % len(books)].text
    start = int(rng.integers(0, len(other) - CHUNK // 2))
    return other[start : start + CHUNK // 2]
