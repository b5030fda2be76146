"""Lists of books to be checked: tables, MARC records, JSON lines, and files and folders of books.

A row, a record or a JSON line describes a book, with or without its text. A pasted line names one book. The
answers form a table.
"""

import codecs
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of as metadata_of_record
from app.catalog.marc.record import InvalidRecord
from bookprint_core.errors import BrokenFile, InvalidInput, NoText
from bookprint_core.json_limits import exceeds_json_limits
from bookprint_core.model import CatalogRecord, Metadata, Submission
from bookprint_core.signatures.identifier import decode, is_identifier, known_by
from bookprint_core.text.catalogue_values import is_bare, isbn, isbns_alone, issn
from bookprint_core.text.content import content_from_text
from bookprint_readers import jsonl, parquet
from bookprint_readers.files import TABLE_NAME, find, head_in, head_of, is_json_lines, unread_books
from bookprint_readers.source import Source, gunzipped
from bookprint_readers.syntax.encoding import decoded
from bookprint_readers.syntax.xml import root_name
from bookprint_readers.table import Columns, find_columns, heading, listed, metadata_of
from bookprint_readers.text_table import PATH, TextTable
from bookprint_readers.unread import Unread, Unreadable, UnreadFile, UnreadRow

_LINES_OF_NUMBERS = 100
"""Number of lines that decide whether a text is a list of identifiers."""

LONGEST_ROW = 1 << 20
"""Maximum bytes of a row, a record or a line of a list that was sent."""

_MOST_CONTAINERS = 10_000
"""Maximum number of lists, objects and names of fields in a line of JSON."""

_MOST_COLUMNS = 1_000
"""Maximum number of columns of a table."""

_GZIP = b"\x1f\x8b"
_BINARY_MARC = re.compile(rb"\d{5}[acdnp]")
_OWN_ID = "external_id"

_SCHEMES = re.compile(r"(isbn|issn|oclc|lccn|htid|doi)\s*[:\s]\s*(\S*[0-9].*)", re.IGNORECASE)
_MNEMONIC_MARC = re.compile(rb"\s*=(LDR|000|001)  ")

COLUMNS = ("place", "verdict", "by", "book_id", "title", "because", "link", "others", "problem")
"""The columns of a table of answers."""


@dataclass(frozen=True, slots=True)
class ListedRow(UnreadRow):
    """A row of a list that is a table."""

    def read(self) -> Submission:
        return _submission(self.cells, self.columns)


@dataclass(frozen=True, slots=True)
class ListedObject(Unread):
    """A line of JSON Lines, parsed only when it is read, because it may then need 40 times its bytes."""

    data: bytes
    named: Mapping[str, str]

    def read(self) -> Submission:
        if exceeds_json_limits(self.data, _MOST_CONTAINERS):
            raise InvalidInput(f"The line has over {_MOST_CONTAINERS:,} lists, objects or names.")
        try:
            fields = orjson.loads(self.data)
        except orjson.JSONDecodeError as exc:
            raise InvalidInput(f"Not JSON: {exc}") from exc
        if not isinstance(fields, dict):
            raise InvalidInput("Not a JSON object: a line describes one book, as {…}.")
        return _submission(fields, _columns(list(fields), self.named))


@dataclass(frozen=True, slots=True)
class ListedRecord(Unread):
    """A MARC record that describes a book."""

    number: int  # in its file, from 1
    record: CatalogRecord

    def read(self) -> Submission:
        try:
            return Submission(metadata_of_record(forms.read(self.record)))
        except InvalidRecord as exc:
            raise forms.numbered(self.number, exc) from exc


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
        is_damaged = " " not in self.text and sum(map(str.isdecimal, self.text)) > 8
        if is_damaged or is_bare(self.text) or isbn(self.text) or issn(self.text):
            return Submission(Metadata(identifiers=(f"isbn:{self.text}",)))
        return Submission(Metadata(title=self.text))


