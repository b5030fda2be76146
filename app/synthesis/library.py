"""A small library with known truth: canonical books, and copies of them with OCR errors and edits."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.synthesis.noise import corrupt, edit_sentences
from app.synthesis.prose import language, prose, title, world
from bookprint_core.model import PAGE_BREAK

PAGE_CHARACTERS = (1400, 2600)
REMEMBERED_CHAPTERS = 50
VOLUMES = 3
"""Number of consecutive works with the same author and people. Unrelated sequels are the most similar."""

_AUTHORS = 1 << 40  # first seed of authors, far from the seeds of works
_OUTSIDE = 1 << 41


@dataclass(frozen=True, slots=True)
class SyntheticBook:
    """A book, and what is known about its making."""

    id: str  # "w0007-c02": copy 2 of work 7; copy 0 is the canonical book
    work: int  # number; all books of a work are near-duplicates
    title: str
    author: str
    year: int
    pages: tuple[str, ...]
    error_rate: float  # OCR errors per character, 0 to 1; 0 in a canonical book
    edited: float  # share of sentences lost or added, 0 to 1
    shares_chapter_with: int | None  # earlier work with a common chapter
    volume: str | None = None
    isbns: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return PAGE_BREAK.join(self.pages)


def synthetic_library(
    seed: int,
    works: int,
    copies: tuple[int, int] = (1, 15),
    characters: tuple[int, int] = (80_000, 80_000),
    error_rate: float = 0.05,
    edited: float = 0.08,
    sharing: float = 0.1,
) -> Iterator[SyntheticBook]:
    """Yield each canonical book and its `copies[0]` to `copies[1]` copies, one work after another.

    A book has `characters[0]` to `characters[1]` characters. The error rate and the share of edited sentences
    of a copy are uniform between 0 and `error_rate` or `edited`. Every copy has its own page breaks. With
    probability `sharing`, a work repeats a chapter (a tenth) of an earlier work. Equal arguments yield equal
    books, and work n does not depend on `works`.
    """
    tongue = language()
    outside = np.random.default_rng([seed, _OUTSIDE])
    donor = prose(world(tongue, outside, outside), 40_000, outside)  # foreign sentences are taken from it
    chapters: deque[tuple[int, str]] = deque(maxlen=REMEMBERED_CHAPTERS)
    for work in range(works):
        rng = np.random.default_rng([seed, work])
        own = world(tongue, np.random.default_rng([seed, _AUTHORS + work // VOLUMES]), rng)
        size = int(rng.integers(characters[0], characters[1] + 1))
        text = prose(own, size, rng)
        shared = None
        if rng.random() < sharing and chapters:
            shared, chapter = chapters[int(rng.integers(len(chapters)))]
            text = _with_chapter(text, chapter, size, rng)
        name, year = title(own, rng), int(rng.integers(1750, 1930))
        for copy in range(1 + int(rng.integers(copies[0], copies[1] + 1))):
            rate, share = (rng.uniform(0, error_rate), rng.uniform(0, edited)) if copy else (0.0, 0.0)
            version = corrupt(edit_sentences(text, share, donor, rng), rate, rng)
            yield SyntheticBook(
                id=f"w{work:04}-c{copy:02}",
                work=work,
                title=name,
                author=own.author,
                year=year + int(copy and rng.integers(0, 60)),
                pages=paginate(version, int(rng.integers(*PAGE_CHARACTERS))),
                error_rate=rate,
                edited=share,
                shares_chapter_with=shared,
            )
        chapters.append((work, text[size // 2 : size // 2 + size // 10]))
        donor = text


def paginate(text: str, characters: int) -> tuple[str, ...]:
    """Split the text into pages of up to `characters` characters, between words if possible."""
    pages = []
    start = 0
    while len(text) - start > characters:
        end = text.rfind(" ", start, start + characters + 1)
        if end <= start:
            end = start + characters
        pages.append(text[start:end].rstrip())
        start = end
        while start < len(text) and text[start].isspace():
            start += 1
    return (*pages, text[start:])


def _with_chapter(text: str, chapter: str, size: int, rng: np.random.Generator) -> str:
    """Insert the chapter before a paragraph, and cut the text to `size` characters."""
    paragraph = text.rfind("\n\n", 0, int(rng.integers(0, max(1, size - len(chapter)))))
    at = 0 if paragraph < 0 else paragraph + 2
    return (text[:at] + chapter + "\n\n" + text[at:])[:size]
