"""Fetching the public benchmark: what is written, what is named as missing, and that the run goes on."""

import csv
import re
from collections import defaultdict
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from bench.public import fetch
from bench.public.fetch import MISSING, SERVER
from bench.public.manifest import PublicBook, labels, public_books
from bench.public.repositories import file_at
from tests.bench.public.made_repository import OWNER_NAME, a_public_book, made_repository

FILES = {
    "a.txt": b"The first book of all, which is short.\n",
    "texts/Caf\u00e9 no 2.txt": "The second book, of caf\u00e9s.\n".encode(),
    "c.txt": b"The third book.\n",
    "empty.txt": b" \n",
}


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def books(mirror: Path) -> list[PublicBook]:
    commit = made_repository(mirror / OWNER_NAME, FILES)
    return [a_public_book(commit, path, data) for path, data in FILES.items() if path != "empty.txt"]


def missing(out: Path) -> dict[str, str]:
    with (out / MISSING).open(encoding="utf-8", newline="") as lines:
        return {row["path"]: row["problem"] for row in csv.DictReader(lines)}


def test_books_are_written_as_they_are_read(tmp_path: Path, mirror: Path, books: list[PublicBook]) -> None:
    assert fetch.main([str(tmp_path / "out"), "--mirror", str(mirror)], books) == 0
    texts = [book.text_file(tmp_path / "out").read_text(encoding="utf-8").strip() for book in books]
    assert texts == [FILES[book.path].decode().strip() for book in books]
    assert missing(tmp_path / "out") == {}


def test_what_is_absent_or_differs_is_named_and_the_others_are_fetched(
    tmp_path: Path, mirror: Path, books: list[PublicBook], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = books
    wanted = [
        replace(first, sha256="0" * 64),
        replace(first, id="made/gone", path="gone.txt"),
        replace(first, id="made/folder", path="texts"),
        a_public_book(first.commit, "empty.txt", FILES["empty.txt"]),
        replace(second, id="other/unknown", repository="nobody/nothing", path="x.txt"),
        replace(second, id="other/late", commit="1" * 40, path="y.txt"),
        third,
    ]
    out = tmp_path / "out"
    wanted[0].text_file(out).parent.mkdir(parents=True)
    wanted[0].text_file(out).write_text("of another run")

    assert fetch.main([str(out), "--mirror", str(mirror)], wanted) == 1
    assert missing(out) == {
        "a.txt": f"differs, SHA-256 {first.sha256}",
        "gone.txt": "absent",
        "texts": "absent",
        "empty.txt": "cannot be read: empty.txt holds no text. Have its pages recognised (OCR) first.",
        "x.txt": "repository absent",
        "y.txt": "repository absent",
    }
    assert [path.name for path in (out / "texts").rglob("*.txt")] == ["c.txt"]
    printed = capsys.readouterr().out
    assert f"{OWNER_NAME} a.txt: differs" in printed
    assert "nobody/nothing: not in the mirror." in printed
    assert f"{OWNER_NAME}: the mirror lacks the commit {'1' * 40}." in printed
    assert "1 of 7 books are in" in printed


def test_a_folder_is_read_as_the_epub_in_it(tmp_path: Path, mirror: Path) -> None:
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        '<item id="two" href="text/two.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>'
        '</manifest><spine><itemref idref="one"/><itemref idref="two"/></spine></package>'
    )
    page = "<html><body><p>Chapter {}</p></body></html>"
    files = {f"book/src/text/{each}.xhtml": page.format(each).encode() for each in ("two", "one")}
    files |= {"book/src/content.opf": package.encode(), "book/src/images/cover.svg": b"<svg/>"}
    commit = made_repository(mirror / OWNER_NAME, files)
    data = file_at(mirror / OWNER_NAME / ".git", commit, "book/src")
    assert data is not None
    assert b"svg" not in data
    assert sha256(data).hexdigest() == "f55652fc8402ea6562905097f138e4ac12e1d5d8fff8dd5d4b835eda1722dd30"
    book = a_public_book(commit, "book/src", data)
    assert fetch.main([str(tmp_path / "out"), "--mirror", str(mirror)], [book]) == 0
    text = book.text_file(tmp_path / "out").read_text(encoding="utf-8")
    assert text.split() == ["Chapter", "one", "Chapter", "two"]


def test_repositories_come_from_a_server_by_commit(
    tmp_path: Path, mirror: Path, books: list[PublicBook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SERVER, mirror.as_uri())
    assert fetch.main([str(tmp_path / "out")], books) == 0
    elsewhere = [*books, replace(books[0], id="made/else", repository="someone/else")]
    assert fetch.main([str(tmp_path / "out")], elsewhere) == 1
    assert missing(tmp_path / "out") == {"a.txt": "repository absent"}


def test_manifest_and_labels_agree() -> None:
    books = {book.id: book for book in public_books()}
    assert len(books) == len(public_books())
    assert all(re.fullmatch(r"[\w-]+/[\w-]+", name) for name in books)
    assert all(re.fullmatch("[0-9a-f]{64}", book.sha256) for book in books.values())
    assert all(re.fullmatch("[0-9a-f]{40}", book.commit) for book in books.values())
    assert all(len(pair) == 2 and pair <= books.keys() for pair in labels())
    by_basis = defaultdict(list)
    for pair, label in labels().items():
        by_basis[label.basis].append({books[name].set for name in pair})
    assert len(by_basis["provenance"]) >= 300
    assert all(len(sets) == 1 for sets in by_basis["provenance"])
    assert by_basis["source"].count({"standard-ebooks", "gutenberg"}) >= 300
