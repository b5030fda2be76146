"""Packages of files: zip and tar archives, and folders. Archives are not unpacked to disk."""

import bz2
import gzip
import io
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from bookprint_core.errors import BrokenFile, EncryptedFile, FileTooLarge
from bookprint_readers.source import Allowance, Source

MOST_MEMBERS = 100_000
"""Maximum number of files in one package."""

EXPANSION, FREE_EXPANSION = 100, 1 << 26
"""Limit of a decompressed file: EXPANSION times the compressed size, plus FREE_EXPANSION bytes."""

_PART = 1 << 20

_BUFFER = 1 << 13  # bytes read ahead; few, because only the first bytes of many members are read
_ENCRYPTED = 0x1  # flag of a member of a zip (APPNOTE, section 4.4.4)

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")

_OPENERS: dict[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda raw: cast(BinaryIO, gzip.GzipFile(fileobj=raw)),
    b"BZh": lambda raw: cast(BinaryIO, bz2.BZ2File(raw)),
    b"\xfd7zXZ\0": lambda raw: cast(BinaryIO, lzma.LZMAFile(raw)),  # noqa: SIM115
}
_COMPRESSED_SUFFIX = re.compile(r"\.(gz|bz2|xz|tgz)$", re.IGNORECASE)

_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    gzip.BadGzipFile,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,  # a compression method that zipfile does not support
    OSError,
    ValueError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Package:
    """Files by their paths within a package, in natural order: page_2 precedes page_10."""

    name: str
    members: Mapping[str, Source]

    def matching(self, pattern: str) -> list[Source]:
        """Return the members whose whole path matches a regular expression, ignoring case, in order."""
        matches = re.compile(pattern, re.IGNORECASE).fullmatch
        return [source for path, source in self.members.items() if matches(path)]


def expanded(source: Source) -> Source:
    """Return the content of a file compressed with gzip, bzip2 or xz. Any other file is returned unchanged.

    Raises BrokenFile and FileTooLarge.
    """
    head = source.head()
    opener = next((opener for mark, opener in _OPENERS.items() if head.startswith(mark)), None)
    if opener is None:
        return source
    allowance = Allowance(EXPANSION * source.size + FREE_EXPANSION)
    spool = TemporaryFile()  # noqa: SIM115 (the returned source keeps the file open)
    with source.opened() as raw, _damage_named(source.name), opener(raw) as stream:
        while part := stream.read(_PART):
            allowance.spend(len(part))
            spool.write(part)
    spool.flush()
    return Source.of_open_file(spool, _COMPRESSED_SUFFIX.sub("", source.name))


def open_inner(source: Source) -> Package | None:
    """Return the archive in a file of a package, like `open_package`."""
    with source.opened() as stream, _damage_named(source.name):
        # Archives are read at any position, but a member of an archive may not be seekable.
        return open_package(source if stream.seekable() else Source.of_bytes(stream.read(), source.name))


def is_archive(source: Source) -> bool:
    """Return whether the bytes begin like a zip, a tar or a compressed file."""
    head = source.head(512)
    return head.startswith((*_ZIP, *_OPENERS)) or head[257:262] == b"ustar"


def open_package(source: Source) -> Package | None:
    """Return the archive in these bytes, or None if they are not an archive.

    Raises BrokenFile, EncryptedFile and FileTooLarge.
    """
    head = source.head()
    if head.startswith(_ZIP):
        members = _zip_members
    elif head[257:262] == b"ustar":
        members = _tar_members
    else:
        return None
    allowance = Allowance()
    return _package(source.name, members(source, lambda: allowance))


def members_of(source: Source) -> Iterator[Source]:
    """Yield the files of an archive of books in order. Each file may expand to the maximum size of one book.

    Raises BrokenFile and EncryptedFile.
    """
    members = _zip_members if source.head().startswith(_ZIP) else _tar_members
    with _damage_named(source.name):
        for path, member in members(source, Allowance):
            if not _is_hidden(path):
                yield member


def open_folder(folder: Path) -> Package:
    """Return the files of a folder, at any depth, as a package."""

    def members() -> Iterator[tuple[str, Source]]:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = Path(parent, name)
                if path.is_file():
                    inside = path.relative_to(folder).as_posix()
                    yield inside, Source.of_file(path, inside)

    return _package(folder.name, members())


def natural_order(path: str) -> list[tuple[int, str]]:
    """Return a sort key for a path in which numbers are compared by value."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part)
        for part in re.split(r"(\d+)", path.casefold())
        if part
    ]


def _package(name: str, members: Iterator[tuple[str, Source]]) -> Package:
    found: dict[str, Source] = {}
    with _damage_named(name):
        for path, source in members:
            if not _is_hidden(path):
                found[path] = source
            if len(found) > MOST_MEMBERS:
                raise FileTooLarge(f"{name} holds more than {MOST_MEMBERS:,} files. Split it into its books.")
    return Package(name, {path: found[path] for path in sorted(found, key=natural_order)})


def _is_hidden(path: str) -> bool:
    """Return whether a file is hidden or added by a system, such as .DS_Store and __MACOSX."""
    return any(part.startswith((".", "__MACOSX")) for part in path.split("/") if part not in {".", ".."})


def _zip_members(source: Source, allowance: Callable[[], Allowance]) -> Iterator[tuple[str, Source]]:
    archive = zipfile.ZipFile(source.opened())
    for info in archive.infolist():
        if not info.filename or info.is_dir():  # is_dir fails without a name
            continue
        if info.flag_bits & _ENCRYPTED:
            raise EncryptedFile(f"{source.name} is encrypted. Send it without its password.")
        opened = _counted(partial(archive.open, info), info.filename, allowance())
        yield info.filename, Source(info.filename, info.file_size, opened)


def _tar_members(source: Source, allowance: Callable[[], Allowance]) -> Iterator[tuple[str, Source]]:
    archive = tarfile.open(fileobj=source.opened(), mode="r:")  # noqa: SIM115
    for info in archive:
        if info.isreg():
            opened = _counted(partial(archive.extractfile, info), info.name, allowance())
            yield info.name.removeprefix("./"), Source(info.name, info.size, opened)


def _counted(opened: Callable[[], object], name: str, allowance: Allowance) -> Callable[[], BinaryIO]:
    def open_member() -> BinaryIO:
        with _damage_named(name):
            return io.BufferedReader(_Counted(cast(BinaryIO, opened()), name, allowance), _BUFFER)

    return open_member


class _Counted(io.RawIOBase):
    """Stream of an archive's member that subtracts decompressed bytes from an allowance."""

    def __init__(self, stream: BinaryIO, name: str, allowance: Allowance) -> None:
        self._stream = stream
        self._name = name
        self._allowance = allowance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        with _damage_named(self._name):
            data = self._stream.read(len(buffer))
        self._allowance.spend(len(data))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _damage_named(name: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as exc:
        if isinstance(exc, FileTooLarge | EncryptedFile | BrokenFile):
            raise
        raise BrokenFile(f"{name} is a damaged archive: {str(exc) or type(exc).__name__}.") from exc