def listed_books(path: Path, named: Mapping[str, str]) -> Iterator[Unread]:
    """Yield the books of a list; `named` maps fields to the columns of a table.

    Raises OSError, and InvalidInput for a table without a known column.
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
    source: Source, named: Mapping[str, str], folder: Path | None = None, longest: int = jsonl.LONGEST_LINE
) -> Iterator[Unread] | None:
    """Return the rows of a text table, MARC records or JSON lines, of at most `longest` bytes.

    Returns None for another kind of file.

    A column `path` names files in the `folder`; without a folder it is ignored. The rows raise InvalidInput
    as `listed_books` does.
    """
    with source.opened() as stream:
        head = head_in(stream)
    if _is_marc(head):
        return _records(source, head, min(longest, forms.LONGEST_RECORD))
    if is_json_lines(source.name, head):
        return _lines(source, named, longest)
    if TABLE_NAME.fullmatch(source.name):
        return _rows(source, named, folder, longest)
    return _numbers(source, head)


def told_of(path: Path) -> str | None:
    """Return a note on how a list was read, if its sender may not expect that; else None."""
    if path.is_dir() or head_of(str(path)).startswith(parquet.MAGIC):
        return None
    source = Source.of_file(path)
    if TABLE_NAME.fullmatch(path.name):
        return TextTable.of(source).told
    if listed_rows(source, {}) is None:
        return f"{path.name} is not a list; it was read as books, and each is looked up by its text."
    return None


def sent_rows(data: bytes, name: str) -> Iterator[Unread] | None:
    """Return the rows of a list that was sent, as `listed_rows` does; None for a compressed file."""
    if data.startswith(_GZIP):
        return None
    return listed_rows(Source.of_bytes(data, name), {}, longest=LONGEST_ROW)


def pasted_text(text: str) -> Iterator[Unread]:
    """Yield a text as the only book of a list."""
    yield ListedBook("", "text", len(text), Submission(content=content_from_text(text)))


def pasted_lines(text: str) -> Iterator[ListedLine]:
    """Yield the lines of a text, except blank lines, as rows of a list."""
    position = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        position += len(line)
        if line.strip():
            yield ListedLine("", f"line {number}", position, line.strip())


def cells(answer: Mapping[str, Any]) -> list[str]:
    """Return an answer in the form of POST /v1/checks, with its `place`, as cells of a table."""
    items = answer.get("items") or [{}]
    first = items[0]
    because = first.get("evidence", {}).get("because") or answer.get("because") or ""
    return [
        *(answer["place"], answer.get("verdict", ""), answer.get("by", "")),
        *(str(first.get("book_id", "")), first.get("title") or "", because, first.get("link", "")),
        *(" ".join(str(item["book_id"]) for item in items[1:]), answer.get("problem", {}).get("detail", "")),
    ]


def _submission(cells: Mapping[str, object], columns: Columns) -> Submission:
    try:
        return parquet.submission(cells, columns)
    except NoText:
        return Submission(metadata_of(cells, columns))


def _columns(present: list[str], named: Mapping[str, str]) -> Columns:
    """Return the columns of a list. A column called id may number the rows; only external_id counts."""
    columns = find_columns(present, named)
    if "id" not in named and heading(columns.metadata.get(_OWN_ID, "")) != _OWN_ID:
        known = {name: column for name, column in columns.metadata.items() if name != _OWN_ID}
        columns = replace(columns, metadata=known)
    if not columns.names and PATH not in map(heading, present):
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


def _records(source: Source, head: bytes, longest: int) -> Iterator[Unread]:
    form, number = forms.format_of(head), 0
    with source.opened() as raw:
        try:
            for number, data in enumerate(forms.pieces(gunzipped(raw), form, longest), start=1):
                where = (source.name, f"record {number}", raw.tell())
                yield ListedRecord(*where, number, CatalogRecord(form, data))
        except InvalidRecord as exc:
            number += 1
            yield Unreadable(source.name, f"record {number}", raw.tell(), forms.numbered(number, exc))


def _numbers(source: Source, head: bytes) -> Iterator[Unread] | None:
    """Return the lines of a text if at least half of its first lines contain only ISBNs; else None."""
    if _MNEMONIC_MARC.match(head.removeprefix(codecs.BOM_UTF8)):
        raise InvalidInput("This form of MARC (.mrk) is not read. Save it as .mrc or MARCXML.")
    start = decoded(head)
    lines = start.text.splitlines()[:_LINES_OF_NUMBERS] if start else []
    known = [bool(isbns_alone(line) or isbn(line)) for line in lines if line.strip()]
    if not any(known) or sum(known) * 2 < len(known):
        return None
    whole = decoded(source.read()) or start
    return (replace(line, path=source.name) for line in pasted_lines(whole.text if whole else ""))


def _lines(source: Source, named: Mapping[str, str], longest: int) -> Iterator[Unread]:
    with source.opened() as raw:
        for line in jsonl.lines_in(raw, longest):
            where = (source.name, f"line {line.number}", line.position)
            if isinstance(line.data, bytes):
                yield ListedObject(*where, line.data, named)
            else:
                yield Unreadable(*where, line.data)


def _rows(source: Source, named: Mapping[str, str], folder: Path | None, longest: int) -> Iterator[Unread]:
    table = TextTable.of(source, longest)
    if len(table.header) > _MOST_COLUMNS:
        raise InvalidInput(f"The table has over {_MOST_COLUMNS:,} columns.", "file")
    try:
        columns = _columns([name for name in table.header if name], named)
    except InvalidInput:
        if (lines := _numbers(source, source.head())) is None:
            raise
        yield from lines
        return
    known, number = {*columns.names, table.path_column}, 0
    try:
        for number, position, cells in table.rows():
            where = (source.name, f"row {number}", position)
            row = {name: cell or None for name, cell in cells.items() if name in known}
            target = row.get(table.path_column or "")
            if target is None or folder is None:
                yield ListedRow(*where, row, columns)
            elif (file := folder / target).exists():
                yield UnreadFile(os.fspath(file), *where[1:], metadata_of(row, columns))
            else:
                yield Unreadable(*where, InvalidInput(f"There is no file {file}."))
    except BrokenFile as exc:
        yield Unreadable(source.name, f"row {number + 1}", source.size, exc)
