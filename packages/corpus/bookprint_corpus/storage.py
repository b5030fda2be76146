"""The folder of a corpus, on disk or in an object store. The driver and every task read and write it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

_ROWS_AT_ONCE = 256
"""Rows read at once. A row of `sketches` is about 42 KB."""


def absolute(out: str) -> str:
    """Return a URL unchanged, and a folder as an absolute path, which all processes can find."""
    return out if "://" in out else str(Path(out).absolute())


def url(out: str, name: str = "") -> str:
    """Return the URL of the corpus, or of a part of it, for the engine."""
    root = out if "://" in out else Path(out).as_uri()
    return f"{root.rstrip('/')}/{name}" if name else root


def read(out: str, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return all rows of a table, in the order of file names. Raises FileNotFoundError."""
    parts = []
    for file in files(out, name):
        with _opened(out, file) as table:
            parts.append(table.read(_listed(columns), use_threads=False))
    if not parts:
        raise FileNotFoundError(f"There is no table {name} in {out}.")
    return pa.concat_tables(parts)


def batches(out: str, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in batches, or nothing if the table does not exist."""
    for file in files(out, name):
        yield from file_batches(out, file, columns)


def file_batches(out: str, file: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file of a table in batches."""
    with _opened(out, file) as table:
        yield from table.iter_batches(_ROWS_AT_ONCE, columns=_listed(columns), use_threads=False)


def row_count(out: str, name: str) -> int:
    """Return the number of rows in a table."""
    return sum(_opened(out, file).metadata.num_rows for file in files(out, name))


def files(out: str, name: str) -> list[str]:
    """Return the sorted paths of a table's Parquet files, relative to the corpus."""
    system, root = _located(out)
    found = system.get_file_info(fs.FileSelector(f"{root}/{name}", allow_not_found=True, recursive=True))
    paths = (info.path for info in found if info.type == fs.FileType.File and info.size)
    inner = (path[len(root) + 1 :] for path in paths if path.endswith(".parquet"))
    return sorted(path for path in inner if not path.rpartition("/")[2].startswith((".", "_")))


def write(out: str, name: str, table: pa.Table, part: str = "part-0") -> None:
    """Write a small table, or a part of one, as one file."""
    system, root = _located(out)
    system.create_dir(f"{root}/{name}")
    pq.write_table(table, f"{root}/{name}/{part}.parquet", filesystem=system, compression="zstd")


@contextmanager
def parquet_writer(
    out: str, file: str, schema: pa.Schema, compression: Mapping[str, Any]
) -> Iterator[pq.ParquetWriter]:
    """Yield a writer whose file appears when it is complete. `compression` maps columns to codecs."""
    system, root = _located(out)
    path = f"{root}/{file}"
    system.create_dir(path.rpartition("/")[0])
    partial = f"{path}.partial"
    try:
        with pq.ParquetWriter(partial, schema, filesystem=system, compression=dict(compression)) as writer:
            yield writer
        system.move(partial, path)
    except BaseException:
        system.delete_file(partial)
        raise


def delete(out: str, name: str) -> None:
    """Remove a table if it exists."""
    system, root = _located(out)
    if system.get_file_info(f"{root}/{name}").type == fs.FileType.Directory:
        system.delete_dir(f"{root}/{name}")


def read_text(out: str, name: str) -> str | None:
    """Return the content of a text file, or None if it does not exist."""
    system, root = _located(out)
    if system.get_file_info(f"{root}/{name}").type == fs.FileType.NotFound:
        return None
    with system.open_input_file(f"{root}/{name}") as stream:
        content: bytes = stream.read()
    return content.decode()


def write_text(out: str, name: str, text: str) -> None:
    """Write a text file, either completely or not at all."""
    system, root = _located(out)
    system.create_dir(root)
    with system.open_output_stream(f"{root}/{name}.partial") as stream:
        stream.write(text.encode())
    system.move(f"{root}/{name}.partial", f"{root}/{name}")


def _listed(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)


def _opened(out: str, file: str) -> pq.ParquetFile:
    system, root = _located(out)
    # Memory-mapped pages would count as memory of every task that reads them.
    return pq.ParquetFile(f"{root}/{file}", filesystem=system, memory_map=False, pre_buffer=False)


def _located(out: str) -> tuple[fs.FileSystem, str]:
    """Return the file system and the path in it. Spark's s3a is called s3 in pyarrow."""
    if "://" not in out:
        return fs.LocalFileSystem(), out
    system, path = fs.FileSystem.from_uri(out.replace("s3a://", "s3://", 1))
    return system, path.rstrip("/")
