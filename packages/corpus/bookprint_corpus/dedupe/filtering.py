"""Copies of the input's Parquet tables, without the rows left out, or with lists of duplicates.

A table is copied in batches, so that memory does not depend on the size of row groups. Names, columns, order
of rows and compression stay unchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bookprint_corpus import storage
from bookprint_corpus.dedupe.sections import BookPlaces

DUPLICATES = "likely_duplicates_barcodes_gen"
"""Column of Institutional Books 1.0 that lists the ids of the other books in a row's cluster; null without
other books."""

FOLDER = "dedupe/tables"
WORK = "work/dedupe"
MEMBERS = f"{WORK}/members"
"""Table with the ids of books in clusters of at least two, and the number of their cluster."""

_COLUMNS: dict[str, pa.DataType] = {
    "path": pa.string(),
    "rows": pa.int64(),
    "kept": pa.int64(),
    "problem": pa.string(),
}
COPIED = pa.schema(_COLUMNS)
"""Columns of a table's result. `problem` is the reason why the table was not copied."""

_BUFFER = 1 << 20
_BYTES_AT_ONCE = 4 << 20
_GROUP_BYTES = 64 << 20
"""Unencoded bytes after which a row group ends, unless the input's row group ends earlier."""


def copied_table(out: str, task: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Copy one table and yield its row of `COPIED`."""
    rows = kept = 0
    problem = None
    left_out = np.asarray(task["left_out"], dtype=np.int64)
    try:
        with pq.ParquetFile(task["path"], buffer_size=_BUFFER, pre_buffer=False) as source:
            rows = source.metadata.num_rows
            kept = rows - left_out.size
            clusters = _Clusters(out, task) if task["is_marked"] else None
            _copy(source, out, f"{FOLDER}/{task['name']}", left_out, clusters)
    except (OSError, ValueError, TypeError, KeyError, NotImplementedError) as exc:
        # pyarrow's own errors are subclasses of these.
        kept, problem = rows, " ".join(str(exc).split())[:300]
    cells = {"path": task["path"], "rows": rows, "kept": kept, "problem": problem}
    yield pa.RecordBatch.from_pylist([cells], schema=COPIED)


def _copy(
    source: pq.ParquetFile,
    out: str,
    name: str,
    left_out: BookPlaces,
    clusters: "_Clusters | None",
) -> None:
    schema = source.schema_arrow if clusters is None else marked_schema(source.schema_arrow)
    row = 1
    with storage.parquet_writer(out, name, schema, _compression(source)) as writer:
        for group in range(source.num_row_groups):
            waiting: list[pa.RecordBatch] = []
            for batch in source.iter_batches(_rows_at_once(source, group), [group], use_threads=False):
                numbers = np.arange(row, row + batch.num_rows)
                row += batch.num_rows
                if clusters is not None:
                    batch = _marked(batch, schema, list(map(clusters.others, numbers.tolist())))
                waiting.append(batch.filter(pa.array(~np.isin(numbers, left_out))))
                if sum(each.nbytes for each in waiting) > _GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(waiting, schema))
                    waiting = []
            if any(each.num_rows for each in waiting):
                writer.write_table(pa.Table.from_batches(waiting, schema))


class _Clusters:
    """The clusters of a table's rows."""

    def __init__(self, out: str, task: Mapping[str, Any]) -> None:
        rows = zip(task["rows"], task["clusters"], task["ids"], strict=True)
        self._rows = {row: (cluster, own) for row, cluster, own in rows}
        self._ids: dict[int, list[str]] = {cluster: [] for cluster in task["clusters"]}
        for batch in storage.batches(out, MEMBERS):
            for cluster, external_id in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if cluster in self._ids:
                    self._ids[cluster].append(external_id)

    def others(self, row: int) -> list[str] | None:
        """Return the ids of the other books in a row's cluster, or None without a cluster."""
        if row not in self._rows:
            return None
        cluster, own = self._rows[row]
        ids = list(self._ids[cluster])
        if own is not None:
            ids.remove(own)
        return ids


def marked_schema(schema: pa.Schema) -> pa.Schema:
    """Return a table's schema with the column DUPLICATES; append the column if it is missing."""
    if DUPLICATES in schema.names:
        return schema
    properties = dict(schema.metadata or {})
    # The library `datasets` reads the columns from there and would fail on an additional column.
    properties.pop(b"huggingface", None)
    return schema.append(pa.field(DUPLICATES, pa.list_(pa.string()))).with_metadata(properties)


def _marked(batch: pa.RecordBatch, schema: pa.Schema, lists: Sequence[list[str] | None]) -> pa.RecordBatch:
    column = pa.array(lists, schema.field(DUPLICATES).type)
    columns = [column if name == DUPLICATES else batch.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _rows_at_once(source: pq.ParquetFile, group: int) -> int:
    metadata = source.metadata.row_group(group)
    return max(1, min(8192, _BYTES_AT_ONCE * metadata.num_rows // max(metadata.total_byte_size, 1)))


def _compression(source: pq.ParquetFile) -> dict[str, str]:
    """Return the codec of each column of the first row group."""
    if not source.num_row_groups:
        return {}
    group = source.metadata.row_group(0)
    columns = map(group.column, range(group.num_columns))
    return {
        column.path_in_schema: "NONE" if column.compression == "UNCOMPRESSED" else column.compression
        for column in columns
    }
