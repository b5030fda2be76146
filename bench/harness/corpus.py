"""The corpus of real books in the folder BOOKPRINT_CORPUS: books.jsonl.gz and real_pairs.csv."""

import csv
import gzip
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from bench.harness.report import CannotMeasure
from bookprint_core.model import PAGE_BREAK, Content
from bookprint_core.text.content import content_from_pages, content_from_text

Relation = Literal["same_work", "contains", "overlaps", "series", "different", "translation"]


@dataclass(frozen=True, slots=True)
class CorpusBook:
    """A book: one line of books.jsonl.gz."""

    id: str
    work: str
    title: str
    author: str
    year: int | None  # year of the first or the printed edition
    language: str
    text: str
    pages: Sequence[str] | None

    @property
    def content(self) -> Content:
        """Return the book as content of Bookprint."""
        return content_from_pages(self.pages) if self.pages else content_from_text(self.text)


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair of books."""

    a: str
    b: str
    relation: Relation
    containment: float  # share of the smaller book's shingles found in the other, 0 to 1


def corpus_folder() -> Path:
    """Return the folder of the corpus; raises CannotMeasure if there is none."""
    folder = os.environ.get("BOOKPRINT_CORPUS")
    if not folder or not (Path(folder) / "books.jsonl.gz").exists():
        raise CannotMeasure("Set BOOKPRINT_CORPUS to a folder with books.jsonl.gz and real_pairs.csv.")
    return Path(folder)


def corpus_books(folder: Path) -> Iterator[CorpusBook]:
    """Yield every book, in the order of the file."""
    with gzip.open(folder / "books.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = json.loads(line)
            text = fields["text"].replace(PAGE_BREAK, "\n")
            yield CorpusBook(
                id=fields["id"],
                work=fields["work"],
                title=fields["title"] or "",
                author=fields["author"] or "",
                year=fields["year"],
                language=fields["lang"],
                text=text,
                pages=fields["pages"],
            )


def gutenberg_books() -> dict[int, CorpusBook]:
    """Return the books of Reeve's table by row, from the folder BOOKPRINT_GUTENBERG."""
    folder = os.environ.get("BOOKPRINT_GUTENBERG")
    if not folder or not (Path(folder) / "works.jsonl.gz").exists():
        raise CannotMeasure("Set BOOKPRINT_GUTENBERG to a folder with works.jsonl.gz.")
    with gzip.open(Path(folder) / "works.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    books = {}
    for fields in rows:
        name, author = f"gutenberg-{fields['gutenberg_id']}", fields["author"] or ""
        books[fields["row"]] = CorpusBook(
            name, name, fields["title"], author, None, fields["language"], fields["text"], None
        )
    return books


def corpus_pairs(folder: Path) -> list[Pair]:
    """Return every labelled pair."""
    with (folder / "real_pairs.csv").open(encoding="utf-8", newline="") as rows:
        return [
            Pair(row["a"], row["b"], cast(Relation, row["relation"]), float(row["containment"]))
            for row in csv.DictReader(rows)
        ]
