"""Made libraries as files of JSON Lines, for the corpus mode and the service alike."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from app.synthesis.library import SyntheticBook, synthetic_library
from app.synthesis.noise import corrupt

Book = Mapping[str, Any]


def write_library(path: Path, books: Iterable[Book]) -> Path:
    """Write the books, one a line."""
    with path.open("wb") as file:
        file.writelines(orjson.dumps(book) + b"\n" for book in books)
    return path


def small_library() -> Iterator[Book]:
    """Copies, parts and shared chapters, with and without page breaks, and books that are nearly empty."""
    made = list(synthetic_library(21, 6, copies=(1, 3), characters=(9_000, 16_000), sharing=0.5))
    yield from map(paged, made)
    whole = made[0]
    yield {"id": "part", "title": whole.title, "pages": whole.pages[1:5]}
    yield {"id": "plain", "title": whole.title, "text": " ".join(whole.pages)}
    yield {"id": "same", "title": whole.title, "pages": whole.pages}
    yield {"id": "volume", "title": whole.title, "volume": "2", "year": 1850, "pages": whole.pages[2:]}
    yield {"id": "short", "text": whole.text[:200]}
    yield {"id": "shorter", "text": "one two three"}
    yield {"id": "empty", "text": "—"}


def library_with_many_copies(works: int, copies: int) -> Iterator[Book]:
    """So many short books, and of one in their midst so many copies with a few errors each."""
    made = synthetic_library(22, works, copies=(0, 0), characters=(3_000, 3_000), sharing=0.1)
    for number, book in enumerate(made):
        yield paged(book)
        if number == works // 2:
            yield from _copies(book, copies)


def _copies(book: SyntheticBook, count: int) -> Iterator[Book]:
    for copy in range(count):
        rng = np.random.default_rng([23, copy])
        pages = [corrupt(page, rng.uniform(0, 0.01), rng) for page in book.pages]
        yield {"id": f"copy-{copy:05}", "title": book.title, "author": book.author, "pages": pages}


def paged(book: SyntheticBook) -> Book:
    """A made book as a line."""
    return {
        "id": book.id,
        "title": book.title,
        "author": book.author,
        "year": book.year,
        "pages": book.pages,
    }
