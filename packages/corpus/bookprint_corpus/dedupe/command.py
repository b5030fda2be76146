"""Deduplication of an input: its corpus is computed, books to keep are chosen, and tables are copied.

Kept books that are not rows of Parquet tables are listed. Unreadable books are kept.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bookprint_core.errors import BrokenFile, InvalidInput
from bookprint_corpus import pipeline, storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.dedupe.filtering import COPIED, DUPLICATES, MEMBERS, WORK, copied_table
from bookprint_corpus.dedupe.kept_books import KeptBooks, kept_books, refused_rows, table_of
from bookprint_corpus.dedupe.sections import BookPlaces, Keep, Same
from bookprint_corpus.splits import CorpusInput, is_parquet
from bookprint_readers import parquet
from bookprint_readers.table import find_columns

FOLDER = "dedupe"
KEEP = f"{FOLDER}/keep.txt"
_COPIED = f"{WORK}/copied"

_ROW = r"^(?P<path>.*), row (?P<row>[0-9]{1,18})$"
_TASK = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("name", pa.string()),
        pa.field("left_out", pa.list_(pa.int64())),
        pa.field("is_marked", pa.bool_()),
        pa.field("rows", pa.list_(pa.int64())),
        pa.field("clusters", pa.list_(pa.int64())),
        pa.field("ids", pa.list_(pa.string())),
    ]
)
"""Schema of tasks. `left_out` and `rows` are row numbers, from 1. `clusters` and `ids` belong to `rows`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Options of a deduplication."""

    same: Same
    keep: Keep
    mark: bool  # leave no row out, and list each row's copies


@dataclass(frozen=True, slots=True)
class DedupeResult:
    """Numbers of compared and left-out books, and the problems."""

    books: int  # number of compared books
    left_out: int
    problems: Sequence[str]  # tables that could not be copied, with reasons


@dataclass(frozen=True, slots=True)
class InputTable:
    """A Parquet table of the input."""

    path: str
    name: str  # of the copy, below the folder of copies
    has_ids: bool
    has_duplicates: bool  # whether it contains the column DUPLICATES


def dedupe(corpus: Corpus, source: CorpusInput, choice: Choice, tell: Callable[[str], None]) -> DedupeResult:
    """Run the unfinished stages of the corpus, and write the books to keep. Raises InvalidInput."""
    tables = input_tables(source)
    if choice.mark:
        _require_ids(tables)
    pipeline.run(corpus, source, tell)
    storage.delete(corpus.out, FOLDER)
    books = kept_books(corpus.out, choice.same, choice.keep)
    refused = storage.read(corpus.out, "refused")
    clusters = [table_of(books, choice.keep), refused_rows(refused)]
    storage.write(corpus.out, FOLDER, pa.concat_tables(clusters), "clusters")
    problems = _copy_tables(corpus, tables, books, choice)
    _list_kept(corpus.out, tables, books, refused)
    storage.delete(corpus.out, WORK)
    return DedupeResult(books.kept.size, int((~books.is_kept).sum()), problems)


def input_tables(source: CorpusInput) -> list[InputTable]:
    """Return the readable Parquet tables of the input."""
    schemas: dict[str, list[str]] = {}
    for path in dict.fromkeys(path for split in source.splits for path in split.paths):
        if os.path.isdir(path) or not is_parquet(path):
            continue
        try:
            with parquet.opened(Path(path)) as table:
                schemas[path] = table.names
        except BrokenFile:
            continue  # the table is refused as a whole, with the reason
    common = os.path.commonpath([os.path.dirname(path) for path in schemas]) if schemas else ""
    return [
        InputTable(path, os.path.relpath(path, common), _has_ids(names, source.columns), DUPLICATES in names)
        for path, names in schemas.items()
    ]


def _has_ids(names: Sequence[str], columns: Mapping[str, str]) -> bool:
    try:
        return "external_id" in find_columns(names, columns).metadata
    except InvalidInput:
        return False  # the table lacks a named column, so none of its books can be read


def require_apart(inputs: Sequence[str], out: str) -> None:
    """Raise InvalidInput if the output is within the input, because the next run would read it as input."""
    if "://" in out:
        return
    target = Path(out).resolve()
    for path in map(Path, inputs):
        if path.is_dir() and target.is_relative_to(path.resolve()):
            raise InvalidInput(f"{out} is within {path}. Choose an --out outside of the input.", "out")


def _require_ids(tables: Sequence[InputTable]) -> None:
    if not tables:
        raise InvalidInput("--mark marks rows of Parquet tables, but the input contains none.", "mark")
    for table in tables:
        if not table.has_ids:
            raise InvalidInput(
                f"{table.path} has no column with ids, by which --mark lists duplicates. "
                "Name it with --column id=NAME.",
                "mark",
            )


def _copy_tables(corpus: Corpus, tables: Sequence[InputTable], books: KeptBooks, choice: Choice) -> list[str]:
    """Copy every table. Return the tables that could not be copied, with reasons."""
    if not tables:
        return []
    clustered = books.sizes > 1
    ids = books.rows.column("external_id")
    members = pa.table({"cluster": books.founders, "external_id": ids}).filter(
        pc.and_(pa.array(clustered), pc.is_valid(ids))
    )
    storage.delete(corpus.out, MEMBERS)
    storage.write(corpus.out, MEMBERS, members)
    tasks = []
    for table, (places, rows) in zip(tables, _rows_of(books, tables), strict=True):
        is_marked = table.has_ids and (choice.mark or table.has_duplicates)
        several = clustered[places] & is_marked
        tasks.append(
            {
                "path": table.path,
                "name": table.name,
                "left_out": [] if choice.mark else rows[~books.is_kept[places]],
                "is_marked": is_marked,
                "rows": rows[several],
                "clusters": books.founders[places[several]],
                "ids": ids.take(pa.array(places[several], pa.int64())).to_pylist(),
            }
        )
    frame = corpus.spread("dedupe", pa.Table.from_pylist(tasks, schema=_TASK), copied_table, COPIED)
    corpus.write(_COPIED, frame, COPIED)
    copied = storage.read(corpus.out, _COPIED).to_pylist()
    return [f"{row['path']}: {row['problem']}" for row in copied if row["problem"] is not None]


def _rows_of(books: KeptBooks, tables: Sequence[InputTable]) -> Iterator[tuple[BookPlaces, BookPlaces]]:
    """Yield, for each table, the places of the books in its rows, and the row numbers."""
    table_numbers, row_numbers = _table_rows(books.rows.column("place"), tables)
    order = np.argsort(table_numbers, kind="stable")
    bounds = np.searchsorted(table_numbers[order], np.arange(len(tables) + 1))
    for first, end in pairwise(bounds.tolist()):
        yield order[first:end], row_numbers[order[first:end]]


def _table_rows(
    places: "pa.ChunkedArray[pa.StringScalar]", tables: Sequence[InputTable]
) -> tuple[BookPlaces, BookPlaces]:
    """Return table number and row number of each place. Places in no table have the number `len(tables)`."""
    paths = pa.array([table.path for table in tables], pa.string())
    found: list[tuple[BookPlaces, BookPlaces]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for chunk in places.chunks:
        paths_of, row_texts = pc.extract_regex(chunk, _ROW).flatten()
        tables_of = pc.index_in(paths_of, paths).fill_null(len(tables))
        rows = pc.cast(row_texts, pa.int64()).fill_null(0)
        found.append((tables_of.to_numpy().astype(np.int64), rows.to_numpy()))
    table_numbers, row_numbers = (np.concatenate(each) for each in zip(*found, strict=True))
    return table_numbers, row_numbers


def _list_kept(out: str, tables: Sequence[InputTable], books: KeptBooks, refused: pa.Table) -> None:
    """Write the places of the kept books that are in no copied table."""
    lines: list[str] = []
    for places, keep in (
        (books.rows.column("place"), books.is_kept),
        (refused.column("place"), np.ones(refused.num_rows, dtype=bool)),
    ):
        elsewhere = _table_rows(places, tables)[0] == len(tables)
        lines += (f"{place}\n" for place in places.filter(pa.array(keep & elsewhere)).to_pylist())
    if lines:
        storage.write_text(out, KEEP, "".join(lines))
