"""Finding the files that hold books, and the reader of each."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.core.errors import InvalidInput
from app.core.model import Submission
from app.readers.content import to_content
from app.readers.formats import jsonl
from app.readers.recognition import read_book
from app.readers.record import Record
from app.readers.source import Source

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
    """The books of one file: JSON Lines by its name, any other format by its content."""
    try:
        if path.name.lower().endswith((".jsonl", ".jsonl.gz")):
            yield from jsonl.read(path)
        else:
            yield Record(str(path), path.stat().st_size, _book_or_reason(path))
    except OSError as exc:
        yield Record(str(path), 0, InvalidInput(f"Cannot be read: {exc.strerror or exc}"))


def book_of(path: Path) -> Submission:
    """The one book of a file, called as the file is where it does not say its title.

    Raises InvalidInput where it holds no such book, and OSError.
    """
    extraction = read_book(Source.of_file(path))
    title = extraction.metadata.title or title_of(path.name)
    return Submission(replace(extraction.metadata, title=title), to_content(extraction))


def title_of(name: str) -> str | None:
    """The file's name without folder and suffix, underscores as spaces; None where nothing is left."""
    readable = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return " ".join(Path(readable).stem.replace("_", " ").split()) or None


def _book_or_reason(path: Path) -> Submission | InvalidInput:
    try:
        return book_of(path)
    except InvalidInput as exc:
        return exc


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(parent, name)


def _refuse(error: OSError) -> None:
    # os.walk would pass over a folder that it cannot read, and its books would be missing without a word.
    raise error
