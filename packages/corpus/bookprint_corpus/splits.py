"""The input in splits. Each split is read by one task, and is small so that many tasks share the work."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from bookprint_core.errors import BrokenFile, InvalidInput
from bookprint_readers import parquet
from bookprint_readers.files import BookFiles, find, unread_books, unread_rows
from bookprint_readers.table import named_columns
from bookprint_readers.unread import Unread

_MOST_BYTES = 64 << 20
_MOST_FILES = 64
"""Maximum bytes and files of a split. A single file or row group may be larger."""


@dataclass(frozen=True, slots=True)
class Split:
    """Some files and folders of books, or some row groups of one Parquet table."""

    number: int  # from 0, in the order of the input
    paths: Sequence[str]
    folders: Sequence[str]  # folders among the paths, each one book
    first_group: int | None = None
    end_group: int | None = None  # the group after the last
    columns: Sequence[str] = ()  # columns of tables by field, such as "text=ocr"

    def books(self) -> Iterator[Unread]:
        named = named_columns(self.columns)
        if self.first_group is not None and self.end_group is not None:
            return unread_rows(self.paths[0], range(self.first_group, self.end_group), named)
        files = BookFiles({path: Path(path).stat().st_size for path in self.paths}, frozenset(self.folders))
        return unread_books(files, named)


@dataclass(frozen=True, slots=True)
class CorpusInput:
    """All input of a corpus."""

    splits: Sequence[Split]
    key: str  # changes with names, sizes or times of the files, and with the columns
    columns: Mapping[str, str] = field(default_factory=dict)  # columns of tables by field

    def tasks(self) -> pa.Table:
        """Return a row for each split."""
        return pa.Table.from_pylist([asdict(split) for split in self.splits], schema=_TASK)


_TASK = pa.schema(
    [
        ("number", pa.int64()),
        ("paths", pa.list_(pa.string())),
        ("folders", pa.list_(pa.string())),
        ("first_group", pa.int64()),
        ("end_group", pa.int64()),
        ("columns", pa.list_(pa.string())),
    ]
)


def corpus_input(paths: Sequence[str], columns: Mapping[str, str]) -> CorpusInput:
    """Return the input at these paths. Raises InvalidInput if there is none, or if a path cannot be read."""
    try:
        files = find([Path(path).absolute() for path in paths])
        if not files.sizes:
            raise InvalidInput("There is nothing to read.", "input")
        splits = [replace(split, number=number) for number, split in enumerate(_splits(files, columns))]
        known = [f"{path}\0{size}\0{Path(path).stat().st_mtime_ns}" for path, size in files.sizes.items()]
    except OSError as exc:
        raise InvalidInput(f"{exc.filename} cannot be read: {exc.strerror}.", "input") from exc
    named = sorted(f"{what}={name}" for what, name in columns.items())
    return CorpusInput(splits, sha256("\n".join([*known, *named]).encode()).hexdigest(), columns)


def _splits(files: BookFiles, columns: Mapping[str, str]) -> Iterator[Split]:
    named = [f"{what}={name}" for what, name in columns.items()]
    together: list[str] = []
    size = 0
    for path, file_size in files.sizes.items():
        groups = None if path in files.folders else _row_groups(path)
        if together and (groups or size + file_size > _MOST_BYTES or len(together) == _MOST_FILES):
            yield _of_files(together, files, named)
            together, size = [], 0
        if groups:
            for part in groups:
                yield Split(0, [path], [], part.start, part.stop, named)
        else:
            together.append(path)
            size += file_size
    if together:
        yield _of_files(together, files, named)


def _of_files(paths: list[str], files: BookFiles, named: Sequence[str]) -> Split:
    return Split(0, paths, [path for path in paths if path in files.folders], columns=named)


def is_parquet(path: str) -> bool:
    """Return whether a file begins like a Parquet table."""
    with open(path, "rb") as stream:
        return stream.read(len(parquet.MAGIC)) == parquet.MAGIC


def _row_groups(path: str) -> list[range] | None:
    """Return the row groups of a Parquet table, grouped into splits; None for other files.

    The result for a damaged table is None, too. Its task reports the damage.
    """
    if not is_parquet(path):
        return None
    try:
        with parquet.opened(Path(path)) as table:
            sizes = [size for _, size in table.group_sizes]
    except BrokenFile:
        return None
    parts, first, together = [], 0, 0
    for group, size in enumerate(sizes):
        if group > first and together + size > _MOST_BYTES:
            parts.append(range(first, group))
            first, together = group, 0
        together += size
    return [*parts, range(first, len(sizes))] if sizes else []
