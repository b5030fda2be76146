"""The last stage: the table of books, with identifiers and numbers of candidates passed over."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from bookprint_core.model import Fingerprint
from bookprint_core.signatures.identifier import encode_each
from bookprint_corpus import storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.tables import schema

_SKETCHED = [name for name in schema("books").names if name in schema("sketches").names]
_SIGNED = ("fingerprint_recipe", "fingerprint")


def run(corpus: Corpus) -> None:
    """Write `books`."""
    files = pa.table({"file": pa.array(storage.files(corpus.out, "sketches"), pa.string())})
    frame = corpus.spread("books", files, books_of, schema("books"))
    corpus.write("books", frame, schema("books"))


def books_of(out: str, task: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `books` from one file of `sketches`."""
    cut = storage.read(out, "work/passed_over")
    passed_over = dict(
        zip(cut.column("book").to_pylist(), cut.column("passed_over").to_pylist(), strict=True)
    )
    for batch in storage.file_batches(out, task["file"], [*_SKETCHED, *_SIGNED]):
        columns = {name: batch.column(name) for name in _SKETCHED}
        books = columns["book"].to_pylist()
        columns["identifier"] = pa.array(_identifiers(batch), pa.string())
        columns["passed_over"] = pa.array([passed_over.get(book, 0) for book in books], pa.int64())
        yield pa.RecordBatch.from_arrays(
            [columns[name] for name in schema("books").names], schema=schema("books")
        )


def _identifiers(batch: pa.RecordBatch) -> list[str | None]:
    cells = (batch.column(name).to_pylist() for name in (*_SIGNED, "word_count"))
    signed = [
        (row, (Fingerprint(recipe, bits), words))
        for row, (recipe, bits, words) in enumerate(zip(*cells, strict=True))
        if bits is not None
    ]
    identifiers: list[str | None] = [None] * batch.num_rows
    for (row, _), identifier in zip(signed, encode_each([book for _, book in signed]), strict=True):
        identifiers[row] = identifier
    return identifiers
