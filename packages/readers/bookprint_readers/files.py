"""Search for the books in files, folders, archives, JSON Lines, Parquet tables and manifests.

Files are recognised by their content. A folder is one book if a METS file in it names its pages, or if all
its files are named by page numbers. Otherwise each of its files is a book.
"""

import glob
import gzip
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from bookprint_core.errors import BrokenFile, FileTooLarge, InvalidInput
from bookprint_core.signatures import table_codec
from bookprint_readers import jsonl, parquet
from bookprint_readers.formats.pages import BESIDE
from bookprint_readers.package import expanded, is_archive, members_of, open_folder
from bookprint_readers.source import Source, gunzipped
from bookprint_readers.syntax.xml import root_name
from bookprint_readers.table import Columns, find_columns, listed, metadata_of
from bookprint_readers.text_table import PATH, TextTable
from bookprint_readers.unread import (
    Unread,
    Unreadable,
    UnreadFile,
    UnreadLine,
    UnreadMember,
    UnreadRow,
    UnreadSignatures,
    UnreadSpan,
)

_HEAD_BYTES = 1 << 14

_LONG_LINE = 1 << 15  # bytes; the reading process reads a longer line from the file itself

LARGEST_MEMBER = 1 << 28
"""Maximum size of a file within an archive of books, in bytes."""

_PAGE_NAME = re.compile(r"(?:p|pg|page|seq|leaf|img|image|scan|folio)?[-_. ]?0*(\d{1,8})", re.IGNORECASE)
_FIRST_PAGES = 20
"""Largest first number in a folder of pages. At least every second number must be present."""

TABLE_NAME = re.compile(r".*\.[ct]sv", re.IGNORECASE)
"""Pattern for the names of CSV and TSV files."""


@dataclass(frozen=True, slots=True)
class BookFiles:
    """The files and folders to read, in order."""

    sizes: Mapping[str, int]  # bytes of each file, or of all files of a folder that is one book
    folders: frozenset[str]  # folders that are one book
    notes: Sequence[str] = ()  # encodings and separators of unusual manifests

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        return sum(self.sizes.values())


@dataclass(slots=True)
class _Finding:
    sizes: dict[str, int] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)  # real paths that a manifest names
    notes: list[str] = field(default_factory=list)

    def add_folder(self, top: str) -> None:
        """Add the files of a folder, at any depth, except hidden ones."""
        for parent, inner, names in os.walk(top, onerror=_refuse):
            visible = sorted(name for name in names if not name.startswith("."))
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            if is_one_book(parent, visible):
                self.sizes[parent], self.folders = _size_below(parent), self.folders | {parent}
                inner.clear()
                continue
            for name in visible:
                self.add_file(os.path.join(parent, name))

    def add_file(self, path: str) -> None:
        """Add one file; if it is a manifest, note the files that it names."""
        self.sizes[path] = os.stat(path).st_size
        try:
            if TABLE_NAME.fullmatch(path) and (manifest := _Manifest.of(path)):
                self.notes += filter(None, [manifest.table.told])
                self.named.update(os.path.realpath(target) for target in manifest.targets())
        except InvalidInput:
            pass  # the error is reported when the books are read


def find(paths: Sequence[Path]) -> BookFiles:
    """Find the named files, and all files in named folders, at any depth, except hidden ones.

    A path with `*`, `?` or `[` that does not exist is a pattern. Files that a manifest names are read only
    through the manifest. Raises OSError if a path cannot be read.
    """
    finding = _Finding()
    for path in paths:
        for match in _matches(path):
            if os.path.isdir(match):
                finding.add_folder(match)
            else:
                finding.add_file(match)
    if finding.named:
        for path_found in list(finding.sizes):
            if os.path.realpath(path_found) in finding.named:
                del finding.sizes[path_found]
    return BookFiles(finding.sizes, frozenset(finding.folders), finding.notes)


