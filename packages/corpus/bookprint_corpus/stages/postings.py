"""The second stage: the signatures by which candidates are found, in blocks of consecutive books.

A block is small enough for the memory of one task. Few books are divided into more blocks, so that every core
has a task.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bookprint_core.errors import InvalidInput
from bookprint_core.recipe import (
    DEFAULT_FINGERPRINT,
    DEFAULT_MINHASH,
    DEFAULT_PAGES,
    DEFAULT_SAMPLE,
    plain_name,
)
from bookprint_corpus import storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.tables import schema

FOLDER = "work/postings"
COLUMNS = ("book", "fingerprint", "shingle_count", "sample_level", "sample")

_RECIPES = {
    "fingerprint_recipe": DEFAULT_FINGERPRINT,
    "minhash_recipe": DEFAULT_MINHASH,
    "sample_recipe": DEFAULT_SAMPLE,
    "pages_recipe": DEFAULT_PAGES,
}
_LEAST_BLOCKS = 4
_LEAST_BOOKS = 2_000
"""Number of books below which a block is not worth a task."""


def run(corpus: Corpus) -> None:
    """Write the blocks."""
    files = storage.files(corpus.out, "sketches")
    books = storage.read(corpus.out, "sketches", ["book"])
    starts = block_starts(books.column("book"), corpus.options.block_books)
    tasks = pa.table(
        {"file": pa.array(files, pa.string()), "starts": pa.array([starts] * len(files), _STARTS)}
    )
    frame = corpus.spread("postings", tasks, postings_of, _SCHEMA)
    corpus.write(FOLDER, frame, _SCHEMA, by=["block"])


def block_count(out: str) -> int:
    """Return the number of written blocks."""
    blocks = {file.partition("/block=")[2].partition("/")[0] for file in storage.files(out, FOLDER)}
    return len(blocks)


def block_starts(books: "pa.ChunkedArray[pa.Int64Scalar]", most: int) -> list[int]:
    """Return the first book of each block. Blocks have equal sizes of at most `most` books."""
    count = len(books)
    wanted = max(-(-count // most), min(_LEAST_BLOCKS, count // _LEAST_BOOKS), 1)
    ordered = books.take(pc.sort_indices(books))
    return [ordered[block * count // wanted].as_py() for block in range(wanted)] if count else []


def postings_of(out: str, task: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the blocks from one file of `sketches`."""
    starts = pa.array(task["starts"], pa.int64()).to_numpy()
    for batch in storage.file_batches(out, task["file"], [*COLUMNS, *_RECIPES]):
        _require_recipes(batch)
        blocks = starts.searchsorted(batch.column("book").to_numpy(), side="right") - 1
        columns = [batch.column(name) for name in COLUMNS]
        yield pa.RecordBatch.from_arrays([*columns, pa.array(blocks, pa.int64())], schema=_SCHEMA)


def _require_recipes(batch: pa.RecordBatch) -> None:
    for column, recipe in _RECIPES.items():
        for other in batch.column(column).unique().to_pylist():
            if other is not None and plain_name(other) != recipe:
                raise InvalidInput(
                    f"Signatures of {other} cannot be compared with those of {recipe}. Use the texts of "
                    "these books as the input, or sign them again.",
                    column,
                )


_SCHEMA = pa.schema([*(schema("sketches").field(name) for name in COLUMNS), pa.field("block", pa.int64())])
_STARTS = pa.list_(pa.int64())
