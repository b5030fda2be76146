"""CSV and TSV tables as spreadsheets write them. Encoding and separator are detected and reported."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import TextIOWrapper

from chardet.enums import EncodingEra

from bookprint_core.csv_tables import unmarked
from bookprint_core.errors import BrokenFile
from bookprint_core.metadata import TABLE_FIELDS
from bookprint_readers.jsonl import LONGEST_LINE
from bookprint_readers.source import Source
from bookprint_readers.syntax.encoding import MARKS, guessed
from bookprint_readers.table import find_columns, heading

PATH = "path"
"""Name of the column with the path of a book's file."""

HOLDINGS = ("identifier", *(each.name for each in TABLE_FIELDS))
"""Columns of the table of holdings that Bookprint writes."""

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_STATED = re.compile(r"\s*\"?sep=(.)\"?\s*", re.IGNORECASE | re.DOTALL)
_NOT_LATIN = re.compile("[\u0370-\u0eff]+")
_MIXED = re.compile("[A-Za-z][\u0370-\u0eff]|[\u0370-\u0eff][A-Za-z]")
_GUESSED_FROM = 1 << 16  # bytes of non-UTF-8 lines from which their encoding is guessed
_RANKED = 20_000  # characters of the first two rows from which the separator is guessed


@dataclass(frozen=True, slots=True)
class TextTable:
    """A CSV or TSV file."""

    source: Source
    encoding: str
    other_encoding: str | None  # guessed, for the lines that are not UTF-8
    separator: str
    is_stated: bool  # whether a first line `sep=` names the separator
    header: tuple[str, ...]
    longest: int  # maximum characters of a row

    @classmethod
    def of(cls, source: Source, longest: int = LONGEST_LINE) -> "TextTable":
        """Return the table in a file. The chosen separator yields most columns with known names.

        Raises BrokenFile if the first row has more than `longest` characters.
        """
        encoding = _encoding(source.head())
        other = _guess(source) if encoding == "utf-8-sig" else None
        lines = _lines(source, encoding, other)
        first = next(lines, ("", 0))[0]
        stated = _STATED.fullmatch(first)
        if stated:
            first = next(lines, ("", 0))[0]
        second = next(lines, ("", 0))[0]
        try:
            if len(first) > longest:
                raise csv.Error(_too_long(longest))
            rows = first[:_RANKED], second[:_RANKED]
            separator = stated[1] if stated else max(_SEPARATORS, key=lambda each: _rank(*rows, each))
            header = _header(first, separator)
        except csv.Error as exc:
            raise BrokenFile(f"The first row of the table is damaged: {exc}.") from exc
        return cls(source, encoding, other, separator, stated is not None, header, longest)

    @property
    def path_column(self) -> str | None:
        return next((name for name in self.header if heading(name) == PATH), None)

    @property
    def told(self) -> str | None:
        """Note on encoding and separator; None for UTF-8 with commas or tabs."""
        encoding = self.encoding.removesuffix("-sig")
        if self.other_encoding is not None:
            encoding = f"{self.other_encoding}, which was guessed from the lines that are not UTF-8"
        elif encoding == "utf-8" and self.separator in ",\t":
            return None
        name = _SEPARATORS.get(self.separator, repr(self.separator))
        return f"{self.source.name} was read as a table with {name} between cells, in {encoding}."

    def rows(self) -> Iterator[tuple[int, int, Mapping[str, str]]]:
        """Yield the number (from 1), the end (in bytes) and the cells of each row that is not empty.

        Raises BrokenFile at a damaged row.
        """
        position = number = taken = 0

        def lines() -> Iterator[str]:
            nonlocal position, taken
            for line, end in _lines(self.source, self.encoding, self.other_encoding):
                position, taken = end, taken + len(line)
                if taken > self.longest:
                    raise csv.Error(_too_long(self.longest))
                yield line

        try:
            rows = csv.reader(lines(), delimiter=self.separator)
            for number, row in enumerate(rows, start=-1 if self.is_stated else 0):
                taken = 0
                if number > 0 and any(row):
                    row = list(map(unmarked, row)) if self.header == HOLDINGS else row
                    cells: dict[str, str] = {}
                    for name, cell in zip(self.header, row, strict=False):
                        if name:  # cells of columns with the same name are joined
                            cells[name] = f"{cells[name]}; {cell}" if cells.get(name) and cell else cell
                    yield number, position, cells
        except csv.Error as exc:
            raise BrokenFile(f"The table is damaged from row {number + 1} on: {exc}.") from exc


def _too_long(longest: int) -> str:
    return f"a row is longer than {longest:,} characters"


def _encoding(head: bytes) -> str:
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    if head.count(0) * 10 > len(head):  # UTF-16 without a mark: every second byte of ASCII is zero
        return "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
    return "utf-8-sig"


def _guess(source: Source) -> str | None:
    """Guess the encoding of the lines that are not UTF-8. Return None if all lines are UTF-8."""
    window = b""
    with source.opened() as raw:
        for line in raw:
            if not line.isascii():
                try:
                    line.decode()
                except UnicodeDecodeError:
                    window += line
                    if len(window) > _GUESSED_FROM:
                        break
    if not window:
        return None
    # DOS encodings and other scripts fit a short window equally well, but spreadsheets do not write them.
    guess = guessed(window, EncodingEra.MODERN_WEB) or "cp1252"
    text = window.decode(guess, "replace")
    if "\ufffd" in text:
        return guessed(window) or guess
    return "cp1252" if 2 * len(_MIXED.findall(text)) >= len(_NOT_LATIN.findall(text)) > 0 else guess


def _lines(source: Source, encoding: str, other: str | None) -> Iterator[tuple[str, int]]:
    """Yield each line with the number of bytes read so far."""
    errors = "replace" if other is None else "surrogateescape"
    with source.opened() as raw, TextIOWrapper(raw, encoding, errors, newline="") as text:
        for line in text:
            if other is not None:
                try:
                    line.encode()
                except UnicodeEncodeError:
                    line = line.encode("utf-8", "surrogateescape").decode(other, "replace")
            yield line, raw.tell()


def _header(line: str, separator: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in next(csv.reader([line], delimiter=separator), []))


def _rank(line: str, second: str, separator: str) -> tuple[int, bool, int]:
    """Rank a separator by known columns, equal length of both rows, and columns of the first row."""
    header = _header(line, separator)
    known = len(find_columns(header, {}).names) + (PATH in map(heading, header))
    return known, len(header) == len(_header(second, separator)), len(header)
