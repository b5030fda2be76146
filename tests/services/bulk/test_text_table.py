"""Tables as spreadsheets write them: encodings, separators and headings."""

import os
from pathlib import Path

import pytest

from app.services.bulk import lists
from bookprint_core.errors import InvalidInput
from bookprint_core.metadata import TABLE_FIELDS, Metadata
from bookprint_readers import files
from bookprint_readers.source import Source
from bookprint_readers.table import find_columns, metadata_of
from bookprint_readers.text_table import TextTable

HEADER = "Title;ISBN-13;Publication Year"
ROW = "Die Mühle am Fluß;ISBN 978–0–14–143960–0;1813"


@pytest.mark.parametrize(
    ("separator", "encoding", "before"),
    [
        (";", "utf-8", ""),
        ("\t", "utf-16", ""),
        ("\t", "utf-16-le", ""),
        (";", "cp1252", ""),
        ("|", "utf-8-sig", ""),
        ("#", "utf-8-sig", "sep=#\r\n"),
    ],
)
def test_a_list_is_read_as_spreadsheets_write_it(
    tmp_path: Path, separator: str, encoding: str, before: str
) -> None:
    path = tmp_path / "list.csv"
    text = f"{before}{HEADER}\r\n{ROW}\r\n".replace(";", separator)
    path.write_bytes(text.encode(encoding))
    [book] = lists.listed_books(path, {})
    metadata = book.read().metadata
    assert (book.part, metadata.title, metadata.year) == ("row 1", "Die Mühle am Fluß", 1813)
    assert metadata.identifiers == ("isbn:9780141439600",)
    assert (lists.told_of(path) is None) == (encoding == "utf-8" and separator in ",\t")


def test_lines_in_two_encodings_are_each_read(tmp_path: Path) -> None:
    rows = [b"path,title", "a.txt,Mühle".encode(), "b.txt,Jörg Müller".encode("cp1252")]
    source = Source.of_bytes(b"\n".join(rows), "list.csv")
    table = TextTable.of(source)
    assert [cells["title"] for _, _, cells in table.rows()] == ["Mühle", "Jörg Müller"]
    assert "cp1252, which was guessed" in (table.told or "")


@pytest.mark.parametrize(
    "text", ["path;title\nthe.txt;Fluß", "Path\tTitle (main)\t\nthe.txt\tFluß\t", "path,title\nthe.txt,Fluß"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_a_manifest_is_never_a_book(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "the.txt").write_text("The text of the book.")
    (tmp_path / "list.csv").write_bytes(text.encode(encoding))
    books = list(files.unread_books(files.find([tmp_path]), {}))
    assert [os.path.basename(book.path) for book in books] == ["the.txt"]


@pytest.mark.parametrize(
    "text", ["title;isbn\nEmma;9780141439600\n", "file,title\na.txt,Emma\n", "ISBN\n9780141439600\n"]
)
def test_a_table_of_books_without_files_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    [book] = files.unread_books(files.find([tmp_path]), {})
    with pytest.raises(InvalidInput, match="names none of their files"):
        book.read()


@pytest.mark.parametrize("name", ["wanted.txt", "wanted.csv"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_with_isbns_are_a_list(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_text("9780141439600\n0140017895\n97801414396OO\n", encoding)
    assert [book.read().metadata.identifiers for book in lists.listed_books(path, {})] == [
        ("isbn:9780141439600",),
        ("isbn:0140017895",),
        ("isbn:97801414396OO",),
    ]


def test_the_separator_is_that_of_the_second_row_where_columns_do_not_tell() -> None:
    table = TextTable.of(Source.of_bytes(b"title, main;isbn;author, first\nEmma;1;Austen\n", "list.csv"))
    assert table.separator == ";"


@pytest.mark.parametrize(
    "text", ["0378-5955", "97801414396OO", "9.78014E+12", "Emma 9780141439600", "1914-1918"]
)
def test_a_pasted_line_names_a_number_or_a_title(text: str) -> None:
    [line] = lists.pasted_lines(text)
    metadata = line.read().metadata
    assert (metadata.title, metadata.identifiers) == (
        (text, ()) if text == "1914-1918" else (None, (f"isbn:{text}",))
    )


def test_every_field_of_the_metadata_is_read_from_each_of_its_columns() -> None:
    made = {str: "de", int: 1815, tuple: ("oclc:1", "oclc:2")}
    values = {each.name: made[each.kind] for each in TABLE_FIELDS}
    for place in range(max(len(each.headings) for each in TABLE_FIELDS)):
        headings = {each.name: each.headings[min(place, len(each.headings) - 1)] for each in TABLE_FIELDS}
        row = {heading: values[name] for name, heading in headings.items()}
        assert metadata_of(row, find_columns(row, {})) == Metadata(**values)
