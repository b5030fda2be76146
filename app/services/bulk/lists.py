"""Lists of books to be checked: tables, MARC records, JSON lines, and files and folders of books.

A row of a table, a record or a line says what it knows of a book, and need not have a text. Pasted lines
name a book each. The answers make a table again.
"""

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import orjson

from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of as metadata_of_record
from app.catalog.marc.record import InvalidRecord
from app.core.errors import BrokenFile, InvalidInput, NoText
from app.core.model import Metadata, Submission
from app.core.signatures.identifier import decode, is_identifier, known_by
from app.core.text.content import content_from_text
from app.readers import jsonl, parquet
from app.readers.files import TABLE_NAME, find, head_in, head_of, is_json_lines, unread_books
from app.readers.source import Source, gunzipped
from app.readers.syntax.xml import root_name
from app.readers.table import Columns, find_columns, listed, metadata_of
from app.readers.unread import Unread, Unreadable, UnreadFile, UnreadRow

_DELIMITERS = ",;\t"
_GZIP = b"\x1f\x8b"
_BINARY_MARC = re.compile(rb"\d{5}[acdnp]")
_OWN_ID = "external_id"
_PATH = "path"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")

_ISBN = re.compile(r"[0-9]{9}[0-9Xx]|[0-9]{13}")
_SCHEMES = re.compile(r"(isbn|issn|oclc|lccn|htid|doi)\s*:\s*(\S.*)", re.IGNORECASE)

COLUMNS = ("place", "verdict", "by", "book_id", "title", "because", "link", "others", "problem")
"""The columns of a table of answers."""


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


@dataclass(frozen=True, slots=True)
class ListedBook(Unread):
    """A book that has been read already."""

    book: Submission

    def read(self) -> Submission:
        return self.book


@dataclass(frozen=True, slots=True)
class ListedLine(Unread):
    """A line that names a book: by its identifier, a number of a catalogue, or its title."""

    text: str

    def read(self) -> Submission:
        if is_identifier(self.text.partition(".")[0]):
            return known_by(decode(self.text), Metadata())
        if (scheme := _SCHEMES.fullmatch(self.text)) is not None:
            return Submission(Metadata(identifiers=(f"{scheme[1].lower()}:{scheme[2]}",)))
        if _ISBN.fullmatch(self.text.replace("-", "").replace(" ", "")):
            return Submission(Metadata(identifiers=(f"isbn:{self.text}",)))
        return Submission(Metadata(title=self.text))


def listed_books(path: Path, named: Mapping[str, str]) -> Iterator[Unread]:
    """The books of a list; `named` are columns of a table by what they hold.

    Raises OSError, and InvalidInput for a table of which no column is known.
    """
    if path.is_dir():
        yield from unread_books(find([path]), {})
        return
    size = path.stat().st_size
    if head_of(str(path)).startswith(parquet.MAGIC):
        with parquet.opened(path) as table:
            columns = _columns(table.names, named)
            for row in table.rows(columns.names):
                where = (str(path), f"row {row.number}", round(size * row.share))
                yield ListedRow(*where, row.cells, columns)
        return
    rows = listed_rows(Source(str(path), size, lambda: path.open("rb")), named, path.parent)
    yield from [UnreadFile(str(path), "", size)] if rows is None else rows


def listed_rows(
    source: Source, named: Mapping[str, str], folder: Path | None = None
) -> Iterator[Unread] | None:
    """The rows of a table as text, MARC records or JSON lines; None: the file is none of them.

    A column `path` of a table names files in the `folder`; without one it means nothing. The rows raise
    InvalidInput as `listed_books` does.
    """
    with source.opened() as stream:
        head = head_in(stream)
    if _is_marc(head):
        return _records(source, head)
    if is_json_lines(source.name, head):
        return _lines(source, named)
    return _rows(source, head, named, folder) if TABLE_NAME.fullmatch(source.name) else None


def sent_rows(data: bytes, name: str) -> Iterator[Unread] | None:
    """The rows of a list that was sent, as `listed_rows` has them; one that is compressed is none."""
    return None if data.startswith(_GZIP) else listed_rows(Source.of_bytes(data, name), {})


def pasted_text(text: str) -> Iterator[Unread]:
    """A text as the one book of a list."""
    yield ListedBook("", "text", len(text), Submission(content=content_from_text(text)))


def pasted_lines(text: str) -> Iterator[ListedLine]:
    """The lines of a text as rows of a list, but for blank ones."""
    position = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        position += len(line)
        if line.strip():
            yield ListedLine("", f"line {number}", position, line.strip())


def cells(answer: Mapping[str, Any]) -> list[str]:
    """The row of a table that the answer to a row makes, in the form of POST /v1/checks with its `place`."""
    items = answer.get("items") or [{}]
    first = items[0]
    because = first.get("evidence", {}).get("because") or answer.get("because") or ""
    return [
        *(answer["place"], answer.get("verdict", ""), answer.get("by", "")),
        *(str(first.get("book_id", "")), first.get("title") or "", because, first.get("link", "")),
        *(" ".join(str(item["book_id"]) for item in items[1:]), answer.get("problem", {}).get("detail", "")),
    ]


def table_line(row: Sequence[str]) -> str:
    """A row as a line of CSV; what a spreadsheet would take for a formula is marked as text."""
    text = StringIO()
    csv.writer(text).writerow([f"'{cell}" if cell.startswith(_FORMULAS) else cell for cell in row])
    return text.getvalue()


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


def _records(source: Source, head: bytes) -> Iterator[Unread]:
    with source.opened() as raw:
        for numbered in forms.records(gunzipped(raw), forms.format_of(head)):
            where = (source.name, f"record {numbered.number}", raw.tell())
            if isinstance(numbered.record, InvalidRecord):
                yield Unreadable(*where, numbered.record)
            else:
                yield ListedRecord(*where, metadata_of_record(numbered.record))


def _lines(source: Source, named: Mapping[str, str]) -> Iterator[Unread]:
    with source.opened() as raw:
        for line in jsonl.lines_in(raw):
            where = (source.name, f"line {line.number}", line.position)
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


def _rows(source: Source, head: bytes, named: Mapping[str, str], folder: Path | None) -> Iterator[Unread]:
    first = head.decode("utf-8-sig", "replace").partition("\n")[0]
    with source.opened() as raw, TextIOWrapper(raw, "utf-8-sig", "replace", newline="") as text:
        rows = csv.reader(text, delimiter=max(_DELIMITERS, key=first.count))
        header = [name.strip() for name in next(rows, [])]
        columns = _columns(header, named)
        path_column = next((name for name in header if folder and name.casefold() == _PATH), None)
        for number, found in _numbered(rows):
            where = (source.name, f"row {number}", raw.tell())
            if isinstance(found, InvalidInput):
                yield Unreadable(*where, found)
                continue
            row = {name: cell or None for name, cell in zip(header, found, strict=False)}
            target = None if path_column is None else row.get(path_column)
            if target is None or folder is None:
                yield ListedRow(*where, row, columns)
            elif (file := folder / target).exists():
                yield UnreadFile(os.fspath(file), *where[1:], metadata_of(row, columns))
            else:
                yield Unreadable(*where, InvalidInput(f"There is no file {file}."))


def _numbered(rows: Iterator[list[str]]) -> Iterator[tuple[int, list[str] | InvalidInput]]:
    """The rows that are not empty by their numbers, from 1, and at the end why no more can be read."""
    number = 0
    try:
        for number, row in enumerate(rows, start=1):
            if any(row):
                yield number, row
    except csv.Error as exc:
        yield number + 1, BrokenFile(f"The table is damaged from here on: {exc}.")
