"""Finding the files to read."""

import gzip
import json
import os
from pathlib import Path

import pytest

from app.core.errors import InvalidInput
from app.readers import files


def test_folders_give_books_of_known_suffixes_in_order_and_name_the_rest(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("b.txt", "A.TXT", "notes.pdf", "inner/c.jsonl", ".hidden/d.txt", ".e.txt"):
        (tmp_path / name).write_text("x")
    listing = files.find([tmp_path])
    assert [path.name for path in listing.sizes] == ["A.TXT", "b.txt", "c.jsonl"]
    assert [path.name for path in listing.passed_over] == ["notes.pdf"]
    assert listing.size == 3


def test_a_file_named_outright_is_read_as_text_with_any_suffix(tmp_path: Path) -> None:
    path = tmp_path / "book.asc"
    path.write_text("a book")
    listing = files.find([path, path])
    assert list(listing.sizes) == [path]
    (record,) = files.read(path)
    assert not isinstance(record.book, InvalidInput)


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.find([tmp_path / "nothing.txt"])


def test_positions_grow_over_all_files_up_to_their_size(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one book")
    lines = "".join(json.dumps({"text": f"book {n}"}) + "\n" for n in range(3))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    listing = files.find([tmp_path])
    positions = [position for _, position in files.read_all(listing)]
    assert len(positions) == 4
    assert positions == sorted(positions)
    assert positions[-1] == listing.size


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_reported_and_does_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a book")
    path.chmod(0)
    (record,) = files.read(path)
    assert isinstance(record.book, InvalidInput)


def test_a_file_that_vanished_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "gone.txt"
    path.write_text("a book")
    listing = files.find([tmp_path])
    path.unlink()
    ((record, _),) = files.read_all(listing)
    assert isinstance(record.book, InvalidInput)
    assert "Cannot be read" in str(record.book)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("pride_and_prejudice.txt", "pride and prejudice"),
        ("Dr. Faustus.txt", "Dr. Faustus"),
        ("_.txt", None),
        ("caf\udce9.txt", "caf\ufffd"),
    ],
)
def test_a_title_from_a_file_name(name: str, title: str | None) -> None:
    assert files.title_of(name) == title


def test_a_book_is_called_as_its_file_is_where_it_says_no_title(tmp_path: Path) -> None:
    silent, speaking = tmp_path / "a_book.txt", tmp_path / "b.txt"
    silent.write_text("one\ftwo")
    speaking.write_text("<html><title>Emma</title><p>Emma Woodhouse")
    book = files.book_of(silent)
    assert book.content is not None
    assert (book.metadata.title, book.content.page_count) == ("a book", 2)
    assert files.book_of(speaking).metadata.title == "Emma"


def test_a_file_that_holds_no_book_is_reported_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "picture.txt"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (record,) = files.read(path)
    assert isinstance(record.book, InvalidInput)
    assert (record.place, record.position) == (str(path), path.stat().st_size)
