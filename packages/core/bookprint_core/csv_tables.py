"""CSV for people: what a spreadsheet would run as a formula is marked as text by an apostrophe.

Titles, labels of pages and names of files are the words of strangers, and tables are opened in spreadsheets.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

_FORMULA = re.compile(r"'*(?:[=@\t\r\n＝＠＋－]|[+-](?!\d+(?:\.\d+)?\Z))")
"""How a cell begins that is marked: as a formula does, as OWASP lists it, or as one that has been marked."""


class Text(Protocol):
    """The file or text that a table is written to."""

    def write(self, text: str, /) -> object: ...


class CsvWriter:
    """Writes the rows of a table to a text; the one writer of CSV that there is."""

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
    """One row with its end."""
    parts = _Parts()
    CsvWriter(parts).row(cells)
    return "".join(parts)


def unmarked(cell: str) -> str:
    """A cell as it was before `CsvWriter` wrote it."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
