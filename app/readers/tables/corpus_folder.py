"""The folder that `bookprint corpus run` writes: whether it is whole, and the parts of its tables.

Tables may be larger than memory, so they are read by row groups, some rows at a time.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.core.errors import InvalidInput
from app.readers.tables.corpus_tables import PROGRESS, TABLES, VERSION
from app.readers.tables.parquet import damage_named, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_TABLES = ("books", "sketches", "relations", "page_maps", "clusters")


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a file, and the least and the greatest value of one of its columns."""

    path: Path
    number: int
    least: int
    greatest: int


class CorpusFolder:
    """The tables of a finished corpus."""

    def __init__(self, folder: Path) -> None:
        """Raises InvalidInput where it is no finished corpus of this version, or pyarrow is missing."""
        require_pyarrow()
        _check_progress(folder)
        for table in _TABLES:
            if not (folder / table).is_dir():
                raise _unfinished(folder)
        self._folder = folder
        for table in _TABLES:
            for path in self.files(table):
                _check_columns(table, path)

    def files(self, table: str) -> list[Path]:
        """The files of a table, by name."""
        found = (self._folder / table).rglob("*.parquet")
        return sorted(path for path in found if path.is_file() and not path.name.startswith((".", "_")))

    def row_groups(self, table: str, column: str) -> list[RowGroup]:
        """The row groups of a table that have rows, with the bounds of a column of whole numbers."""
        return [group for path in self.files(table) for group in _row_groups(path, column)]

    def numbers(self, table: str, column: str) -> NDArray[np.int64]:
        """A column of whole numbers, in the order of files and rows."""
        parts = [read_numbers(path, column) for path in self.files(table)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def read_numbers(path: Path, column: str) -> NDArray[np.int64]:
    """A column of whole numbers of one file."""
    with _opened(path) as file:
        return _numbers(file.read([column]))


def read_rows(
    path: Path, columns: Sequence[str], at_once: int, first: int = 0, end: int | None = None
) -> "Iterator[pa.RecordBatch]":
    """Rows first, first + 1, … before `end` of a file, at most so many at once."""
    with _opened(path) as file:
        row = 0
        for number in range(file.num_row_groups):
            size = file.metadata.row_group(number).num_rows
            if row + size <= first or (end is not None and row >= end):
                row += size
                continue
            for batch in file.iter_batches(
                at_once, row_groups=[number], columns=list(columns), use_threads=False
            ):
                start = max(first - row, 0)
                stop = batch.num_rows if end is None else min(end - row, batch.num_rows)
                if start < stop:
                    yield batch.slice(start, stop - start)
                row += batch.num_rows


def read_row_group(group: RowGroup, columns: Sequence[str], at_once: int) -> "Iterator[pa.RecordBatch]":
    """The rows of a row group, at most so many at once."""
    with _opened(group.path) as file:
        yield from file.iter_batches(
            at_once, row_groups=[group.number], columns=list(columns), use_threads=False
        )


def _row_groups(path: Path, column: str) -> Iterator[RowGroup]:
    with _opened(path) as file:
        place = file.schema_arrow.names.index(column)
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            bounds: Any = group.column(place).statistics
            if bounds is not None and bounds.has_min_max:
                yield RowGroup(path, number, bounds.min, bounds.max)
            elif group.num_rows:
                values = _numbers(file.read_row_group(number, [column]))
                yield RowGroup(path, number, int(values.min()), int(values.max()))


@contextmanager
def _opened(path: Path) -> "Iterator[pq.ParquetFile]":
    """A Parquet file; raises BrokenFile where it is damaged."""
    with damage_named(str(path)), require_pyarrow().ParquetFile(path, pre_buffer=False) as file:
        yield file


def _numbers(table: "pa.Table") -> NDArray[np.int64]:
    values: NDArray[np.int64] = table.column(0).to_numpy()
    return values.astype(np.int64)


def _check_progress(folder: Path) -> None:
    try:
        progress = json.loads((folder / PROGRESS).read_bytes())
        version, complete = progress["version"], progress["complete"]
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise InvalidInput(
            f"{folder} is no corpus. Name the folder that `bookprint corpus run` has written."
        ) from exc
    if version != VERSION:
        raise InvalidInput(
            f"{folder} was written by another version of Bookprint. Load it with that version, or write it "
            "anew with `bookprint corpus run`."
        )
    if not complete:
        raise _unfinished(folder)


def _unfinished(folder: Path) -> InvalidInput:
    return InvalidInput(
        f"{folder} is not finished. Run the `bookprint corpus run` that writes it once more: it goes on where"
        " it ended."
    )


def _check_columns(table: str, path: Path) -> None:
    with _opened(path) as file:
        missing = {column.name for column in TABLES[table]}.difference(file.schema_arrow.names)
    if missing:
        raise InvalidInput(
            f"{path} lacks columns that are loaded: {', '.join(sorted(missing))}. Write the corpus anew with "
            "the `bookprint corpus run` of this version."
        )
