"""Books of the public benchmark, and labels of pairs: books.csv.gz and pairs.csv.gz."""

import csv
import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, cast

from bench.harness.corpus import CorpusBook
from bookprint_core.model import PAGE_BREAK

BOOKS = Path(__file__).with_name("books.csv.gz")
PAIRS = Path(__file__).with_name("pairs.csv.gz")

Kind = Literal["same_work", "contains", "overlaps", "paratext", "serial", "unclear"]
"""Shared matter of two books: a work, the whole smaller book, parts, a preface, a journal, or unclear."""
Basis = Literal["provenance", "source", "shingles"]
"""Source of a label: the collectors, an edition's note on its source, or the share of equal shingles."""


@dataclass(frozen=True, slots=True)
class PublicBook:
    """A book, and its file in a public repository, or its folder with an EPUB."""

    id: str  # SET/NAME
    repository: str  # OWNER/NAME
    commit: str
    path: str
    sha256: str  # of the file, or of the archive that `file_at` makes of the folder; hexadecimal
    language: str
    author: str
    title: str
    year: str
    work: str  # name in its repository, equal for all copies by the collectors or the shingles

    @property
    def set(self) -> str:
        return self.id.partition("/")[0]

    def text_file(self, out: Path) -> Path:
        """Return the path of the fetched text below `out`."""
        return out / "texts" / f"{self.id}.txt"

    def read(self, out: Path) -> CorpusBook:
        """Return the book fetched to `out`."""
        text = self.text_file(out).read_bytes().decode()
        pages = text.split(PAGE_BREAK) if PAGE_BREAK in text else None
        year = int(self.year) if self.year.isdigit() else None
        named = (self.id, self.work, self.title, self.author, year, self.language)
        return CorpusBook(*named, text.replace(PAGE_BREAK, "\n"), pages)


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a pair and its source."""

    kind: Kind
    basis: Basis


def public_books(path: Path = BOOKS) -> list[PublicBook]:
    """Return the books in the order of the file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return [PublicBook(**row) for row in csv.DictReader(lines)]


def labels(path: Path = PAIRS) -> Mapping[frozenset[str], Label]:
    """Return the labels by the ids of the two books; pairs without a label are strangers."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return {
            frozenset((row["a"], row["b"])): Label(cast(Kind, row["kind"]), cast(Basis, row["basis"]))
            for row in csv.DictReader(lines)
        }


def digest(path: Path) -> str:
    """Return the first sixteen digits of the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()[:16]
