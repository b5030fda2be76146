"""Parquet tables again, without some rows or with what these are copies of."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bookprint_corpus import storage
from bookprint_corpus.dedupe import filtering
from bookprint_corpus.dedupe.filtering import DUPLICATES, FOLDER, MEMBERS, copied_table

COLUMNS: dict[str, pa.DataType] = {
    "barcode_src": pa.string(),
    DUPLICATES: pa.list_(pa.string()),
    "text_by_page_src": pa.list_(pa.large_string()),
}
SCHEMA = pa.schema(COLUMNS, metadata={b"huggingface": b"{}", b"made by": b"hand"})


def task(path: Path, **cells: Any) -> dict[str, Any]:
    defaults = {"left_out": [], "is_marked": False, "rows": [], "clusters": [], "ids": []}
    return {"path": str(path), "name": path.name} | defaults | cells


def copied(out: Path, *of: Any, **cells: Any) -> dict[str, Any]:
    [batch] = copied_table(str(out), task(*of, **cells))
    [row] = batch.to_pylist()
    return dict(row)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Ten rows in groups of four."""
    path = tmp_path / "books.parquet"
    columns = [
        [f"B{row}" for row in range(1, 11)],
        [["stale"]] * 10,
        [[f"page {page} of {row}" for page in range(3)] for row in range(1, 11)],
    ]
    table = pa.table([pa.array(cells, SCHEMA.types[at]) for at, cells in enumerate(columns)], schema=SCHEMA)
    pq.write_table(table, path, row_group_size=4, compression="zstd")
    return path


def test_rows_that_are_left_out_are_gone_and_all_else_stays(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    row = copied(out, source, left_out=[1, 6, 10])
    assert (row["rows"], row["kept"], row["problem"]) == (10, 7, None)
    before, after = pq.ParquetFile(source), pq.ParquetFile(out / FOLDER / "books.parquet")
    expected = before.read().take([1, 2, 3, 4, 6, 7, 8])
    assert after.read().equals(expected)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert [after.metadata.row_group(group).num_rows for group in range(3)] == [3, 3, 1]
    assert after.metadata.row_group(0).column(2).compression == "ZSTD"
    assert not list((out / FOLDER).glob("*.partial"))


def test_marked_rows_list_the_other_books_of_their_cluster(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    members = {"cluster": [7, 7, 9, 9, 7], "external_id": ["B1", "B3", "B5", "elsewhere", "B9"]}
    storage.write(str(out), MEMBERS, pa.table(members))
    cells = {"rows": [1, 3, 5, 9], "clusters": [7, 7, 9, 7], "ids": ["B1", "B3", "B5", "B9"]}
    copied(out, source, is_marked=True, **cells)
    after = pq.read_table(out / FOLDER / "books.parquet")
    assert after.schema.equals(pq.read_table(source).schema, check_metadata=True)
    lists = after.column(DUPLICATES).to_pylist()
    assert lists == [
        *(["B3", "B9"], None, ["B1", "B9"], None, ["elsewhere"]),
        *(None, None, None, ["B1", "B3"], None),
    ]


def test_a_table_without_the_column_gets_it_behind_all_others(source: Path, tmp_path: Path) -> None:
    out, plain = tmp_path / "out", tmp_path / "plain.parquet"
    pq.write_table(pq.read_table(source).drop_columns([DUPLICATES]), plain)
    storage.write(str(out), MEMBERS, pa.table({"cluster": [1, 1], "external_id": ["B1", "B2"]}))
    copied(out, plain, is_marked=True, rows=[2], clusters=[1], ids=["B2"])
    after = pq.read_table(out / FOLDER / "plain.parquet")
    assert after.schema.names == ["barcode_src", "text_by_page_src", DUPLICATES]
    assert after.column(DUPLICATES).to_pylist()[:2] == [None, ["B1"]]
    assert after.schema.metadata == {b"made by": b"hand"}


def test_row_groups_are_cut_where_they_would_fill_memory(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filtering, "_BYTES_AT_ONCE", 1)
    monkeypatch.setattr(filtering, "_GROUP_BYTES", 1)
    copied(tmp_path / "out", source)
    after = pq.ParquetFile(tmp_path / "out" / FOLDER / "books.parquet")
    assert after.num_row_groups == 10
    assert after.read().equals(pq.read_table(source))


def test_a_table_that_breaks_off_leaves_no_half_copy(source: Path, tmp_path: Path) -> None:
    column = pq.ParquetFile(source).metadata.row_group(2).column(2)
    content = bytearray(source.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    source.write_bytes(content)
    row = copied(tmp_path / "out", source, left_out=[1])
    assert row["problem"]
    assert row["kept"] == row["rows"] == 10
    assert list((tmp_path / "out" / FOLDER).iterdir()) == []
