"""Input of readers: bytes with a name, from a file, a member of a package, or a client."""

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from bookprint_core.book_rules import MAX_PAGES
from bookprint_core.errors import FileTooLarge

HEAD_BYTES = 1 << 16
"""Bytes from which a format is recognised."""

MOST_BYTES = 1 << 30
"""Maximum size of the file of one book, in bytes, before and after decompression."""

MOST_TEXT_BYTES = 1 << 26
"""Maximum size of a text with its tags, in bytes, because it is read into memory at once."""


class Allowance:
    """Number of bytes that may still be decompressed from one file and all its members."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = self._left = min(most, MOST_BYTES)

    def spend(self, count: int) -> None:
        """Subtract decompressed bytes. Raises FileTooLarge beyond the allowance."""
        self._left -= count
        if self._left < 0 and self._most == MOST_BYTES:
            raise too_large()
        if self._left < 0:
            raise FileTooLarge(f"The file expands to more than {self._most:,} bytes. Send it uncompressed.")


def too_many_pages(name: str) -> FileTooLarge:
    """Return the error for a file of more than MAX_PAGES pages."""
    return FileTooLarge(f"{name} has more than {MAX_PAGES:,} pages. Split it into its books.")


def too_large() -> FileTooLarge:
    """Return the error for a file of more than MOST_BYTES bytes."""
    return FileTooLarge(f"The file holds more than {MOST_BYTES:,} bytes. Split it into its books.")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Bytes with a name, which can be opened any number of times."""

    name: str  # of the file, or the path within the package; only for messages
    size: int  # bytes
    opened: Callable[[], BinaryIO]

    @classmethod
    def of_file(cls, path: Path, name: str | None = None) -> "Source":
        """Return a file, which messages call `name` if it is given. Raises FileTooLarge."""
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise too_large()
        return cls(name or path.name, size, lambda: path.open("rb"))

    @classmethod
    def of_open_file(cls, file: int | IO[bytes], name: str) -> "Source":
        """Return an open file, which needs no path, by file or descriptor. Raises FileTooLarge."""
        size = os.fstat(file if isinstance(file, int) else file.fileno()).st_size
        if size > MOST_BYTES:
            raise too_large()
        return cls(name, size, lambda: io.BufferedReader(_Reopened(file)))

    @classmethod
    def of_bytes(cls, data: bytes, name: str) -> "Source":
        return cls(name, len(data), lambda: io.BytesIO(data))

    def head(self, count: int = HEAD_BYTES) -> bytes:
        with self.opened() as stream:
            return stream.read(count)

    def read(self) -> bytes:
        with self.opened() as stream:
            return stream.read()

    def read_text(self) -> bytes:
        """Return all bytes of a text file. Raises FileTooLarge above MOST_TEXT_BYTES."""
        if self.size > MOST_TEXT_BYTES:
            raise FileTooLarge(
                f"{self.name} holds more than {MOST_TEXT_BYTES:,} bytes of text. Split it into its books."
            )
        return self.read()


class _Reopened(io.RawIOBase):
    """Stream over an open file with its own position, initially 0. Closing it does not close the file."""

    def __init__(self, file: int | IO[bytes]) -> None:
        self._file = file  # this reference keeps a temporary file from being deleted
        self._descriptor = file if isinstance(file, int) else file.fileno()
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._position
        elif whence == io.SEEK_END:
            offset += os.fstat(self._descriptor).st_size
        self._position = max(offset, 0)
        return self._position

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        data = os.pread(self._descriptor, len(buffer), self._position)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def gunzipped(file: BinaryIO) -> BinaryIO:
    """Return a stream of the file's content, decompressed if it is a gzip file."""
    compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if compressed else file
