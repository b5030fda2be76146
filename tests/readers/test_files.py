"""Finding the books of files, folders, archives, JSON Lines, tables and manifests."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from bookprint_core.errors import InvalidInput
from bookprint_core.model import Fingerprint, MinHashBits, Submission
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from bookprint_core.signatures.identifier import encode_long, of_signatures, written
from bookprint_readers import files
from bookprint_readers.unread import Unread, UnreadFile, title_of


def unread(*paths: Path) -> list[Unread]:
    return list(files.unread_books(files.find(paths), {}))


def reason(book: Unread) -> str:
    with pytest.raises(InvalidInput) as caught:
        book.read()
    return str(caught.value)


def text_of(book: Submission) -> str:
    return book.content.text


def test_folders_give_all_files_that_are_not_hidden_in_order(tmp_path: Path) -> None:
    for name in ("inner", ".hidden"):
        (tmp_path / name).mkdir()
    for name in ("b.txt", "A.TXT", "notes.pdf", "inner/c.jsonl", ".hidden/d.txt", ".e.txt"):
        (tmp_path / name).write_text("x")
    listing = files.find([tmp_path])
    assert [os.path.relpath(path, tmp_path) for path in listing.sizes] == [
        *("A.TXT", "b.txt", "notes.pdf", "inner/c.jsonl")
    ]
    assert listing.size == 4


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for name in ("nothing.txt", "*.txt"):
        with pytest.raises(FileNotFoundError):
            files.find([tmp_path / name])


def test_a_path_with_wildcards_stands_for_all_that_match(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.txt", "b.txt", "c.md", "deep/d.txt", "[odd].txt"):
        (tmp_path / name).write_text("a book")
    assert len(unread(tmp_path / "*.txt")) == 3
    assert len(unread(tmp_path / "**/*.txt")) == 4
    assert len(unread(tmp_path / "[odd].txt")) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_reported_and_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("a book")
    (path := tmp_path / "a.txt").write_text("a book")
    path.chmod(0)
    closed, other = unread(tmp_path)
    assert "Cannot be read" in reason(closed)
    other.read()


def test_json_lines_are_known_by_their_content_and_broken_ones_by_their_name(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text('\n{"text": "one"}\nnonsense\n{"text": "two"}\n')
    (tmp_path / "b.jsonl").write_text('nonsense\n{"text": "three"}\n')
    (tmp_path / "c.txt").write_text("{Frontispiece}\nfour")
    books = unread(tmp_path)
    assert [book.part for book in books] == ["line 2", "line 3", "line 4", "line 1", "line 2", ""]
    assert [text_of(books[n].read()) for n in (0, 2, 4, 5)] == ["one", "two", "three", "{Frontispiece}\nfour"]
    assert all("Not JSON" in reason(books[n]) for n in (1, 3))


@pytest.mark.parametrize(
    ("names", "is_book"),
    [
        (["0001.txt", "0002.txt", "0003.txt"], True),
        (["page_1.txt", "page_2.txt", "page_10.txt"], False),  # most of the pages are missing
        (["page_1.txt", "page_2.txt", "page_3.txt", "cover.jpg"], True),
        (["1342.txt", "1343.txt"], False),  # numbers of books
        (["1.txt"], False),
        (["1.txt", "2.html"], False),
        (["emma.txt", "persuasion.txt"], False),
    ],
)
def test_a_folder_of_numbered_pages_is_one_book(tmp_path: Path, names: list[str], is_book: bool) -> None:
    for name in names:
        (tmp_path / name).write_text(f"the text of {name}")
    books = unread(tmp_path)
    folders = [isinstance(book, UnreadFile) and book.is_folder for book in books]
    assert folders == ([True] if is_book else [False] * len(names))
    if is_book:
        assert books[0].read().metadata.title == tmp_path.name.replace("_", " ")


def test_an_archive_of_books_gives_each_of_its_files(tmp_path: Path) -> None:
    book = "a word of the book " * 6_000
    for name in ("books.zip", "books.tar"):
        path = tmp_path / name
        if name.endswith("zip"):
            with zipfile.ZipFile(path, "w") as archive:
                for member in ("a.txt", "deep/b.txt", "__MACOSX/._a.txt"):
                    archive.writestr(member, f"{member} {book}")
        else:
            with tarfile.open(path, "w") as tar:
                for member in ("a.txt", "deep/b.txt"):
                    data = f"{member} {book}".encode()
                    info = tarfile.TarInfo(member)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        [whole] = unread(path)
        assert "holds 2 books" in reason(whole)
        assert files.has_several_books(whole)
        found = list(files.books_within(whole))
        assert [(each.part, each.read().metadata.title) for each in found] == [
            ("a.txt", "a"),
            ("deep/b.txt", "b"),
        ]


def test_a_manifest_gives_its_files_with_what_it_says_of_them(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / "texts" / name).write_text(f"the text of {name}")
    (tmp_path / "list.csv").write_text(
        "path,id,title,authors,year,isbn\n"
        'texts/a.txt,one,"Emma, a novel",Jane Austen; N. N.,[1816],978-0-14-143958-7\n'
        "texts/b.txt,,,,,\n"
        "texts/missing.txt,x,,,,\n"
        ",y,,,,\n"
    )
    books = unread(tmp_path)
    assert [os.path.basename(book.place) for book in books] == [
        *("a.txt", "b.txt", "list.csv, row 3", "list.csv, row 4", "c.txt")
    ]
    metadata = books[0].read().metadata
    assert (metadata.external_id, metadata.title, metadata.year) == ("one", "Emma, a novel", 1816)
    assert metadata.authors == ("Jane Austen", "N. N.")
    assert metadata.identifiers == ("isbn:9780141439587",)
    assert books[1].read().metadata.title == "b"
    assert "There is no file" in reason(books[2])
    assert "names no path" in reason(books[3])


def test_a_file_that_two_manifests_name_is_taken_once_as_the_first_says(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the text of a")
    (tmp_path / "b.txt").write_text("the text of b")
    (tmp_path / "first.csv").write_text("path,title\na.txt,First\nmissing.txt,\n")
    (tmp_path / "second.csv").write_text("path,title\n./a.txt,Second\nmissing.txt,\nb.txt,Third\n")
    found, missing, other = unread(tmp_path)
    assert (found.read().metadata.title, other.read().metadata.title) == ("First", "Third")
    assert missing.place.endswith("first.csv, row 2")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("pride_and_prejudice.txt", "pride and prejudice"),
        ("Dr. Faustus.txt", "Dr. Faustus"),
        ("Dr. Faustus/", "Dr. Faustus"),
        ("_.txt", None),
        ("caf\udce9.txt", "caf\ufffd"),
        ("Emma\x1b[2J\x07.txt", "Emma [2J"),
    ],
)
def test_a_title_from_a_file_name(name: str, title: str | None) -> None:
    assert title_of(name) == title


def test_a_table_of_identifiers_gives_books_without_texts(tmp_path: Path) -> None:
    """Holdings of a partner: the ISBN behind an identifier is one of the book's."""
    bits = MinHashBits(DEFAULT_MINHASH, bytes(16), 900)
    long = encode_long(Fingerprint(DEFAULT_FINGERPRINT, bytes(16)), bits, 1024)
    table = tmp_path / "holdings.csv"
    table.write_text(f"identifier,title\n{long}.9780141439600,Emma\nbp1:damaged,\n")
    book, damaged = unread(table)
    found = book.read()
    assert (found.metadata.title, found.metadata.identifiers) == ("Emma", ("isbn:9780141439600",))
    assert found.content is None
    identifier = of_signatures(found.sketch, found.sketch.word_count)
    assert written(identifier) == long
    assert "base32" in reason(damaged)
