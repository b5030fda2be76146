"""Plain text files."""

import codecs
from pathlib import Path

import pytest

from app.core.errors import EmptyText, InvalidInput, InvalidText
from app.core.model import Submission
from app.readers.formats import text as txt

TEXT = "Grüße aus Αθήνα.\fZweite Seite."


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
    ],
    ids=["utf-8", "utf-8 marked", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"],
)
def test_encoding_follows_the_byte_order_mark_and_is_utf8_without(data: bytes) -> None:
    book = txt.submission(data, "book.txt")
    assert book.content is not None
    assert book.content.text == TEXT
    assert book.content.page_count == 2


def test_another_encoding_is_refused_with_the_place_and_a_remedy() -> None:
    with pytest.raises(InvalidText, match=r"Not UTF-8 at byte 2\..*iconv"):
        txt.submission("Grüße".encode("latin-1"), "book.txt")


def test_a_file_cut_in_the_middle_of_a_character_is_refused() -> None:
    with pytest.raises(InvalidText, match="UTF-16"):
        txt.submission(codecs.BOM_UTF16_LE + b"a\0b", "book.txt")


def test_a_file_without_letters_is_refused() -> None:
    with pytest.raises(EmptyText):
        txt.submission(b" \n--\n", "book.txt")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("pride_and_prejudice.txt", "pride and prejudice"),
        ("Dr. Faustus.txt", "Dr. Faustus"),
        ("_.txt", None),
        ("caf\udce9.txt", "caf\ufffd"),
    ],
)
def test_the_title_comes_from_the_file_name(name: str, title: str | None) -> None:
    assert txt.title_of(name) == title


def test_a_record_names_its_file_and_carries_the_reason_of_a_failure(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text(TEXT, encoding="utf-8")
    bad.write_bytes(b"\xff")
    (whole,) = txt.read(good)
    (broken,) = txt.read(bad)
    assert isinstance(whole.book, Submission)
    assert (whole.place, whole.position) == (str(good), good.stat().st_size)
    assert isinstance(broken.book, InvalidInput)
    assert broken.place == str(bad)


def test_a_file_too_large_for_one_book_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(txt, "LARGEST_FILE", 10)
    path = tmp_path / "large.txt"
    path.write_text("eleven bytes")
    (record,) = txt.read(path)
    assert isinstance(record.book, InvalidInput)
    assert "Split" in str(record.book)
