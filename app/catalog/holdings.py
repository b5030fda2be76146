"""A library's holdings for partners: metadata and an identifier for each book, but no text.

`bookprint ingest` and `bookprint check` read the table. Its suffix chooses Parquet, CSV or JSON Lines.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from bookprint_core.csv_tables import CsvWriter
from bookprint_core.errors import InvalidInput
from bookprint_core.metadata import FIELDS, LISTS
from bookprint_readers.parquet import require_pyarrow
from bookprint_readers.text_table import HOLDINGS as COLUMNS

_ROWS_TOGETHER = 10_000

_Row = Mapping[str, Any]


def write(path: Path, rows: Iterator[_Row]) -> int:
    """Write the holdings and return their number. The file appears at the path once it is complete.

    Raises InvalidInput for another suffix, and OSError.
    """
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InvalidInput(f"{path} must end in one of {', '.join(_WRITERS)}.", "out")
    partial = path.with_name(f".{path.name}.partial")
    count = 0
    try:
        with writer(partial) as add:
            while some := list(islice(rows, _ROWS_TOGETHER)):
                add([{name: row.get(name) for name in COLUMNS} for row in some])
                count += len(some)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


Add = Callable[[Sequence[_Row]], None]


@contextmanager
def _parquet(path: Path) -> Iterator[Add]:
    pq = require_pyarrow()
    import pyarrow as pa

    types = {name: pa.list_(pa.string()) if name in LISTS else pa.string() for name in COLUMNS}
    schema = pa.schema(types | {each.name: pa.int32() for each in FIELDS if each.kind is int})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield lambda rows: writer.write_table(pa.Table.from_pylist(list(rows), schema=schema))


@contextmanager
def _csv(path: Path) -> Iterator[Add]:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.row(COLUMNS)
        yield lambda rows: writer.rows(map(_joined, rows))


def _joined(row: _Row) -> list[object]:
    """Return the cells of a row; the values of a list are joined by `; `."""
    return ["; ".join(row[name]) if name in LISTS else row[name] for name in COLUMNS]


@contextmanager
def _json_lines(path: Path) -> Iterator[Add]:
    with path.open("wb") as file:
        yield lambda rows: file.writelines(orjson.dumps(row) + b"\n" for row in rows)


_WRITERS = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines}
