"""Books that are not read yet: their places, small enough to be sent to a reading process."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bookprint_core.errors import InvalidInput
from bookprint_core.model import CatalogRecord, Metadata, Submission
from bookprint_core.signatures import table_codec
from bookprint_readers import jsonl, parquet
from bookprint_readers.extraction import Extraction, clean, submission_of, without_page_furniture
from bookprint_readers.package import open_folder
from bookprint_readers.recognition import read_book, read_package
from bookprint_readers.source import Source
from bookprint_readers.table import Columns


@dataclass(frozen=True, slots=True)
class Unread:
    """A book that has not been read yet."""

    path: str  # of the file or folder
    part: str  # "line 3", "row 4", or a path within an archive; empty if the file is one book
    position: int  # bytes of all files up to the end of this book

    @property
    def place(self) -> str:
        """Place of the book, for messages."""
        return f"{self.path}, {self.part}" if self.part else self.path

    def read(self) -> Submission:
        """Return the book. Raises InvalidInput or OSError."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class UnreadFile(Unread):
    """A file that holds one book, or a folder whose files are its pages."""

    known: Metadata = field(default_factory=Metadata)
    """Metadata from a manifest or a record; it overrides the file's metadata."""

    record: CatalogRecord | None = None

    @property
    def is_folder(self) -> bool:
        return Path(self.path).is_dir()

    def read(self) -> Submission:
        path = Path(self.path)
        name = f"{path.resolve().name}/" if self.is_folder else path.name
        return _submission(_extraction(path), name, self.known, self.record)


@dataclass(frozen=True, slots=True)
class UnreadMember(Unread):
    """A file of an archive of books."""

    data: bytes

    def read(self) -> Submission:
        return _submission(read_book(Source.of_bytes(self.data, self.part)), self.part, Metadata())


@dataclass(frozen=True, slots=True)
class UnreadLine(Unread):
    """A line of JSON Lines."""

    data: bytes

    def read(self) -> Submission:
        return jsonl.submission(self.data)


@dataclass(frozen=True, slots=True)
class UnreadSpan(Unread):
    """A long line of uncompressed JSON Lines, which the reading process reads from the file itself."""

    start: int
    length: int  # bytes

    def read(self) -> Submission:
        with open(self.path, "rb") as stream:
            stream.seek(self.start)
            return jsonl.submission(stream.read(self.length))


@dataclass(frozen=True, slots=True)
class UnreadRow(Unread):
    """A row of a Parquet table."""

    cells: Mapping[str, object]
    columns: Columns

    def read(self) -> Submission:
        return parquet.submission(self.cells, self.columns)


@dataclass(frozen=True, slots=True)
class UnreadSignatures(Unread):
    """A row of a table of signatures."""

    cells: Mapping[str, object]

    def read(self) -> Submission:
        return table_codec.submission(self.cells)


@dataclass(frozen=True, slots=True)
class Unreadable(Unread):
    """A book that cannot be read; `read` raises the reason."""

    reason: InvalidInput

    def read(self) -> Submission:
        raise self.reason


def title_of(name: str) -> str | None:
    """Return a file's name without folder and suffix, with spaces for underscores, or None if it is empty.

    The name of a folder ends in a slash and has no suffix.
    """
    readable = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    last = Path(readable).name if readable.endswith("/") else Path(readable).stem
    return clean(last.replace("_", " "))


def _submission(
    extraction: Extraction, name: str, known: Metadata, record: CatalogRecord | None = None
) -> Submission:
    merged = known.completed_by(extraction.metadata)
    if not merged.title:
        merged = replace(merged, title=title_of(name))
    return submission_of(without_page_furniture(extraction), merged, record)


def read(path: str | Path) -> Submission:
    """Read the book in a file or a folder, with the metadata in it. Raises InvalidInput or OSError."""
    extraction = _extraction(Path(path))
    return submission_of(without_page_furniture(extraction), extraction.metadata)


def _extraction(path: Path) -> Extraction:
    return read_package(open_folder(path)) if path.is_dir() else read_book(Source.of_file(path))
