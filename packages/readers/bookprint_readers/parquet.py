"""Parquet: one book per row, read a few rows at a time (pyarrow, the extra `parquet`).

A row group is decompressed page by page, and memory never contains all of it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookprint_core.errors import BrokenFile, InvalidInput, NoText, UnusableFile
from bookprint_core.model import Submission
from bookprint_core.signatures.identifier import decode, known_by
from bookprint_readers.extraction import Extraction, to_content
from bookprint_readers.table import COLUMNS, Columns, find_columns, listed, metadata_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq

NAME = "parquet"
MAGIC = b"PAR1"

_ROWS_AT_ONCE = 16
_BUFFER = 1 << 20  # bytes read from a file at once


def require_pyarrow() -> Any:
    """Return the module `pyarrow.parquet`. If it is missing, raises UnusableFile, which names the extra."""
    try:
        import pyarrow.parquet
    except ImportError as exc:
        raise UnusableFile(
            "Parquet needs pyarrow, which is not installed. "
            "Install it in the folder of Bookprint's sources with: pip install ./packages/* '.[parquet]'"
        ) from exc
    return pyarrow.parquet


@contextmanager
def damage_named(where: str) -> Iterator[None]:
    """Convert pyarrow's errors for damaged files into BrokenFile."""
    try:
        yield
    except UnusableFile:
        raise
    except (OSError, ValueError, TypeError, KeyError, NotImplementedError, MemoryError) as exc:
        # pyarrow's own errors are subclasses of these.
        reason = " ".join(str(exc).split())[:300].rstrip(".")
        raise BrokenFile(f"The Parquet file is damaged at {where}: {reason}.") from exc


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table and its position."""

    number: int  # from 1
    share: float  # share of the file's rows up to this row, 0 to 1
    cells: Mapping[str, object]


class Table:
    """A Parquet file that is open for reading."""

    def __init__(self, file: "pq.ParquetFile") -> None:
        self._file = file
        self.names: list[str] = list(file.schema_arrow.names)
        """Names of the columns."""
        self.properties: Mapping[bytes, bytes] = file.schema_arrow.metadata or {}
        """Metadata from the writer of the file."""

    @property
    def group_sizes(self) -> list[tuple[int, int]]:
        """Rows and uncompressed bytes of each row group."""
        groups = map(self._file.metadata.row_group, range(self._file.num_row_groups))
        return [(group.num_rows, group.total_byte_size) for group in groups]

    def rows(self, columns: list[str], groups: range | None = None) -> Iterator[TableRow]:
        """Yield the rows in order, with only these columns. Raises BrokenFile, which names the row.

        `groups` selects row groups; None selects all.
        """
        total = max(self._file.metadata.num_rows, 1)
        wanted = range(self._file.num_row_groups) if groups is None else groups
        number = sum(rows for rows, _ in self.group_sizes[: wanted.start])
        for group in wanted:
            with damage_named(f"row {number + 1}"):
                for batch in self._file.iter_batches(
                    _ROWS_AT_ONCE, row_groups=[group], columns=columns, use_threads=False
                ):
                    for cells in batch.to_pylist():
                        number += 1
                        yield TableRow(number, number / total, cells)


@contextmanager
def opened(path: Path) -> Iterator[Table]:
    """Yield the table in a file. Raises BrokenFile, or UnusableFile if pyarrow is missing."""
    pq = require_pyarrow()
    with damage_named("its end"):
        file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    with file:
        yield Table(file)


def book_columns(table: Table, named: Mapping[str, str]) -> Columns:
    """Return the columns of a table that books are read from.

    Raises InvalidInput, with the expected names, if the table has no column of texts, pages or identifiers.
    """
    columns = find_columns(table.names, named)
    if columns.text is None and columns.pages is None and columns.identifier is None:
        wanted = ", ".join((*COLUMNS["text"], *COLUMNS["pages"]))
        raise InvalidInput(
            f"The table has no column with the text. It has: {listed(table.names)}. Looked for: {wanted}. "
            "Name the column with --column text=NAME, or --column pages=NAME where it holds lists of pages.",
            "text",
        )
    return columns


def submission(row: Mapping[str, object], columns: Columns) -> Submission:
    """Return the book in a row. An identifier is used only if there is no text. Raises InvalidInput."""
    metadata = metadata_of(row, columns)
    texts = (columns.pages, columns.second_pages, columns.text)
    identifier = None if columns.identifier is None else row.get(columns.identifier)
    if (
        isinstance(identifier, str)
        and identifier
        and not any(row.get(column) for column in texts if column is not None)
    ):
        return known_by(decode(identifier.strip()), metadata)
    return Submission(metadata, to_content(_extraction(row, columns)))


def _extraction(row: Mapping[str, object], columns: Columns) -> Extraction:
    for column in (columns.pages, columns.second_pages):
        value = None if column is None else row.get(column)
        if isinstance(value, list) and value:
            # A null in the list is a blank page.
            pages = ["" if page is None else _text(page, f"a page in {column}") for page in value]
            return Extraction(NAME, pages, paginated=True, printed_lines=True)
        if isinstance(value, str) and value:
            return Extraction(NAME, value.split("\f"), paginated="\f" in value)
    value = None if columns.text is None else row.get(columns.text)
    if value is None:
        empty = [column for column in (columns.pages, columns.text, columns.identifier) if column is not None]
        raise NoText(f"The row contains nothing in {' and '.join(empty)}.")
    if isinstance(value, list):
        return Extraction(
            NAME, ["\n".join(_text(part, str(columns.text)) for part in value)], paginated=False
        )
    text = _text(value, str(columns.text))
    return Extraction(NAME, text.split("\f"), paginated="\f" in text)


def _text(value: object, where: str) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as exc:
            raise InvalidInput(f"The text in {where} is not UTF-8 at byte {exc.start}.") from exc
    if not isinstance(value, str):
        raise InvalidInput(f"A text was expected in {where}, not {type(value).__name__}.")
    return value
