"""Writer of tables of signatures (`bookprint_core.signatures.table_codec`) as Parquet."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bookprint_core.model import Metadata, PageLabels, Sketch
from bookprint_core.signatures.table_codec import MARK, VERSION, cells_of
from bookprint_corpus.tables import SIGNATURES, arrow_schema
from bookprint_readers.parquet import require_pyarrow

_ROWS_TOGETHER = 256
"""Rows per row group: at most a few tens of megabytes of page signatures."""


class SignatureWriter:
    """Writer of a table of signatures, one row group at a time."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._schema = arrow_schema(SIGNATURES).with_metadata({MARK: VERSION})
        self._writer = require_pyarrow().ParquetWriter(path, self._schema, compression="zstd")
        self._batch = pa.RecordBatch
        self._rows: list[dict[str, Any]] = []

    def add(
        self, place: str, metadata: Metadata, sketch: Sketch, labels: PageLabels = (), *, pages: bool
    ) -> None:
        """Write one book, with or without page signatures."""
        shown = sketch if pages else replace(sketch, pages=None)
        self._rows.append({"place": place} | cells_of(metadata, shown, labels))
        if len(self._rows) == _ROWS_TOGETHER:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(self._batch.from_pylist(self._rows, schema=self._schema))
            self._rows = []


@contextmanager
def written(path: Path) -> Iterator[SignatureWriter]:
    """Yield a writer whose table appears at the path when it is complete."""
    require_pyarrow()
    partial = path.with_name(f".{path.name}.partial")
    try:
        writer = SignatureWriter(partial)
        try:
            yield writer
        finally:
            writer.close()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
