"""Parquet: books as rows, with columns that are found or named."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bookprint_core.errors import BrokenFile, InvalidInput, UnusableFile
from bookprint_readers import files, parquet
from bookprint_readers.unread import Unread


def table(path: Path, columns: dict[str, list[Any]], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def rows(path: Path, **named: str) -> list[Unread]:
    return list(files.unread_books(files.find([path]), named))


def test_institutional_books_are_read_with_all_that_is_known_of_them(tmp_path: Path) -> None:
    path = table(
        tmp_path / "books.parquet",
        {
            "barcode_src": ["HVD1", "HVD2"],
            "title_src": ["Emma", None],
            "author_src": ["Austen, Jane", ""],
            "date1_src": ["1816", "18uu"],
            "language_src": ["eng", None],
            "identifiers_src": [{"isbn": ["978-0-14-143958-7"], "lccn": [], "ocolc": ["12", "13"]}, None],
            "text_by_page_src": [["Emma Woodhouse,", None, "handsome, clever"], None],
            "text_by_page_gen": [["other text"], ["the second book", "has two pages"]],
        },
    )
    first, second = (row.read() for row in rows(path))
    assert first.metadata.external_id == "HVD1"
    assert (first.metadata.title, first.metadata.authors) == ("Emma", ("Austen, Jane",))
    assert (first.metadata.year, first.metadata.language) == (1816, "eng")
    assert first.metadata.identifiers == ("isbn:9780141439587", "oclc:12", "oclc:13")
    assert (first.content.text, first.content.page_count) == ("Emma Woodhouse,\f\fhandsome, clever", 3)
    assert (second.content.page_count, second.metadata.year) == (2, None)


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = table(
        tmp_path / "t",
        {"a": ["right"], "text": ["wrong"], "pages": [["wrong"]], "n": [7], "y": [1816.0], "w": [["A", "B"]]},
    )
    [book] = [row.read() for row in rows(path, text="a", id="n", year="y", authors="w")]
    assert (book.content.text, book.metadata.external_id, book.metadata.year) == ("right", "7", 1816)
    assert book.metadata.authors == ("A", "B")
    [missing] = rows(path, text="b")
    with pytest.raises(InvalidInput, match=r"no column 'b'\. There are: a, text"):
        missing.read()


def test_a_table_without_texts_names_its_columns_and_those_looked_for(tmp_path: Path) -> None:
    [whole] = rows(table(tmp_path / "t", {"token": ["the"], "count": [1]}))
    with pytest.raises(InvalidInput, match=r"It has: token, count\. Looked for: text, content"):
        whole.read()


def test_a_damaged_table_says_where(tmp_path: Path) -> None:
    path = table(tmp_path / "t", {"text": [f"book {n} " * 50 for n in range(2_000)]}, row_group_size=100)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    [cut] = rows(path)
    with pytest.raises(BrokenFile, match="its end"):
        cut.read()
    damaged = bytearray(data)
    middle = len(data) // 2
    damaged[middle : middle + 3_000] = b"\xff" * 3_000
    path.write_bytes(damaged)
    found = rows(path)
    with pytest.raises(BrokenFile, match=r"damaged at row \d+"):
        found[-1].read()
    assert 100 < len(found) < 2_000


def test_memory_does_not_grow_with_a_row_group(tmp_path: Path) -> None:
    text = "some words of a long book " * 20_000
    path = table(
        tmp_path / "t", {"text": [f"{n} {text}" for n in range(150)]}, compression="none", write_batch_size=8
    )
    before = pa.total_allocated_bytes()
    most = 0
    with parquet.opened(path) as opened:
        for _ in opened.rows(["text"]):
            most = max(most, pa.total_allocated_bytes() - before)
    assert most < 60 << 20 < path.stat().st_size


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path / "t", {"text": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    [whole] = rows(path)
    with pytest.raises(UnusableFile, match=r"pip install .* '\.\[parquet\]'"):
        whole.read()
