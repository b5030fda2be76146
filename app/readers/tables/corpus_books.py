"""The books of a corpus with their signatures, in the order of their numbers, some at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from app.core.errors import BrokenFile
from app.core.model import (
    Fingerprint,
    FracMinHash,
    Metadata,
    MinHashSignature,
    PageSignatures,
    Sketch,
    Submission,
)
from app.core.recipe import page_recipe
from app.core.signatures.page_minhash import from_records, record_bytes
from app.readers.tables.corpus_folder import CorpusFolder, NumberedRows
from app.readers.tables.corpus_tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1024
"""Rows with their page signatures: some forty megabytes."""

_COLUMNS = tuple(column.name for column in TABLES["sketches"])
_METADATA = ("external_id", "title", "authors", "language", "year", "volume", "identifiers")
_DESCRIPTION = ("book", "place", *_METADATA, "content_key")
_FINGERPRINT_BYTES = 16
_VALUE_BYTES, _HASH_BYTES = 4, 8


@dataclass(frozen=True, slots=True)
class CorpusBookRow:
    """What is said of a book of a corpus, and the key of its content."""

    number: int
    place: str  # where it was read
    metadata: Metadata
    content_key: bytes


@dataclass(frozen=True, slots=True, eq=False)
class CorpusBook:
    """A book of a corpus with its signatures."""

    number: int
    place: str  # where it was read
    submission: Submission
    content_key: bytes  # of its text
    passed_over: int  # candidates that were too many to compare


class CorpusBooks:
    """The books of a corpus."""

    def __init__(self, folder: CorpusFolder) -> None:
        """Raises BrokenFile where the tables do not have each book once."""
        self._table = NumberedRows(folder, "sketches", "book")
        self.count = self._table.numbers.size
        """The number of books."""
        twice = np.flatnonzero(np.diff(self._table.numbers) == 0)
        if twice.size:
            raise BrokenFile(
                f"The table `sketches` has book {self._table.numbers[twice[0]]} twice. Write it anew, into "
                "another folder, with `bookprint corpus run`."
            )
        passed_over = folder.numbers("books", "passed_over")
        cut = np.flatnonzero(passed_over)
        numbers = folder.numbers("books", "book")
        if numbers.size != self.count:
            raise BrokenFile(
                f"The tables `books` and `sketches` are of {numbers.size:,} and {self.count:,} books. Write "
                "them anew, into another folder, with `bookprint corpus run`."
            )
        self._passed_over = dict(zip(numbers[cut].tolist(), passed_over[cut].tolist(), strict=True))

    def descriptions(self) -> Iterator[CorpusBookRow]:
        """The books without their signatures, which are most of what is read otherwise."""
        for row in self._rows(_DESCRIPTION, 10_000):
            yield CorpusBookRow(row["book"], row["place"], _metadata(row), row["content_key"])

    def read(self, after: int = -1) -> Iterator[CorpusBook]:
        """The books behind a number; raises BrokenFile where signatures are not those of a recipe."""
        for row in self._rows(_COLUMNS, _ROWS_AT_ONCE, after):
            labels = tuple(row["page_labels"] or ())
            submission = Submission(_metadata(row), sketch=_sketch(row), page_labels=labels)
            passed_over = self._passed_over.get(row["book"], 0)
            yield CorpusBook(row["book"], row["place"], submission, row["content_key"], passed_over)

    def _rows(self, columns: tuple[str, ...], at_once: int, after: int = -1) -> Iterator[Mapping[str, Any]]:
        numbers = self._table.numbers
        for start in range(int(numbers.searchsorted(after, side="right")), numbers.size, at_once):
            first, last = numbers[[start, min(start + at_once, numbers.size) - 1]].tolist()
            batches = self._table.between(first, last, columns, at_once)
            yield from sorted((row for batch in batches for row in rows_of(batch)), key=itemgetter("book"))


def rows_of(batch: "pa.RecordBatch") -> Iterator[dict[str, Any]]:
    """The rows of a batch by column, each list as a list and bytes as bytes."""
    names = batch.schema.names
    for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _metadata(row: Mapping[str, Any]) -> Metadata:
    fields = {name: row[name] for name in _METADATA}
    for name in ("authors", "identifiers"):
        fields[name] = tuple(fields[name] or ())
    return Metadata(**fields)


def _sketch(row: Mapping[str, Any]) -> Sketch:
    return Sketch(
        fingerprint=_fingerprint(row),
        minhash=_minhash(row),
        pages=_pages(row),
        word_count=row["word_count"],
        character_count=row["character_count"],
        page_count=row["page_count"],
        sample=_sample(row),
    )


def _fingerprint(row: Mapping[str, Any]) -> Fingerprint | None:
    recipe = row["fingerprint_recipe"]
    return None if recipe is None else Fingerprint(recipe, _bytes(row, "fingerprint", _FINGERPRINT_BYTES, 1))


def _minhash(row: Mapping[str, Any]) -> MinHashSignature | None:
    recipe = row["minhash_recipe"]
    if recipe is None:
        return None
    values = np.frombuffer(_bytes(row, "minhash", _VALUE_BYTES, 128), dtype="<u4")
    return MinHashSignature(recipe, values.astype(np.uint32), row["shingle_count"])


def _sample(row: Mapping[str, Any]) -> FracMinHash | None:
    recipe = row["sample_recipe"]
    if recipe is None:
        return None
    hashes = np.frombuffer(_bytes(row, "sample", _HASH_BYTES), dtype="<u8")
    return FracMinHash(recipe, hashes.astype(np.uint64), row["sample_level"])


def _pages(row: Mapping[str, Any]) -> PageSignatures | None:
    if row["pages_recipe"] is None:
        return None
    recipe = page_recipe(row["pages_recipe"])
    return from_records(recipe, row["pages_unit"], _bytes(row, "pages", record_bytes(recipe)))


def _bytes(row: Mapping[str, Any], column: str, width: int, count: int | None = None) -> bytes:
    data = cast(bytes, row[column] or b"")
    if len(data) % width or (count is not None and len(data) != count * width):
        raise BrokenFile(
            f"Book {row['book']} has {len(data):,} bytes in the column {column!r}, which fits no signature. "
            "Write the table `sketches` anew, into another folder, with `bookprint corpus run`."
        )
    return data
