"""Finding the files that hold books, and the reader of each."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import InvalidInput
from app.readers.formats import jsonl
from app.readers.formats import text as txt
from app.readers.record import Record

SUFFIXES = (".txt", ".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class BookFiles:
    """The files to read, in order."""

    sizes: dict[Path, int]  # bytes of each file
    passed_over: tuple[Path, ...]  # files in folders that have another suffix

    @property
    def size(self) -> int:
        """Bytes of all the files to read."""
        return sum(self.sizes.values())


def find(paths: Sequence[Path]) -> BookFiles:
    """Files as they are named; from folders, at any depth, those with one of SUFFIXES that are not hidden.

    Raises OSError where a path does not exist or a folder cannot be read.
    """
    sizes: dict[Path, int] = {}
    passed_over: list[Path] = []
    for path in paths:
        if not path.is_dir():
            sizes[path] = path.stat().st_size
            continue
        for file in _files_below(path):
            if file.name.lower().endswith(SUFFIXES):
                sizes[file] = file.stat().st_size
            else:
                passed_over.append(file)
    return BookFiles(sizes, tuple(passed_over))


def read_all(files: BookFiles) -> Iterator[tuple[Record, int]]:
    """Every book of the files, each with the bytes that have been read so far of all of them."""
    before = 0
    for path, size in files.sizes.items():
        for record in read(path):
            yield record, before + record.position
        before += size


def read(path: Path) -> Iterator[Record]:
    """The books of one file, by the reader its name calls for: plain text where the suffix is unknown."""
    reader = jsonl.read if path.name.lower().endswith((".jsonl", ".jsonl.gz")) else txt.read
    try:
        yield from reader(path)
    except OSError as exc:
        yield Record(str(path), 0, InvalidInput(f"Cannot be read: {exc.strerror or exc}"))


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(parent, name)


def _refuse(error: OSError) -> None:
    # os.walk would pass over a folder that it cannot read, and its books would be missing without a word.
    raise error
