"""CSV for spreadsheets: an apostrophe marks cells as text that would otherwise run as formulas.

Titles, page labels and file names come from unknown people.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

_FORMULA = re.compile(r"'*(?:[=@\t\r\n＝＠＋－]|[+-](?!\d+(?:\.\d+)?\Z))")
"""Beginning of a cell that needs a mark: of a formula, as OWASP lists them, or of a marked formula."""


class Text(Protocol):
    """A file or text to which a table is written."""

    def write(self, text: str, /) -> object: ...


class CsvWriter:
    """The only writer of CSV: writes the rows of a table to a text."""

    def __init__(self, file: Text) -> None:
        self._writer = csv.writer(file)

    def row(self, cells: Iterable[object]) -> None:
        self._writer.writerow(
            [f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in cells]
        )

    def rows(self, rows: Iterable[Iterable[object]]) -> None:
        for row in rows:
            self.row(row)


class _Parts(list[str]):
    write = list.append


def csv_line(cells: Sequence[object]) -> str:
    """Return a row with its line end."""
    parts = _Parts()
    CsvWriter(parts).row(cells)
    return "".join(parts)


def unmarked(cell: str) -> str:
    """Return the cell as it was before `CsvWriter` marked it."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
