"""Reader of a corpus's books with their signatures, in batches, by ascending number."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from bookprint_core.errors import BrokenFile, InvalidInput
from bookprint_core.model import (
    Metadata,
    Sketch,
    Submission,
)
from bookprint_core.signatures.table_codec import METADATA, metadata_of, sketch_of
from bookprint_corpus.folder import CorpusFolder, NumberedRows
from bookprint_corpus.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1024
"""Rows read at once, about 40 MB with page signatures."""

_COLUMNS = tuple(column.name for column in TABLES["sketches"])
_DESCRIPTION = ("book", "place", *METADATA, "content_key")


@dataclass(frozen=True, slots=True)
class CorpusBookRow:
    """Metadata of a book of a corpus, and the key of its content."""

    number: int
    place: str  # path and part of the file
    metadata: Metadata
    content_key: bytes


@dataclass(frozen=True, slots=True, eq=False)
class CorpusBook:
    """A book of a corpus with its signatures."""

    number: int
    place: str  # path and part of the file
    submission: Submission
    content_key: bytes  # of its text
    passed_over: int  # number of candidates that were not compared


class CorpusBooks:
    """Reader of the books of a corpus."""

    def __init__(self, folder: CorpusFolder) -> None:
        """Read the numbers of the books. Raises BrokenFile unless the tables contain each book once."""
        self._table = NumberedRows(folder, "sketches", "book")
        self.count = self._table.numbers.size
        """Number of books."""
        twice = np.flatnonzero(np.diff(self._table.numbers) == 0)
        if twice.size:
            raise BrokenFile(
                f"The table `sketches` contains book {self._table.numbers[twice[0]]} twice. Write it again, "
                "into another folder, with `bookprint corpus run`."
            )
        passed_over = folder.numbers("books", "passed_over")
        cut = np.flatnonzero(passed_over)
        numbers = folder.numbers("books", "book")
        if numbers.size != self.count:
            raise BrokenFile(
                f"The tables `books` and `sketches` contain {numbers.size:,} and {self.count:,} books. Write "
                "them again, into another folder, with `bookprint corpus run`."
            )
        self._passed_over = dict(zip(numbers[cut].tolist(), passed_over[cut].tolist(), strict=True))

    def descriptions(self) -> Iterator[CorpusBookRow]:
        """Yield the books without their signatures, which are most of the data."""
        for row in self._rows(_DESCRIPTION, 10_000):
            yield CorpusBookRow(row["book"], row["place"], metadata_of(row), row["content_key"])

    def read(self, after: int = -1) -> Iterator[CorpusBook]:
        """Yield the books after a number. Raises BrokenFile if signatures do not fit their recipe."""
        for row in self._rows(_COLUMNS, _ROWS_AT_ONCE, after):
            labels = tuple(row["page_labels"] or ())
            submission = Submission(metadata_of(row), sketch=_sketch(row), page_labels=labels)
            passed_over = self._passed_over.get(row["book"], 0)
            yield CorpusBook(row["book"], row["place"], submission, row["content_key"], passed_over)

    def _rows(self, columns: tuple[str, ...], at_once: int, after: int = -1) -> Iterator[Mapping[str, Any]]:
        numbers = self._table.numbers
        for start in range(int(numbers.searchsorted(after, side="right")), numbers.size, at_once):
            first, last = numbers[[start, min(start + at_once, numbers.size) - 1]].tolist()
            batches = self._table.between(first, last, columns, at_once)
            yield from sorted((row for batch in batches for row in rows_of(batch)), key=itemgetter("book"))


def rows_of(batch: "pa.RecordBatch") -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch by column name, with lists and bytes as Python values."""
    names = batch.schema.names
    for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _sketch(row: Mapping[str, Any]) -> Sketch:
    try:
        return sketch_of(row)
    except InvalidInput as exc:
        raise BrokenFile(
            f"Book {row['book']} has no signatures of this version in the table `sketches`: {exc} Write it "
            "again, into another folder, with `bookprint corpus run`."
        ) from exc
