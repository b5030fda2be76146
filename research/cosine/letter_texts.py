"""English texts that cosines of letters are measured on: News20 messages, pages and passages of books.

Each kind has texts to learn references from and others to test on. News20 is divided by date, as the
collection is; books by work, so that no work is on both sides.
"""

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import CannotMeasure

SEED = 20261123
SHORTEST = 300
"""Characters that a page must have."""
PAGES_PER_BOOK = 60
PASSAGES_PER_BOOK = ((1_000, 12), (3_000, 12))
"""Characters of a passage, and how many are drawn of each book."""


@dataclass(frozen=True, slots=True)
class Texts:
    """One kind of text: what references are learnt from, and what they are tested on."""

    name: str
    learning: Sequence[str]
    testing: Sequence[str]


def news_folder() -> Path:
    """The folder with News20 messages; raises CannotMeasure where there is none."""
    folder = os.environ.get("BOOKPRINT_NEWS20")
    if not folder or not (Path(folder) / "messages.jsonl.gz").exists():
        raise CannotMeasure("Set BOOKPRINT_NEWS20 to a folder that holds messages.jsonl.gz.")
    return Path(folder)


def news_texts(folder: Path) -> Texts:
    """The messages of the collection's own division by date."""
    parts: dict[str, list[str]] = {"train": [], "test": []}
    with gzip.open(folder / "messages.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            parts[message["part"]].append(message["text"])
    return Texts("News20", parts["train"], parts["test"])


def book_texts() -> Texts:
    """Passages of English books to learn from, pages of other English works to test on."""
    english = [book for book in corpus_books(corpus_folder()) if book.language == "en"]
    return divided(english)


def divided(books: Sequence[CorpusBook]) -> Texts:
    """Passages and pages of the books; every second work that has pages, in a random order, is tested on.

    A book too short for passages is left out.
    """
    rng = np.random.default_rng(SEED)
    works = sorted({book.work for book in books if book.pages})
    tested = {works[place] for place in rng.permutation(len(works))[1::2]}
    learning: list[str] = []
    testing: list[str] = []
    for book in books:
        if book.work not in tested:
            for size, count in PASSAGES_PER_BOOK:
                starts = rng.integers(0, len(book.text) - size, count) if len(book.text) > size else ()
                learning += [book.text[start : start + size] for start in starts]
        elif book.pages:
            pages = [page for page in book.pages if len(page) >= SHORTEST]
            testing += [pages[place] for place in rng.permutation(len(pages))[:PAGES_PER_BOOK]]
    return Texts("pages of books", learning, testing)
