"""Reader of the folder that `bookprint corpus run` writes: its completeness, and the rows of its tables.

Tables may be larger than memory. Only columns of numbers are read as a whole; rows are read in batches.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bookprint_core.errors import InvalidInput
from bookprint_corpus.tables import PROGRESS, TABLES, VERSION
from bookprint_readers.parquet import damage_named, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_TABLES = ("books", "sketches", "relations", "page_maps", "clusters")


class CorpusFolder:
    """Tables of a finished corpus."""

    def __init__(self, folder: Path) -> None:
        """Check the folder. Raises InvalidInput unless it is a finished corpus of this version."""
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
        """Return the files of a table, sorted by path."""
        found = (self._folder / table).rglob("*.parquet")
        return sorted(path for path in found if path.is_file() and not path.name.startswith((".", "_")))

    def numbers(self, table: str, column: str) -> NDArray[np.int64]:
        """Return a column of whole numbers, in the order of files and rows."""
        parts = []
        for path in self.files(table):
            with _opened(path) as file:
                parts.append(_numbers(file.read([column])))
        return _joined(parts)


class NumberedRows:
    """Rows of a table, found by a column of numbers, in any file and row group.

    An engine may write rows to any file. An index of 12 bytes per row maps each number to its row group.
    """

    def __init__(self, folder: CorpusFolder, table: str, column: str) -> None:
        self._column = column
        self._groups: list[tuple[Path, int]] = []
        parts = []
        for path in folder.files(table):
            with _opened(path) as file:
                for group in range(file.num_row_groups):
                    self._groups.append((path, group))
                    parts.append(_numbers(file.read_row_group(group, [column])))
        numbers = _joined(parts)
        groups = np.repeat(np.arange(len(parts), dtype=np.int32), [part.size for part in parts])
        order = np.argsort(numbers, kind="stable")
        self.numbers: NDArray[np.int64] = numbers[order]
        """Numbers of all rows, ascending."""
        self._group_of = groups[order]

    def between(
        self, first: int, last: int, columns: Sequence[str], at_once: int
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the rows with the numbers `first` to `last`, in any order, in batches of at most `at_once`.

        `columns` must contain the column with the numbers.
        """
        import pyarrow as pa

        start, end = self.numbers.searchsorted(first), self.numbers.searchsorted(last, side="right")
        for path, group in (self._groups[place] for place in np.unique(self._group_of[start:end])):
            with _opened(path) as file:
                for batch in file.iter_batches(
                    at_once, row_groups=[group], columns=list(columns), use_threads=False
                ):
                    numbers = batch.column(self._column).to_numpy()
                    yield batch.filter(pa.array((numbers >= first) & (numbers <= last)))


@contextmanager
def _opened(path: Path) -> "Iterator[pq.ParquetFile]":
    """Yield a Parquet file. Raises BrokenFile if it is damaged."""
    with damage_named(str(path)), require_pyarrow().ParquetFile(path, pre_buffer=False) as file:
        yield file


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _numbers(table: "pa.Table") -> NDArray[np.int64]:
    values: NDArray[np.int64] = table.column(0).to_numpy()
    return values.astype(np.int64)


def _check_progress(folder: Path) -> None:
    try:
        progress = json.loads((folder / PROGRESS).read_bytes())
        version, complete = progress["version"], progress["complete"]
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise InvalidInput(
            f"{folder} is not a corpus. Name the folder that `bookprint corpus run` has written."
        ) from exc
    if version != VERSION:
        raise InvalidInput(
            f"{folder} was written by another version of Bookprint. Load it with that version, or write it "
            "again with `bookprint corpus run`."
        )
    if not complete:
        raise _unfinished(folder)


def _unfinished(folder: Path) -> InvalidInput:
    return InvalidInput(
        f"{folder} is not finished. Run the `bookprint corpus run` that writes it again: finished stages "
        "are skipped."
    )


def _check_columns(table: str, path: Path) -> None:
    with _opened(path) as file:
        missing = {column.name for column in TABLES[table]}.difference(file.schema_arrow.names)
    if missing:
        raise InvalidInput(
            f"{path} lacks columns that are loaded: {', '.join(sorted(missing))}. Write the corpus again "
            "with the `bookprint corpus run` of this version."
        )
