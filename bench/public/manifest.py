"""The books of the public benchmark, and what is known of pairs of them: books.csv.gz and pairs.csv.gz."""

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
"""What two books share: a work, all of the smaller one, parts, a preface or the like, a journal. Unclear
pairs count neither way."""
Basis = Literal["provenance", "source", "shingles"]
"""Who says so: those who collected the books, the note of an edition on its source, or the share of equal
five-word shingles."""


@dataclass(frozen=True, slots=True)
class PublicBook:
    """A file of a public repository, or a folder with an EPUB, and the book in it."""

    id: str  # SET/NAME
    repository: str  # OWNER/NAME
    commit: str
    path: str
    sha256: str  # of the file, or of what `file_at` makes of the folder; hexadecimal
    language: str
    author: str
    title: str
    year: str
    work: str  # within its repository; one name for all copies that the collectors or the shingles join

    @property
    def set(self) -> str:
        return self.id.partition("/")[0]

    def text_file(self, out: Path) -> Path:
        """Return where its text lies in the folder that was fetched to."""
        return out / "texts" / f"{self.id}.txt"

    def read(self, out: Path) -> CorpusBook:
        """Return the book that was fetched to a folder."""
        text = self.text_file(out).read_bytes().decode()
        pages = text.split(PAGE_BREAK) if PAGE_BREAK in text else None
        year = int(self.year) if self.year.isdigit() else None
        named = (self.id, self.work, self.title, self.author, year, self.language)
        return CorpusBook(*named, text.replace(PAGE_BREAK, "\n"), pages)


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a pair."""

    kind: Kind
    basis: Basis


def public_books(path: Path = BOOKS) -> list[PublicBook]:
    """The books in the order of the file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return [PublicBook(**row) for row in csv.DictReader(lines)]


def labels(path: Path = PAIRS) -> Mapping[frozenset[str], Label]:
    """The labels by the ids of the two books; pairs without one are strangers."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return {
            frozenset((row["a"], row["b"])): Label(cast(Kind, row["kind"]), cast(Basis, row["basis"]))
            for row in csv.DictReader(lines)
        }


def digest(path: Path) -> str:
    """The SHA-256 of a file, its first sixteen digits."""
    return sha256(path.read_bytes()).hexdigest()[:16]
