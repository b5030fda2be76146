"""Lists of books to be checked: tables, MARC records, JSON lines, and files and folders of books.

A row of a table, a record or a line says what it knows of a book, and need not have a text.
"""

import csv
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of as metadata_of_record
from app.catalog.marc.record import InvalidRecord
from app.core.errors import InvalidInput, NoText
from app.core.model import Metadata, Submission
from app.readers import jsonl, parquet
from app.readers.files import TABLE_NAME, find, head_of, is_json_lines, unread_books
from app.readers.source import gunzipped
from app.readers.syntax.xml import root_name
from app.readers.table import Columns, find_columns, listed, metadata_of
from app.readers.unread import Unread, Unreadable, UnreadFile, UnreadRow

_DELIMITERS = ",;\t"
_BINARY_MARC = re.compile(rb"\d{5}[acdnp]")
_OWN_ID = "external_id"
_PATH = "path"


@dataclass(frozen=True, slots=True)
class ListedRow(UnreadRow):
    """A row of a list."""

    def read(self) -> Submission:
        try:
            return parquet.submission(self.cells, self.columns)
        except NoText:
            return Submission(metadata_of(self.cells, self.columns))


@dataclass(frozen=True, slots=True)
class ListedRecord(Unread):
    """What a MARC record says of a book."""

    metadata: Metadata

    def read(self) -> Submission:
        return Submission(self.metadata)


def listed_books(path: Path, named: Mapping[str, str]) -> Iterator[Unread]:
    """The books of a list; `named` are columns of a table by what they hold.

    Raises OSError, and InvalidInput for a table of which no column is known.
    """
    if path.is_dir():
        yield from unread_books(find([path]), {})
        return
    head, size = head_of(str(path)), path.stat().st_size
    if head.startswith(parquet.MAGIC):
        with parquet.opened(path) as table:
            columns = _columns(table.names, named)
            for row in table.rows(columns.names):
                where = (str(path), f"row {row.number}", round(size * row.share))
                yield ListedRow(*where, row.cells, columns)
    elif _is_marc(head):
        yield from _records(path, head)
    elif is_json_lines(str(path), head):
        yield from _lines(path, named)
    elif TABLE_NAME.fullmatch(str(path)):
        yield from _rows(path, head, named)
    else:
        yield UnreadFile(str(path), "", size)


def _columns(present: list[str], named: Mapping[str, str]) -> Columns:
    """The columns of a list. A number of rows may be called id, so only one called external_id is ours."""
    columns = find_columns(present, named)
    if "id" not in named and (columns.id or "").casefold() != _OWN_ID:
        columns = replace(columns, id=None)
    if not columns.names and _PATH not in map(str.casefold, present):
        raise InvalidInput(
            f"No column of the list is known. It has: {listed(present)}. Name one, as --column title=NAME.",
            "column",
        )
    return columns


def _is_marc(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return root_name(head) in ("collection", "record")
    return bool(_BINARY_MARC.match(start)) or (start[:1] in (b"{", b"[") and b'"leader"' in head)


def _records(path: Path, head: bytes) -> Iterator[Unread]:
    with path.open("rb") as raw:
        for numbered in forms.records(gunzipped(raw), forms.format_of(head)):
            where = (str(path), f"record {numbered.number}", raw.tell())
            if isinstance(numbered.record, InvalidRecord):
                yield Unreadable(*where, numbered.record)
            else:
                yield ListedRecord(*where, metadata_of_record(numbered.record))


def _lines(path: Path, named: Mapping[str, str]) -> Iterator[Unread]:
    for line in jsonl.lines(path):
        where = (str(path), f"line {line.number}", line.position)
        try:
            if not isinstance(line.data, bytes):
                raise line.data
            fields = orjson.loads(line.data)
            if not isinstance(fields, dict):
                raise InvalidInput("Not a JSON object: a line says of one book what is known, as {…}.")
            yield ListedRow(*where, fields, _columns(list(fields), named))
        except orjson.JSONDecodeError as exc:
            yield Unreadable(*where, InvalidInput(f"Not JSON: {exc}"))
        except InvalidInput as exc:
            yield Unreadable(*where, exc)


def _rows(path: Path, head: bytes, named: Mapping[str, str]) -> Iterator[Unread]:
    first = head.decode("utf-8-sig", "replace").partition("\n")[0]
    size = path.stat().st_size
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
        rows = list(csv.reader(text, delimiter=max(_DELIMITERS, key=first.count)))
    header = [name.strip() for name in rows[0]] if rows else []
    columns = _columns(header, named)
    path_column = next((name for name in header if name.casefold() == _PATH), None)
    for number, cells in enumerate(rows[1:], start=1):
        if not any(cells):
            continue
        row = {name: cell or None for name, cell in zip(header, cells, strict=False)}
        where = (f"row {number}", round(size * number / len(rows)))
        target = None if path_column is None else row.get(path_column)
        if target is None:
            yield ListedRow(str(path), *where, row, columns)
        elif (file := path.parent / target).exists():
            yield UnreadFile(os.fspath(file), *where, metadata_of(row, columns))
        else:
            yield Unreadable(str(path), *where, InvalidInput(f"There is no file {file}."))