def texts_in(folder: Path) -> list[Path]:
    """Return the visible files of a folder. Each file is a book, even if its name is a page number."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def is_one_book(folder: str, names: Sequence[str]) -> bool:
    """Return whether the files of these names in a folder are one book.

    A METS file among them makes them one book. Otherwise, all files except pictures and metadata must have
    one suffix, and nearly successive page numbers as names: `0001.txt` or `page_12.xml`.
    """
    if any(name.lower().endswith(".xml") and "mets" in name.lower() for name in names) and any(
        root_name(head_of(os.path.join(folder, name))) == "mets" for name in names if "mets" in name.lower()
    ):
        return True
    pages = [os.path.splitext(name) for name in names if not BESIDE.fullmatch(name)]
    matches = [_PAGE_NAME.fullmatch(stem) for stem, _ in pages]
    numbers = sorted(int(match[1]) for match in matches if match)
    return (
        len(numbers) == len(pages) >= 2
        and len({suffix.lower() for _, suffix in pages}) == 1
        and numbers[0] <= _FIRST_PAGES
        and numbers[-1] - numbers[0] < 2 * len(numbers)
        and len(set(numbers)) == len(numbers)
    )


def unread_books(files: BookFiles, columns: Mapping[str, str]) -> Iterator[Unread]:
    """Yield every book of the files, in order. `columns` maps fields to columns of Parquet tables.

    If several manifests name a file, the first manifest is used.
    """
    before = 0
    named: set[str] = set()
    for path, size in files.sizes.items():
        end = before + size
        if path in files.folders:
            yield UnreadFile(path, "", end)
        else:
            yield from _or_reason(_books_in(path, before, size, columns, named), path, end)
        before = end


def unread_rows(path: str, groups: range, columns: Mapping[str, str]) -> Iterator[Unread]:
    """Yield the books in some row groups of a Parquet table. For `columns` see `unread_books`."""
    yield from _or_reason(_rows(path, 0, columns, groups), path, 0)


def _or_reason(books: Iterator[Unread], path: str, end: int) -> Iterator[Unread]:
    """Yield the books of a file. If reading fails, the last item contains the reason."""
    try:
        yield from books
    except InvalidInput as exc:
        yield Unreadable(path, "", end, exc)
    except OSError as exc:
        yield Unreadable(path, "", end, InvalidInput(f"Cannot be read: {exc.strerror or exc}."))


def has_several_books(unread: Unread) -> bool:
    """Return whether a book is an archive or a folder whose files may each be a book."""
    # A record describes one book.
    if not isinstance(unread, UnreadFile) or unread.record is not None:
        return False
    return unread.is_folder or is_archive(Source.of_file(Path(unread.path)))


def books_within(unread: Unread) -> Iterator[Unread]:
    """Yield the files of an archive or of a folder, each as a book."""
    if isinstance(unread, UnreadFile) and unread.is_folder:
        for source in open_folder(Path(unread.path)).members.values():
            yield UnreadFile(os.path.join(unread.path, source.name), "", unread.position)
    else:
        yield from _members(unread)


def _members(unread: Unread) -> Iterator[Unread]:
    try:
        for member in members_of(expanded(Source.of_file(Path(unread.path)))):
            try:
                if member.size > LARGEST_MEMBER:
                    raise FileTooLarge(
                        f"It is larger than {LARGEST_MEMBER:,} bytes. Unpack the archive first."
                    )
                with member.opened() as stream:
                    data = stream.read(LARGEST_MEMBER + 1)
                yield UnreadMember(unread.path, member.name, unread.position, data)
            except InvalidInput as exc:
                yield Unreadable(unread.path, member.name, unread.position, exc)
    except InvalidInput as exc:
        yield Unreadable(unread.path, "", unread.position, exc)


def _books_in(
    path: str, before: int, size: int, columns: Mapping[str, str], named: set[str]
) -> Iterator[Unread]:
    """Yield the books in a file. If it is a manifest, add the paths that it names to `named`."""
    head = head_of(path)
    if head.startswith(parquet.MAGIC):
        yield from _rows(path, before, columns)
    elif is_json_lines(path, head):
        for line in jsonl.lines(Path(path)):
            where = (path, f"line {line.number}", before + line.position)
            if not isinstance(line.data, bytes):
                yield Unreadable(*where, line.data)
            elif line.start is not None and len(line.data) > _LONG_LINE:
                yield UnreadSpan(*where, line.start, len(line.data))
            else:
                yield UnreadLine(*where, line.data)
    elif TABLE_NAME.fullmatch(path) and (manifest := _Manifest.of(path)):
        yield from manifest.books(before, frozenset(named))
        named.update(map(os.path.realpath, manifest.targets()))
    else:
        yield UnreadFile(path, "", before + size)


def _rows(path: str, before: int, named: Mapping[str, str], groups: range | None = None) -> Iterator[Unread]:
    number, size = 0, os.stat(path).st_size
    try:
        with parquet.opened(Path(path)) as table:
            signed = table_codec.recognises(table.properties)
            found = Columns() if signed else parquet.book_columns(table, named)
            names = [name for name in table.names if name in table_codec.COLUMNS] if signed else found.names
            for row in table.rows(names, groups):
                number = row.number
                where = (path, f"row {number}", before + round(size * row.share))
                yield UnreadSignatures(*where, row.cells) if signed else UnreadRow(*where, row.cells, found)
    except BrokenFile as exc:
        yield Unreadable(path, f"row {number + 1}" if number else "", before + size, exc)


def is_json_lines(path: str, head: bytes) -> bool:
    """Return whether a file with these first bytes is JSON Lines, with one book per line."""
    if jsonl.BEGINNING.match(head.lstrip(b"\xef\xbb\xbf")):
        return True
    # If the first line is damaged, the file's name decides.
    return b"\0" not in head and path.lower().endswith((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"))


def head_of(path: str) -> bytes:
    """Return the first bytes of a file, decompressed if it is a gzip file."""
    with open(path, "rb") as stream:
        return head_in(stream)


def head_in(stream: BinaryIO) -> bytes:
    """Return the first bytes of an open file, decompressed if it is a gzip file."""
    try:
        return gunzipped(stream).read(_HEAD_BYTES)
    except (gzip.BadGzipFile, zlib.error, EOFError):
        stream.seek(0)
        return stream.read(_HEAD_BYTES)


@dataclass(frozen=True, slots=True)
class _Manifest:
    """CSV or TSV file with one book per row and a column `path` or `identifier`.

    A path is relative to the manifest's folder. An identifier describes a book whose text is elsewhere.
    """

    path: str
    table: TextTable

    @classmethod
    def of(cls, path: str) -> "_Manifest | None":
        """Return the manifest in a file, or None if the file is not a manifest.

        Raises InvalidInput if a table describes books but names neither files nor identifiers.
        """
        table = TextTable.of(Source.of_file(Path(path)))
        columns = find_columns(table.header, {})
        if table.path_column is not None or columns.identifier is not None:
            return cls(path, table)
        if columns.schemes or ("title" in columns.metadata and len(table.header) > 1):
            raise InvalidInput(
                f"The table lists books but names none of their files. It has: {listed(table.header)}. Add a "
                f"column {PATH}, or look up the books with `bookprint check`."
            )
        return None

    def targets(self) -> Iterator[str]:
        for _, _, cells in self.table.rows():
            if target := self._target(cells):
                yield target

    def books(self, before: int, named: Collection[str]) -> Iterator[Unread]:
        """Yield the books of the manifest with their metadata, except files in `named`."""
        columns = find_columns((name for name in self.table.header if name != self.table.path_column), {})
        for number, position, cells in self.table.rows():
            target, where = self._target(cells), f"row {number}"
            if target is None and columns.identifier is not None and cells.get(columns.identifier):
                yield UnreadRow(self.path, where, before + position, cells, columns)
                continue
            if target is None:
                empty = InvalidInput("The row names no path and no identifier.")
                yield Unreadable(self.path, where, before + position, empty)
                continue
            if os.path.realpath(target) in named:
                continue
            known = metadata_of({name: value or None for name, value in cells.items()}, columns)
            if os.path.exists(target):
                yield UnreadFile(target, "", before + position, known)
            else:
                missing = InvalidInput(f"There is no file {target}.")
                yield Unreadable(self.path, where, before + position, missing)

    def _target(self, cells: Mapping[str, str]) -> str | None:
        named = cells.get(self.table.path_column or "", "").strip()
        return os.path.join(os.path.dirname(self.path), named) if named else None


def _matches(path: Path) -> list[str]:
    text = str(path)
    if os.path.lexists(text) or not glob.has_magic(text):
        return [text]
    found = sorted(
        match for match in glob.glob(text, recursive=True) if not os.path.isdir(match) or "**" not in text
    )
    return found or [text]


def _size_below(folder: str) -> int:
    return sum(
        os.stat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names
    )


def _refuse(error: OSError) -> None:
    # By default os.walk ignores a folder that it cannot read, and its books would be missing silently.
    raise error
