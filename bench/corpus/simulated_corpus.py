"""The sketches of a simulated corpus as the sketch stage leaves them, written at flat memory.

Books of one work are dealt to all splits, as copies of a work come from many libraries.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from app.core.recipe import (
    DEFAULT_FINGERPRINT,
    DEFAULT_MINHASH,
    DEFAULT_PAGES,
    DEFAULT_SAMPLE,
    page_recipe,
)
from app.core.signatures.page_minhash import record_bytes
from app.corpus.tables import schema
from bench.corpus.simulated_pages import SimulatedPages, simulated_copy, simulated_work
from bench.data.simulated_books import BATCH, Books, LibraryShape, simulate

FIVE_RELATIVES = 2.64
"""The exponent of Zipf's law by which a book has five others of its work on the average."""

_SEED = 20261123
_LEAST_SPLITS = 8
_CHUNK = 2_000  # books whose pages are in memory at once
_RECORD = record_bytes(page_recipe(DEFAULT_PAGES))
_RECIPES = {
    "fingerprint_recipe": DEFAULT_FINGERPRINT,
    "minhash_recipe": DEFAULT_MINHASH,
    "sample_recipe": DEFAULT_SAMPLE,
}


@dataclass(frozen=True, slots=True)
class SimulatedCorpus:
    """What is simulated."""

    books: int
    pages: bool = False  # whether page signatures are, which relations are made from
    equal: int = 0  # books that are all the same one
    shape: LibraryShape = field(default=LibraryShape(tail=FIVE_RELATIVES))

    @property
    def splits(self) -> int:
        """Files that the books are dealt to."""
        return max(_LEAST_SPLITS, -(-self.books // BATCH))


def write_sketches(corpus: SimulatedCorpus, out: Path) -> None:
    """Write `sketches` below a folder; 1 ms a book with pages, 0.1 without."""
    folder = out / "sketches"
    folder.mkdir(parents=True)
    paths = [folder / f"split-{split:05}.parquet" for split in range(corpus.splits)]
    writers = [pq.ParquetWriter(path, schema("sketches")) for path in paths]
    written = np.zeros(corpus.splits, dtype=np.int64)
    rng = np.random.default_rng([_SEED, corpus.books])
    try:
        for chunk in _chunks(corpus):
            dealt = rng.integers(0, corpus.splits, chunk.num_rows)
            for split, writer in enumerate(writers):
                rows = np.arange(chunk.num_rows)[dealt == split]
                numbers = (split << 32) + written[split] + 1 + np.arange(rows.size)
                part = chunk.take(pa.array(rows)).set_column(0, "book", pa.array(numbers, pa.int64()))
                writer.write_table(part.cast(schema("sketches")))
                written[split] += rows.size
    finally:
        for writer in writers:
            writer.close()


def _chunks(corpus: SimulatedCorpus) -> Iterator[pa.Table]:
    """The books in the order in which works are simulated, some at a time."""
    pilot: dict[str, Any] = {}
    every = corpus.books // corpus.equal if corpus.equal else 0
    size = _CHUNK if corpus.pages else BATCH
    start = 0
    for batch in simulate(corpus.books, seed=_SEED, shape=corpus.shape):
        pages = _pages(batch, start) if corpus.pages else None
        for first in range(0, len(batch), size):
            rows = np.arange(first, min(first + size, len(batch)))
            chunk = _table(batch, rows, start + rows, pages)
            if every:
                chunk = _with_equal(chunk, (start + rows) % every == 0, pilot)
            yield chunk
        start += len(batch)


def _table(
    batch: Books, rows: NDArray[np.int64], numbers: NDArray[np.int64], pages: Iterator[bytes] | None
) -> pa.Table:
    assert batch.minhash is not None
    assert batch.samples is not None
    assert batch.sizes is not None
    assert batch.levels is not None
    records = [next(pages) for _ in rows] if pages else [None] * rows.size
    columns = {
        "place": [f"simulated#{number}" for number in numbers.tolist()],
        "external_id": [f"simulated-{number}" for number in numbers.tolist()],
        "title": [f"Book {number}" for number in numbers.tolist()],
        "word_count": batch.word_counts[rows],
        "character_count": batch.character_counts[rows],
        "content_key": [hashlib.sha256(number.to_bytes(8, "big")).digest() for number in numbers.tolist()],
        "fingerprint": [each.tobytes() for each in batch.fingerprints[rows]],
        "minhash": [each.astype("<u4").tobytes() for each in batch.minhash[rows]],
        "shingle_count": batch.shingle_counts[rows],
        "sample_level": batch.levels[rows],
        "sample": [batch.samples[row, : batch.sizes[row]].astype("<u8").tobytes() for row in rows],
        "page_count": [len(record) // _RECORD if record else None for record in records],
        "pages_recipe": [DEFAULT_PAGES if pages else None] * rows.size,
        "pages_unit": ["page" if pages else None] * rows.size,
        "pages": records,
        **{column: [recipe] * rows.size for column, recipe in _RECIPES.items()},
    }
    arrays = [
        pa.array(columns[each.name], each.type) if each.name in columns else pa.nulls(rows.size, each.type)
        for each in schema("sketches")
    ]
    return pa.Table.from_arrays(arrays, schema=schema("sketches"))


def _pages(batch: Books, start: int) -> Iterator[bytes]:
    """The page records of each book; the first of its work that comes has the work's own pages."""
    left = np.bincount(batch.works - batch.works.min())
    works: dict[int, SimulatedPages] = {}
    for row, work in enumerate((batch.works - batch.works.min()).tolist()):
        rng = np.random.default_rng([_SEED, start + row])
        if work not in works:
            works[work] = pages = simulated_work(rng)
        else:
            pages = simulated_copy(works[work], rng)
        left[work] -= 1
        if not left[work]:
            del works[work]
        yield pages.to_records()


def _with_equal(chunk: pa.Table, equal: NDArray[np.bool_], pilot: dict[str, Any]) -> pa.Table:
    """The same books, some of which have the signatures of the first of all."""
    signatures = chunk.column_names[chunk.column_names.index("word_count") :]
    for name in signatures:
        column = chunk[name].combine_chunks()
        pilot.setdefault(name, column[0])
        taken = np.where(equal, len(column), np.arange(len(column)))
        together = pa.concat_arrays([column, pa.array([pilot[name].as_py()], column.type)])
        chunk = chunk.set_column(chunk.column_names.index(name), name, together.take(pa.array(taken)))
    return chunk
