"""The third stage: the pairs of books to compare. Candidates of each book are searched in every block.

A task searches the index of one block for candidates of the books of several blocks. Per book, it finds at
most as many candidates as will be compared. The engine then selects the nearest candidates from all blocks.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import NO_DISTANCE
from bookprint_core.index.records import NO_SAMPLE, EntryColumns
from bookprint_corpus import storage
from bookprint_corpus.block_join import BlockIndex, CappedHash, JoinedCandidates, candidates_of_each
from bookprint_corpus.blocks import HashLists, SignatureBlock
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.stages.postings import FOLDER, block_count
from bookprint_corpus.tables import schema

if TYPE_CHECKING:
    from pyspark.sql.dataframe import DataFrame

_FOUND = "work/found"
_FOUND_SCHEMA = pa.schema(
    [
        ("book", pa.int64()),
        ("other", pa.int64()),
        *((name, schema("candidates").field(name).type) for name in schema("candidates").names[2:]),
        ("rank", pa.int64()),
        ("left_out", pa.int64()),
    ]
)
_PASSED_OVER = pa.schema([("book", pa.int64()), ("passed_over", pa.int64())])

_BLOCKS_ASKED_FOR = 8
"""Maximum number of blocks of queries per task, which indexes its own block once."""


def run(corpus: Corpus) -> None:
    """Write `candidates`, `capped`, and each book's number of candidates passed over."""
    storage.delete(corpus.out, "capped")
    blocks = block_count(corpus.out)
    tasks = [
        {"block": block, "asked": list(range(first, min(first + _BLOCKS_ASKED_FOR, blocks)))}
        for first in range(0, blocks, _BLOCKS_ASKED_FOR)
        for block in range(blocks)
    ]
    table = pa.Table.from_pylist(tasks, schema=_TASK)
    work = partial(candidates_of_blocks, nearest=corpus.options.limits.nearest)
    corpus.write(_FOUND, corpus.spread("candidates", table, work, _FOUND_SCHEMA), _FOUND_SCHEMA)
    _write_nearest(corpus)
    if not storage.files(corpus.out, "capped"):
        storage.write(corpus.out, "capped", schema("capped").empty_table())


def _write_nearest(corpus: Corpus) -> None:
    """Write the nearest candidates of each book, with each pair once, and the number passed over."""
    from pyspark.sql import Window, functions as f

    nearest = corpus.options.limits.nearest
    order = Window.partitionBy("book").orderBy("rank", "other")
    placed = corpus.table(_FOUND).withColumn("place", f.row_number().over(order))
    beyond = f.when(f.col("place") > nearest, 1).otherwise(0)
    cut = placed.groupBy("book").agg(f.sum(beyond + f.col("left_out")).alias("passed_over"))
    corpus.write("work/passed_over", cut.where(f.col("passed_over") > 0), _PASSED_OVER)
    evidence = schema("candidates").names[2:]
    pairs = placed.where(f.col("place") <= nearest).select(
        f.least("book", "other").alias("left"), f.greatest("book", "other").alias("right"), *evidence
    )
    # Capped hashes can give the two books of a pair different numbers of shared hashes; the larger counts.
    candidates: DataFrame = pairs.groupBy("left", "right").agg(
        *(f.max(name).alias(name) for name in evidence)
    )
    corpus.write("candidates", candidates, schema("candidates"))


def candidates_of_blocks(out: str, task: dict[str, Any], nearest: int) -> Iterator[pa.RecordBatch]:
    """Yield the candidates in one block for books of several blocks, and write its rows of `capped`."""
    block: int = task["block"]
    index = BlockIndex.of(read_block(out, block))
    if index.capped and 0 in task["asked"]:
        storage.write(out, "capped", _capped(block, index.capped), f"block-{block}")
    for asked in task["asked"]:
        for found in candidates_of_each(read_block(out, asked), index, nearest):
            yield _rows(found)


def read_block(out: str, block: int) -> SignatureBlock:
    """Return the signatures of a block, by ascending number of the book."""
    table = storage.read(out, f"{FOLDER}/block={block}").sort_by("book").combine_chunks()
    columns: dict[str, Any] = {name: table.column(name).combine_chunks() for name in table.column_names}
    signed = columns["fingerprint"].is_valid().to_numpy(zero_copy_only=False)
    bits = np.zeros((table.num_rows, 16), dtype=np.uint8)
    bits[signed] = np.frombuffer(_bytes(columns["fingerprint"]), dtype=np.uint8).reshape(-1, 16)
    entries = EntryColumns(
        columns["book"].to_numpy().astype(np.uint64),
        bits,
        signed,
        pc.fill_null(columns["shingle_count"], 0).to_numpy().astype(np.uint32),
        pc.fill_null(columns["sample_level"], NO_SAMPLE).to_numpy().astype(np.uint8),
        np.zeros(table.num_rows, dtype=np.bool_),
    )
    lengths = pc.fill_null(pc.binary_length(columns["sample"]), 0).to_numpy().astype(np.int64)
    hashes = np.frombuffer(_bytes(columns["sample"]), dtype="<u8")
    return SignatureBlock(entries, HashLists(hashes, np.cumsum(lengths) // hashes.itemsize))


def _bytes(cells: Any) -> bytes:
    """Return all bytes of a column of bytes, one cell after the other."""
    return b"".join(value for value in cells.to_pylist() if value is not None)


def _rows(found: JoinedCandidates) -> pa.RecordBatch:
    distances: NDArray[np.int64] = found.distances.astype(np.int64)
    columns = [
        pa.array(found.books.astype(np.int64)),
        pa.array(found.others.astype(np.int64)),
        pa.array(distances, mask=distances == NO_DISTANCE),
        pa.array(found.shared.astype(np.int64)),
        pa.array(found.ranks),
        pa.array(found.left_out),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_FOUND_SCHEMA)


def _capped(block: int, capped: tuple[CappedHash, ...]) -> pa.Table:
    rows = [{"block": block, "value": each.value, "books": each.books} for each in capped]
    return pa.Table.from_pylist(rows, schema=schema("capped"))


_TASK = pa.schema([("block", pa.int64()), ("asked", pa.list_(pa.int64()))])
